import { afterAll, beforeAll, expect, test } from 'vitest'
import { PATIENCE_MS } from '../outside/patience.ts'
import { openPage } from './browser.ts'
import { openLocalStage } from './local-stage.ts'

const SCREEN = { width: 390, height: 844 }

let local: Awaited<ReturnType<typeof openLocalStage>>
let page: Awaited<ReturnType<typeof openPage>>['page']
beforeAll(async () => {
  local = await openLocalStage()
  page = (await openPage(local.browser, local.stage.base, { viewport: SCREEN, hasTouch: true, isMobile: true })).page
})
afterAll(() => local?.close())

/** All of it is within the width of the screen. */
async function isWithin(locator: ReturnType<typeof page.locator>): Promise<boolean> {
  const { x, width } = (await locator.boundingBox())!
  return x >= 0 && x + width <= SCREEN.width
}

test('on a telephone a long button breaks its words, and stays on the screen', async () => {
  const { api, base } = local.stage
  await api.start('strays', 'stuck-here', {})
  await api.until('stuck-here', 'stuck')
  await page.goto(`${base}/ui/runs/stuck-here`)
  const button = page.getByRole('button', { name: /^Mend the code/ })
  await button.waitFor()
  expect(await isWithin(button)).toBe(true)
})

test('on a telephone the detail of a tapped step scrolls into view', async () => {
  const { api, base } = local.stage
  await api.start('nap', 'tapped', {})
  await api.until('tapped', 'sleeping')
  await page.goto(`${base}/ui/runs/tapped`)
  await page.getByRole('link', { name: 'lie down' }).tap()
  const head = page.locator('.panel-head')
  await head.waitFor()
  const isInSight = async () => {
    const { y, height } = (await head.boundingBox())!
    return y >= 0 && y + height <= SCREEN.height
  }
  await expect.poll(isInSight, { timeout: PATIENCE_MS / 4 }).toBe(true)
})

test('on a telephone schedules and limits can be paused, and the list of runs has its height', async () => {
  const { api, base } = local.stage
  await page.goto(`${base}/ui/schedules`)
  const schedule = page.getByRole('button', { name: 'Pause nightly' })
  await schedule.waitFor()
  expect(await isWithin(schedule)).toBe(true)
  await api.start('packing', 'packs', { warehouse: 'north' })
  await page.goto(`${base}/ui/limits`)
  const limit = page.getByRole('button', { name: /^Pause .*packing/ })
  await limit.waitFor()
  expect(await isWithin(limit)).toBe(true)
  await page.goto(`${base}/ui/runs`)
  await page.locator('.virtual-rows .run-row a').first().waitFor()
  expect((await page.locator('.virtual.runs').boundingBox())!.height).toBeGreaterThan(SCREEN.height / 2)
})
