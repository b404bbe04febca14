import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openLocalStage } from './local-stage.ts'
import { scenarios } from './scenarios.ts'

let local: Awaited<ReturnType<typeof openLocalStage>>
beforeAll(async () => {
  local = await openLocalStage()
})
afterAll(() => local?.close())
beforeEach(() => local.stage.page.goto('about:blank'))

for (const [name, play] of Object.entries(scenarios)) test(name, () => play(local.stage))

test('all of it kept to the content security policy, threw nothing, and asked nobody else', () => {
  expect(local.watched.offences).toEqual([])
  expect(local.watched.foreign).toEqual([])
})
