import { writeFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { serveLocal } from '../../functions/local/serve.ts'
import { Local } from '../../sdk/local.ts'
import { openBrowser } from '../../test/ui/browser.ts'
import { Api } from '../../test/ui/stage.ts'
import { gateway, schedules, workflows } from '../../test/ui/workflows.ts'
import { smallerPng } from './smaller-png.ts'

/**
 * npm run docs:dashboard: takes the pictures of docs/dashboard.md, light and dark, from runs of the workflows
 * that the dashboard's tests use.
 */

/** `before`: an action before the picture is taken. */
const VIEWS: Record<string, { path: string; sign: string; before?: (page: Page) => Promise<unknown> }> = {
  runs: { path: '/runs', sign: '.run-row a' },
  timeline: {
    path: '/runs/order-1042',
    sign: '.timeline-row',
    before: (page) => page.getByRole('link', { name: 'charge' }).click(),
  },
  batch: { path: '/runs/batch-7', sign: '.timeline-row' },
  graph: { path: '/runs/order-1042?tab=graph', sign: '.box' },
  history: {
    path: '/runs/payment-311?tab=history',
    sign: '.history-row a',
    before: (page) => page.getByRole('link', { name: 'step.failed' }).click(),
  },
  'time-travel': {
    path: '/runs/order-1042?tab=travel',
    sign: '.travel-event',
    before: (page) => page.getByRole('slider').fill('3'),
  },
  compare: { path: '/runs/payment-311?tab=compare&with=payment-300', sign: '.compare-row[style]' },
  incidents: { path: '/incidents', sign: '.incident' },
  workflow: { path: '/workflows/order', sign: 'form .field' },
  workflows: { path: '/workflows', sign: '.table a' },
  schedules: { path: '/schedules', sign: '.table a' },
  limits: { path: '/limits', sign: '.table a' },
  workers: { path: '/workers', sign: '.table, .empty' },
}

const ROOT = new URL('../../', import.meta.url).pathname
const SETTLED_MS = 400
const LARGEST = 120 * 1024

async function play(api: Api): Promise<void> {
  gateway.isDown = false
  await api.start('payment', 'payment-300', { order: 'o-300' })
  await api.until('payment-300', 'completed')
  gateway.isDown = true
  for (let i = 0; i < 12; i++) await api.start('payment', `payment-${301 + i}`, { order: `o-${301 + i}` })
  await api.start('review', 'review-17', { document: 'Lease of the winter quarters' })
  await api.start('nap', 'nap-3', { name: 'Ada' })
  await api.start('batch', 'batch-7', { items: 40 })
  await api.start('diamond', 'diamond-5', { cents: 1_200 })
  await api.start('echo', 'echo-9', { hello: 'world' })
  for (const [i, warehouse] of ['north', 'north', 'north', 'south', 'south', 'west'].entries())
    await api.start('packing', `packing-${80 + i}`, { warehouse })
  await api.start('order', 'order-1042', {
    customer: 'Ada Lovelace',
    amount: 42.5,
    kind: 'book',
    address: { street: 'Elm 1', city: 'Ulm' },
  })
  await api.until('order-1042', 'waiting')
  await api.until('batch-7', 'completed')
  await api.until('payment-312', 'failed')
}

const browser = await openBrowser()
{
  await using local = await Local.open({ path: ':memory:', workflows, schedules, log: () => {} })
  await using server = await serveLocal({ local, port: 0, exposeStacks: false })
  await play(new Api(server.url))
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme, reducedMotion: 'reduce' })
    // Removes the path of this repository from the answers.
    await page.route('**/replay?*', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, body: (await response.text()).replaceAll(ROOT, '') })
    })
    for (const [name, { path, sign, before }] of Object.entries(VIEWS)) {
      await page.goto(`${server.url}/ui${path}`)
      await page.locator(sign).first().waitFor()
      await before?.(page)
      // Content that is fetched on selection has loaded once no request is open.
      await page.waitForTimeout(SETTLED_MS)
      const png = smallerPng(await page.screenshot())
      if (png.length > LARGEST)
        throw new Error(`the picture of '${name}' has ${png.length} bytes, more than ${LARGEST}`)
      writeFileSync(new URL(`${name}-${colorScheme}.png`, import.meta.url), png)
    }
    await page.close()
  }
}
await browser.close()
