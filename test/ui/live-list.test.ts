import { afterAll, beforeAll, expect, test } from 'vitest'
import { openLocalStage } from './local-stage.ts'

let local: Awaited<ReturnType<typeof openLocalStage>>
beforeAll(async () => {
  local = await openLocalStage()
})
afterAll(() => local?.close())

const rows = () => local.stage.page.locator('.virtual-rows .run-row a')

test('a list that is pointed at does not move: what is new waits behind a button', async () => {
  const { page, base, api } = local.stage
  for (const id of ['first', 'second', 'third']) await api.start('nap', id, {})
  await page.goto(`${base}/ui/runs?workflow=nap`)
  await rows().nth(2).waitFor()
  await rows().nth(1).hover()
  const before = await rows().allTextContents()
  for (const id of ['later', 'latest']) await api.start('nap', id, {})
  await page.getByRole('button', { name: '2 new' }).waitFor()
  expect(await rows().allTextContents()).toEqual(before)
  await page.getByRole('button', { name: '2 new' }).click()
  expect((await rows().allTextContents()).slice(0, 2)).toEqual(['latest', 'later'])
  await page.mouse.move(5, 5)
  await api.start('nap', 'unheld', {})
  await page.getByRole('link', { name: 'unheld' }).waitFor()
})

test('Enter opens the run that was marked, whatever has come since', async () => {
  const { page, base, api } = local.stage
  await page.goto(`${base}/ui/runs?workflow=nap`)
  await rows().first().waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  const marked = await page.locator('.run-row.is-active a').textContent()
  for (const id of ['new-1', 'new-2', 'new-3']) await api.start('nap', id, {})
  await page.getByRole('button', { name: '3 new' }).click()
  expect(await page.locator('.run-row.is-active a').textContent()).toBe(marked)
  await page.evaluate('document.activeElement?.blur()')
  await page.keyboard.press('Enter')
  await page.waitForURL(`**/ui/runs/${marked}`)
})
