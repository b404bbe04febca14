import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WorkerDirectory } from '../../sdk/tasks/directory.ts'
import { openPage } from './browser.ts'
import { openLocalStage } from './local-stage.ts'
import { gateway } from './workflows.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Every view, and what shows that it is there. */
const VIEWS: Record<string, string> = {
  '/runs': '.run-row a',
  '/runs?status=failed&workflow=payment': '.run-row a',
  '/runs?workflow=no-such': '.empty',
  '/runs/looks-order': '.timeline-row',
  '/runs/looks-order?event=3.0&scale=true': '.panel .facts',
  '/runs/looks-batch': '.timeline-row',
  '/runs/looks-order?tab=graph': '.box',
  '/runs/looks-payment?tab=history&event=2.0': '.history-row a',
  '/runs/looks-order?tab=travel': '.travel-event',
  '/runs/looks-payment?tab=compare&with=looks-order': '.compare-row',
  '/runs/no-such-run': '.trouble',
  '/incidents': '.incident',
  '/workflows': '.table a',
  '/workflows/order': 'form .field',
  '/workflows/no-such': '.trouble',
  '/runs/looks-packing-3': '.reason a',
  '/limits': '.limit .table a',
  '/limits/packing:concurrency': '.limit .table a',
  '/limits/no-such': '.trouble',
  '/schedules': '.table a',
  '/workers': '.table td',
  '/no-such-view': '.empty',
}

let local: Awaited<ReturnType<typeof openLocalStage>>
beforeAll(async () => {
  local = await openLocalStage()
  gateway.isDown = true
  const api = local.stage.api
  await api.start('order', 'looks-order', { customer: 'Ada', amount: 1, kind: 'book' })
  await api.start('batch', 'looks-batch', {})
  await api.start('payment', 'looks-payment', { order: 'o-1' })
  await api.until('looks-order', 'waiting')
  await api.until('looks-batch', 'completed')
  await api.until('looks-payment', 'failed')
  await api.start('review', 'looks-review', { document: 'plan' })
  await api.until('looks-review', 'waiting')
  for (const i of [1, 2, 3]) await api.start('packing', `looks-packing-${i}`, { warehouse: 'north' })
  await api.until('looks-packing-3', 'queued')
  await local.local.limits.set('packing:concurrency', { concurrency: 2 })
  await api.start('packing', 'looks-paused', { warehouse: 'south' })
  await local.local.pause({ run: 'looks-paused' })
  incident = `/incidents/${(await local.local.incidents()).incidents[0]!.fingerprint}`
})

/** Said again before each look: a worker that is silent for a minute is gone. */
const workerIsAlive = () =>
  new WorkerDirectory(local.local.world).seen(
    { worker_id: 'worker-1', task_types: ['llm', 'ocr'], max_tasks: 1, language: 'python', transport: 'bridge' },
    1,
  )

/** Known only once something has gone wrong. */
let incident: string
afterAll(() => local?.close())

interface Violation {
  id: string
  nodes: { html: string; failureSummary: string }[]
}

async function violations(page: Page): Promise<string[]> {
  // By the debugger, which the content security policy does not concern.
  await page.evaluate(AXE)
  const found = (await page.evaluate('axe.run().then(({ violations }) => violations)')) as Violation[]
  return found.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`))
}

for (const colorScheme of ['light', 'dark'] as const) {
  test(`axe finds nothing in any view, ${colorScheme}`, async () => {
    const { page, offences, foreign } = await openPage(local.browser, local.stage.base, {
      colorScheme,
      reducedMotion: 'reduce',
    })
    const found: Record<string, string[]> = {}
    for (const [path, sign] of [...Object.entries(VIEWS), [incident, 'main h1'] as const]) {
      await workerIsAlive()
      await page.goto(`${local.stage.base}/ui${path}`)
      await page.locator(sign).first().waitFor()
      const all = await violations(page)
      if (all.length > 0) found[path] = all
    }
    expect(found).toEqual({})
    expect({ offences, foreign }).toEqual({ offences: [], foreign: [] })
    await page.context().close()
  })

  test(`axe finds nothing in any dialog, ${colorScheme}`, async () => {
    const { page } = await openPage(local.browser, local.stage.base, { colorScheme, reducedMotion: 'reduce' })
    const found: Record<string, string[]> = {}
    for (const [path, button] of [
      ['/runs', 'Keys'],
      ['/runs', 'Save view'],
      ['/runs/looks-order', 'Signal'],
      ['/runs/looks-order', 'Terminate'],
      ['/runs/looks-payment', 'Retry'],
      ['/runs/looks-payment?event=2.0', 'Rerun from here'],
      ['/runs/looks-review', 'Answer'],
      [incident, 'Retry all'],
      ['/limits', 'Set packing:concurrency'],
      ['/limits', 'Pause packing:concurrency'],
      ['/limits', 'Reset packing:concurrency'],
      ['/limits', 'Pause everything'],
      ['/limits', 'Resume run looks-paused'],
    ] as const) {
      await page.goto(`${local.stage.base}/ui${path}`)
      await page.getByRole('button', { name: button, exact: true }).click()
      await page.locator('dialog[open] button').last().waitFor()
      const all = await violations(page)
      if (all.length > 0) found[`${path} ${button}`] = all
    }
    expect(found).toEqual({})
    await page.context().close()
  })
}

test('on a telephone no view is wider than the page', async () => {
  const { page } = await openPage(local.browser, local.stage.base, {
    viewport: { width: 360, height: 740 },
    reducedMotion: 'reduce',
  })
  const wide: string[] = []
  for (const [path, sign] of [...Object.entries(VIEWS), [incident, 'main h1'] as const]) {
    await workerIsAlive()
    await page.goto(`${local.stage.base}/ui${path}`)
    await page.locator(sign).first().waitFor({ state: 'attached' })
    const widths = (await page.evaluate(
      '[document.documentElement.scrollWidth, document.querySelector("main").scrollWidth]',
    )) as number[]
    if (Math.max(...widths) > 360) wide.push(`${path}: ${widths}`)
  }
  expect(wide).toEqual([])
  await page.context().close()
})

test('what cannot be used looks so, in both themes', async () => {
  const look =
    "(({ backgroundColor, color, borderStyle }) => ({ backgroundColor, color, borderStyle }))(getComputedStyle(document.querySelector('.actions button')))"
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page } = await openPage(local.browser, local.stage.base, { colorScheme })
    await page.goto(`${local.stage.base}/ui${incident}`)
    await page.getByRole('button', { name: 'Retry all' }).waitFor()
    const alive = (await page.evaluate(look)) as Record<string, string>
    await page.evaluate("document.querySelector('.actions').disabled = true")
    const dead = (await page.evaluate(look)) as Record<string, string>
    for (const what of ['backgroundColor', 'color', 'borderStyle'])
      expect([colorScheme, what, dead[what]]).not.toEqual([colorScheme, what, alive[what]])
    await page.context().close()
  }
})
