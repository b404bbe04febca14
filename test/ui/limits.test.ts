import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { serveLocal } from '../../functions/local/serve.ts'
import { limit, signal, workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'
import { openBrowser, openPage } from './browser.ts'
import { inDialog } from './stage.ts'

const go = signal('go')
const openai = limit('openai', { concurrency: 2, rate: 5, per: '1m' })
const ask = workflow('ask', async (ctx) => ctx.step('ask', () => 1, { limit: openai }))
const sync = workflow(
  'sync',
  { singleton: { key: () => 'one', onConflict: 'queue-latest' } },
  async (ctx) => void (await ctx.waitFor(go)),
)
const mail = workflow('mail', { rateLimit: { limit: 1, per: '1d' } }, async () => 1)
const crawl = workflow(
  'crawl',
  { concurrency: { limit: 1, key: () => 'a-tenant-with-a-long-name' } },
  async (ctx) => void (await ctx.waitFor(go)),
)

let local: Local
let server: Awaited<ReturnType<typeof serveLocal>>
let browser: Awaited<ReturnType<typeof openBrowser>>
beforeAll(async () => {
  browser = await openBrowser()
  local = await Local.open({ path: ':memory:', workflows: [ask, sync, mail, crawl], log: () => {} })
  server = await serveLocal({ local, port: 0 })
  await (await local.start(ask)).result()
  await local.start(sync)
  for (let i = 1; i <= 3; i++) await local.start(mail)
  for (let i = 1; i <= 9; i++) await local.start(crawl, undefined, { id: `crawl-of-the-whole-site-${i}` })
})
afterAll(async () => {
  await browser?.close()
  await server?.close(0)
  await local?.close()
})

async function onLimits(path: string, width = 1_280): Promise<Page> {
  const { page } = await openPage(browser, server.url, { viewport: { width, height: 800 } })
  await page.goto(`${server.url}/ui/limits${path}`)
  await page.locator('.limit').first().waitFor()
  return page
}

const fieldsOf = (page: Page) =>
  page.locator('dialog input').evaluateAll((inputs) => inputs.map((input) => input.getAttribute('name')))

test('a limit is set by the fields that it takes; a singleton is not set', async () => {
  const page = await onLimits('')
  for (const [name, fields] of Object.entries({
    openai: ['$.concurrency', '$.rate', '$.per'],
    'mail:rate': ['$.rate', '$.per'],
    'crawl:concurrency': ['$.concurrency'],
  })) {
    await page.getByRole('button', { name: `Set ${name}` }).click()
    expect([name, await fieldsOf(page)]).toEqual([name, fields])
    await inDialog(page, 'Leave it').click()
  }
  await page.getByRole('button', { name: 'Pause sync:singleton' }).waitFor()
  expect(await page.getByRole('button', { name: 'Set sync:singleton' }).count()).toBe(0)
  await page.context().close()
})

test('a problem under one field does not move the other, and a refusal is said once', async () => {
  const page = await onLimits('/mail:rate')
  await page.getByRole('button', { name: 'Set mail:rate' }).click()
  const top = async (name: string) => (await page.locator(`input[name="$.${name}"]`).boundingBox())!.y
  await page.locator('input[name="$.rate"]').fill('0')
  await inDialog(page, 'Set').click()
  await page.locator('dialog .problem').waitFor()
  expect(await top('per')).toBe(await top('rate'))
  await page.locator('input[name="$.rate"]').fill('5')
  await page.locator('input[name="$.per"]').fill('soon')
  await inDialog(page, 'Set').click()
  await page.locator('dialog .trouble').waitFor()
  expect((await page.locator('dialog').innerText()).split('is not a duration')).toHaveLength(2)
  await page.context().close()
})

test('the page of a limit bears its name once, larger than its text', async () => {
  const page = await onLimits('/crawl:concurrency')
  expect(await page.locator('main :is(h1, h2)').allInnerTexts()).toEqual(['crawl:concurrency'])
  const size = async (selector: string) =>
    Number.parseFloat(
      (await page.evaluate(`getComputedStyle(document.querySelector('${selector}')).fontSize`)) as string,
    )
  expect(await size('h1')).toBeGreaterThan(await size('.limit p'))
  await page.context().close()
})

test('on a telephone names in the table stay whole and rows low', async () => {
  const page = await onLimits('/crawl:concurrency', 360)
  const line = (await page.locator('.limit th').first().boundingBox())!.height
  for (const row of await page.locator('.limit tbody tr').all())
    expect((await row.boundingBox())!.height).toBeLessThan(2 * line)
  await page.context().close()
})
