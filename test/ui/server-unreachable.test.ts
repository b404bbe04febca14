import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPage } from './browser.ts'
import { openLocalStage } from './local-stage.ts'

let local: Awaited<ReturnType<typeof openLocalStage>>
beforeAll(async () => {
  local = await openLocalStage()
})
afterAll(() => local?.close())

test('without its server the page says so, keeps what was typed, and goes on when it is back', async () => {
  const { page, base } = local.stage
  await page.goto(`${base}/ui/workflows/order`)
  await page.getByLabel('customer').fill('Gr')
  await page.getByLabel('amount').fill('1')
  await page.getByLabel('kind').selectOption({ label: 'book' })
  await local.hangUp()
  await page.getByRole('button', { name: 'Start', exact: true }).click()
  await page.getByText(/Lost the server; trying again/).waitFor()
  await local.listenAgain()
  await page.getByText('Lost the server').waitFor({ state: 'detached' })
  expect(await page.getByLabel('customer').inputValue()).toBe('Gr')
  await page.getByRole('button', { name: 'Start', exact: true }).click()
  await page.waitForURL('**/ui/runs/*')
})

test('a list that was open while the server was gone shows what happened meanwhile', async () => {
  const { page, base } = local.stage
  await page.goto(`${base}/ui/runs`)
  await page.locator('.run-row a').first().waitFor()
  await local.hangUp()
  await page.getByText(/Lost the server/).waitFor()
  await local.local.start(local.local.registry.all().find(({ name }) => name === 'nap')!, {}, { id: 'meanwhile' })
  await local.listenAgain()
  await page.getByRole('link', { name: 'meanwhile' }).waitFor()
})

test.each([
  ['is told of changes', true],
  ['asks now and then', false],
])('a page that %s asks for nothing while nobody sees it, and catches up when it is seen', async (_how, hasChanges) => {
  const { page, requests } = await openPage(local.browser, local.stage.base)
  await page.route('**/ui/config.json', (route) =>
    route.fulfill({
      json: { name: 'local', isLocal: true, isReadOnly: false, hasChanges, hasReplay: false, version: '0' },
    }),
  )
  const id = `unseen-${hasChanges}`
  await page.addInitScript(`
    window.isHiddenNow = false
    Object.defineProperty(document, 'hidden', { get: () => window.isHiddenNow })
    window.setHidden = (isHidden) => { window.isHiddenNow = isHidden; document.dispatchEvent(new Event('visibilitychange')) }
    window.wait = window.setTimeout
    // Time flies: the longest pause between two questions is over in no time.
    window.setTimeout = (then, ms, ...rest) => window.wait(then, ms / 100, ...rest)
  `)
  await page.goto(`${local.stage.base}/ui/runs`)
  await page.locator('.run-row a').first().waitFor()
  // It does follow what happens, as long as it is seen.
  await local.stage.api.start('nap', `seen-${hasChanges}`, {})
  await page.getByRole('link', { name: `seen-${hasChanges}`, exact: true }).waitFor()
  await page.evaluate('setHidden(true)')
  // What was under way may still arrive.
  await page.waitForLoadState('networkidle').catch(() => {})
  const before = requests.length
  await local.stage.api.start('nap', id, {})
  // As long as the page would take, in its own hurried time, for a hundred questions.
  await page.evaluate('new Promise((resolve) => wait(resolve, 2_000))')
  expect(requests.slice(before)).toEqual([])
  await page.evaluate('setHidden(false)')
  await page.getByRole('link', { name: id }).waitFor()
  await page.context().close()
})

test('an unknown run, workflow or filter is answered in the server’s own words, with the names that it knows', async () => {
  const { page, base } = local.stage
  await page.goto(`${base}/ui/runs/nowhere`)
  await page.getByText("no run 'nowhere'").waitFor()
  await page.goto(`${base}/ui/workflows/ordr`)
  await page.locator('.trouble').getByRole('link', { name: 'order', exact: true }).waitFor()
  await page.goto(`${base}/ui/runs?status=asleep`)
  await page.locator('.trouble', { hasText: 'must be one of' }).waitFor()
})

test('401, 403 and 429 say what to do', async () => {
  const { page, base } = local.stage
  for (const [status, advice] of [
    [401, 'overwinter ui --token'],
    [403, 'Use a token or a role'],
    [429, 'asked too often'],
  ] as const) {
    await page.route(`${base}/schedules`, (route) =>
      route.fulfill({
        status,
        contentType: 'application/problem+json',
        body: JSON.stringify({ title: 'No', detail: 'because', status }),
      }),
    )
    await page.goto(`${base}/ui/schedules`)
    await page.locator('.trouble', { hasText: advice }).waitFor()
    await page.unroute(`${base}/schedules`)
  }
})

test('a read-only page offers nothing that changes anything', async () => {
  const { page } = await openPage(local.browser, local.stage.base)
  await page.route('**/ui/config.json', (route) =>
    route.fulfill({
      json: {
        name: 'shop.example',
        isLocal: false,
        isReadOnly: true,
        hasChanges: false,
        hasReplay: false,
        version: '0',
      },
    }),
  )
  await local.stage.api.start('nap', 'looked-at', {})
  await page.goto(`${local.stage.base}/ui/runs/looked-at`)
  await page.getByText("It waits for the sleep 'winter'").waitFor()
  expect(await page.locator('.actions button:enabled').count()).toBe(0)
  expect(await page.locator('.remedies button.primary').count()).toBe(0)
  expect(await page.title()).toBe('shop.example · looked-at · Overwinter')
  await local.stage.api.start('packing', 'packed-here', { warehouse: 'south' })
  await local.local.pause({ run: 'looked-at' })
  await page.goto(`${local.stage.base}/ui/limits`)
  await page.getByRole('link', { name: 'packed-here' }).waitFor()
  await page.getByText('is paused').waitFor()
  expect(await page.locator('main button').count()).toBeGreaterThan(3)
  expect(await page.locator('main button:enabled').count()).toBe(0)
  expect(await page.locator('link[rel=icon]').getAttribute('href')).toBe('/ui/favicon-deployed.svg')
  await page.context().close()
})

test('keys go to views, move in lists and open what is marked', async () => {
  const { page, base } = local.stage
  await page.goto(`${base}/ui/workflows`)
  await page.getByRole('heading', { name: 'Workflows' }).waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('r')
  await page.locator('.run-row a').first().waitFor()
  await page.keyboard.press('j')
  const marked = await page.locator('.run-row.is-active a').textContent()
  await page.keyboard.press('Enter')
  await page.waitForURL(`**/ui/runs/${marked}`)
  await page.keyboard.press('/')
  await page.keyboard.type('nowhere')
  await page.keyboard.press('Enter')
  await page.getByText("no run 'nowhere'").waitFor()
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keys' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
})
