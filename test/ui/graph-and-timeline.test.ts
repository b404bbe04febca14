import { expect, test } from 'vitest'
import { cutAxis, trueAxis } from '../../dashboard/run/axis.ts'
import { codeGraph } from '../../dashboard/run/code-graph.ts'
import { comparison } from '../../dashboard/run/comparison.ts'
import type { HistoryEvent } from '../../sdk/client/history.ts'
import { timeline } from '../../sdk/views/timeline.ts'

type Loose = { type: HistoryEvent['type']; at: number; n: string; [field: string]: unknown }
const viewOf = (...events: Loose[]) =>
  timeline([
    { type: 'run.started', at: 0, n: '0.0', workflow: 'w', version: 1 },
    ...events,
  ] as unknown as HistoryEvent[])
const step = (id: string, from: number, at: number, n: string): Loose => ({
  type: 'step.completed',
  id,
  at,
  ms: at - from,
  n,
})
const arrows = (...events: Loose[]) => codeGraph(viewOf(...events).rows).map(({ name, after }) => [name, after])

test('a graph of code: one after the other, side by side, and no arrow that follows from others', () => {
  expect(
    arrows(step('a', 0, 10, '1.0'), step('b', 10, 40, '2.0'), step('c', 10, 60, '3.0'), step('d', 60, 70, '4.0')),
  ).toEqual([
    ['step a', []],
    ['step b', ['step a']],
    ['step c', ['step a']],
    ['step d', ['step b', 'step c']],
  ])
})

test('quick steps of one Promise.all are side by side, also where each has a frame of its own', () => {
  expect(
    arrows(step('a', 5, 6, '1.0'), step('b', 5, 7, '2.0'), step('c', 5, 7, '3.0'), step('d', 7, 8, '4.0')),
  ).toEqual([
    ['step a', []],
    ['step b', []],
    ['step c', []],
    ['step d', ['step a', 'step b', 'step c']],
  ])
})

test('a loop is drawn as it goes round for the first time, and what comes behind it behind it', () => {
  const round = (i: number) => [
    step(i === 0 ? 'a' : `a:${i}`, i * 20, i * 20 + 10, `${2 * i + 1}.0`),
    step(i === 0 ? 'b' : `b:${i}`, i * 20 + 10, i * 20 + 20, `${2 * i + 2}.0`),
  ]
  expect(arrows(...round(0), ...round(1), ...round(2), step('c', 60, 70, '7.0'))).toEqual([
    ['step a', []],
    ['step b', ['step a']],
    ['step c', ['step b']],
  ])
})

test('steps that are done in one frame ran side by side, even in no time; a sleep in the frame of a step comes after it', () => {
  expect(
    arrows(step('a', 5, 5, '1.0'), step('b', 5, 5, '1.1'), {
      type: 'sleep.started',
      id: 's',
      at: 5,
      until: 9,
      n: '1.2',
    }),
  ).toEqual([
    ['step a', []],
    ['step b', []],
    ['sleep s', ['step a', 'step b']],
  ])
})

test('a month of sleep takes little of the axis, in its order, and is marked; true to scale it takes nearly all', () => {
  const month = 30 * 86_400_000
  const view = viewOf(
    step('a', 0, 100, '1.0'),
    { type: 'sleep.started', id: 's', at: 100, until: month, n: '1.1' },
    { type: 'sleep.completed', id: 's', at: month, n: '2.0' },
    step('b', month, month + 100, '2.1'),
  )
  const cut = cutAxis(view, month + 100)
  expect(cut.at(month) - cut.at(100)).toBeLessThan(0.35)
  expect([cut.at(0), cut.at(month + 100)]).toEqual([0, 1])
  expect(cut.at(50)).toBeLessThan(cut.at(100))
  expect(cut.timeAt(cut.at(month + 50))).toBeCloseTo(month + 50, 0)
  expect(cut.cuts.map(({ ms }) => ms)).toEqual([month - 100])
  expect(trueAxis(view, month + 100).at(100)).toBeLessThan(0.001)
})

test('a comparison names what only one run did, what ended otherwise, and what took much longer, and no noise', () => {
  const here = viewOf(step('same', 0, 100, '1.0'), step('slow', 100, 400, '2.0'), step('mine', 400, 401, '3.0'), {
    ...{ type: 'step.failed', id: 'broken', at: 500, n: '4.0', attempt: 1, error: { name: 'Error', message: 'no' } },
  })
  const there = viewOf(
    step('same', 0, 110, '1.0'),
    step('slow', 110, 150, '2.0'),
    step('broken', 150, 160, '3.0'),
    step('yours', 160, 170, '4.0'),
  )
  expect(comparison(here, there).map(({ id, difference }) => [id, difference])).toEqual([
    ['same', undefined],
    ['slow', 'slower'],
    ['mine', 'only here'],
    ['broken', 'other outcome'],
    ['yours', 'only there'],
  ])
})
