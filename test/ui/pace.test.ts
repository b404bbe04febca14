import { expect, test } from 'vitest'
import { nextPause, PACE } from '../../dashboard/live/pace.ts'

const after = (looks: number, isNews: boolean, untouchedMs: number) =>
  Array.from({ length: looks }).reduce<number>((pauseMs) => nextPause(pauseMs, isNews, untouchedMs), PACE.shortestMs)

test('a page polls every 2 to 30 seconds: seldom when nothing happens, and without input', () => {
  expect(after(1, true, 0)).toBe(3_000)
  expect(after(20, true, 0)).toBe(10_000)
  expect(after(20, false, 0)).toBe(30_000)
  expect(after(20, true, PACE.attentionMs)).toBe(30_000)
  expect(nextPause(PACE.longestMs, true, 0)).toBe(10_000)
})
