import { expect, test } from 'vitest'
import { steady } from '../../dashboard/runs/steady.ts'

const run = (runId: string, status = 'running') => ({ runId, status })

test('a list that is being read keeps its rows in their places, as they are now, and counts what is new', () => {
  const shown = [run('c'), run('b'), run('a')]
  const { rows, arrived } = steady(shown, [run('e'), run('d'), run('c', 'completed'), run('b')])
  expect(rows).toEqual([run('c', 'completed'), run('b'), run('a')])
  expect(arrived).toBe(2)
})

test('rows that are no longer met by the filter stay until they are let go', () => {
  expect(steady([run('b'), run('a')], [run('a')])).toEqual({ rows: [run('b'), run('a')], arrived: 0 })
})

test('what was loaded beyond the last row is put behind it', () => {
  expect(steady([run('b'), run('a')], [run('c'), run('b'), run('a'), run('older')])).toEqual({
    rows: [run('b'), run('a'), run('older')],
    arrived: 1,
  })
})
