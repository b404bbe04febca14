import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openLocalStage } from './local-stage.ts'
import { scenarios } from './scenarios.ts'
import { Api } from './stage.ts'

let local: Awaited<ReturnType<typeof openLocalStage>>
beforeAll(async () => {
  local = await openLocalStage()
})
afterAll(() => local?.close())
beforeEach(() => local.stage.page.goto('about:blank'))

for (const [name, play] of Object.entries(scenarios)) test(name, () => play(local.stage))

// Only a local server has the code.
test('time travel shows the line at which the code stood', async () => {
  const { page, base } = local.stage
  const api = new Api(base)
  await api.start('order', 'stood', { customer: 'Ada', amount: 1, kind: 'book' })
  await api.until('stood', 'waiting')
  await page.goto(`${base}/ui/runs/stood?tab=travel`)
  await page.locator('.source .is-here', { hasText: 'ctx.waitFor(approved)' }).waitFor()
  await page.getByRole('slider').fill('0')
  await page.locator('.source .is-here', { hasText: "ctx.step('reserve'" }).waitFor()
})

test('all of it kept to the content security policy, threw nothing, and connected to no other server', () => {
  expect(local.watched.offences).toEqual([])
  expect(local.watched.foreign).toEqual([])
})
