import { describe, expect, it } from 'vitest'
import {
  behindFairnessKey,
  entryKey,
  fairnessKeyOf,
  holderOf,
  inOrderOfService,
  isOfStep,
  type QueueEntry,
  readEntry,
  runOf,
  shownHolder,
  writeEntry,
} from '../../sdk/flow/limiter/queue.ts'

const entry = (changes: Partial<QueueEntry> = {}): QueueEntry => ({
  run: 'run',
  holder: 'run',
  cost: 1,
  holds: true,
  lane: '',
  order: 5,
  ...changes,
})
const sorted = (entries: QueueEntry[]) => entries.toSorted((a, b) => (entryKey(a) < entryKey(b) ? -1 : 1))

describe('a queue', () => {
  it('is sorted by fairness key, then by order, whatever the number of digits', () => {
    const [a, b] = [fairnessKeyOf('a'), fairnessKeyOf('b')].toSorted() as [string, string]
    const given = [entry({ lane: b, order: 1 }), entry({ lane: a, order: 1_000 }), entry({ lane: a, order: 999 })]
    expect(sorted(given).map(({ lane, order }) => [lane, order])).toEqual([
      [a, 999],
      [a, 1_000],
      [b, 1],
    ])
  })

  it('has a place for a priority that goes back before all time', () => {
    expect(sorted([entry({ order: 1 }), entry({ order: -60_000 })]).map(({ order }) => order)).toEqual([-60_000, 1])
    expect(sorted([entry({ order: 2 }), entry({ order: 1.5 })]).map(({ order }) => order)).toEqual([1.5, 2])
  })

  it('has one entry for each time that a run is queued, and one for each request of a step', () => {
    const keys = [
      entry(),
      entry({ nth: 1 }),
      entry({ nth: 2 }),
      entry({ holder: 'run/a#1' }),
      entry({ holder: 'run/a#2' }),
    ]
    expect(new Set(keys.map(entryKey)).size).toBe(5)
    expect(entryKey(entry({ nth: 0 }))).toBe(entryKey(entry()))
  })

  it('takes ids of any length', () => {
    const [one, other] = [entry({ holder: 'x'.repeat(900) }), entry({ holder: `${'x'.repeat(899)}y` })].map(
      entryKey,
    ) as [string, string]
    expect(one).not.toBe(other)
    expect(one.length).toBeLessThan(250)
  })

  it('goes on behind a fairness key, and misses none', () => {
    const lanes = ['', ...['a', 'b', 'c'].map(fairnessKeyOf)].toSorted()
    for (const [i, lane] of lanes.entries())
      for (const [j, other] of lanes.entries()) {
        const isBehind = entryKey(entry({ lane: other, order: 999_999 })) > behindFairnessKey(lane)
        expect(isBehind).toBe(j > i)
      }
  })

  it.each([
    entry(),
    entry({ holder: 'run/a#1', cost: 2.5, holds: false, lane: 'l', nth: 3 }),
    entry({ grant: 'withdrawn' }),
    entry({ grant: { at: 1, by: 2, until: 3, slot: 0 } }),
  ])('gives an entry back as it was put: %j', (given) => {
    expect(readEntry(writeEntry(given))).toStrictEqual(given)
  })
})

describe('the order of service', () => {
  const of = (...names: string[]) =>
    names.map((name) => entry({ holder: name, lane: name[0]!, order: Number(name.slice(1)) }))
  const served = (entries: QueueEntry[], last?: string) => inOrderOfService(entries, last).map(({ holder }) => holder)

  it('without fairness keys is first come, first served', () => {
    expect(served([entry({ holder: 'x' }), entry({ holder: 'y' })])).toEqual(['x', 'y'])
    expect(served([])).toEqual([])
  })

  it('takes fairness keys in turn, however many requests one of them has', () => {
    expect(served(of('a1', 'a2', 'a3', 'a4', 'b1', 'c1'))).toEqual(['a1', 'b1', 'c1', 'a2', 'a3', 'a4'])
  })

  it('begins behind the key that was served last, also where that has no requests any more', () => {
    expect(served(of('a1', 'a2', 'b1'), 'a')).toEqual(['b1', 'a1', 'a2'])
    expect(served(of('a1', 'c1'), 'b')).toEqual(['c1', 'a1'])
    expect(served(of('a1', 'b1'), 'z')).toEqual(['a1', 'b1'])
  })
})

describe('a holder', () => {
  it('is a run by its id, or a numbered permit of a step, by which its run is known', () => {
    const [first, second] = [holderOf({ id: 'run' }, 'run/pay', 1), holderOf({ id: 'run' }, 'run/pay', 2)]
    expect([first, second]).toEqual(['run/pay#1', 'run/pay#2'])
    expect([runOf(first), runOf('run'), isOfStep(first), isOfStep('run')]).toEqual(['run', 'run', true, false])
    // Where the key of the step does not begin with the run's id.
    expect(runOf(holderOf({ id: 'run' }, 'other key', 1))).toBe('run')
    // As earlier versions wrote it.
    expect(holderOf({ id: 'run' }, 'run/pay')).toBe('run/pay')
  })

  it('is shown without the number; a run may have one in its id', () => {
    expect([shownHolder('run/pay#12'), shownHolder('run#1')]).toEqual(['run/pay', 'run#1'])
  })
})
