import { describe, expect, it } from 'vitest'
import type { LimitSpec } from '../../sdk/flow/limiter/limit.ts'
import type { LimiterState } from '../../sdk/flow/limiter/limiter.ts'
import {
  cooling,
  isReserved,
  roomFor,
  taken,
  unreserved,
  unusedFrom,
  validUntil,
  withoutReservation,
  withReturned,
} from '../../sdk/flow/limiter/rate.ts'

const START = Date.parse('2026-01-01T00:00:00.123Z')
const MINUTE = 60_000
const request = (cost = 1, holder = 'run', order = 1) => ({ holder, order, cost })

interface Start {
  at: number
  until: number
  cost: number
}

/** Takes these one after the other, each as soon as it may be; `wait` is the time between two requests. */
function startsOf(spec: LimitSpec, costs: readonly number[], wait: (i: number) => number = () => 0) {
  const starts: Start[] = []
  let state: LimiterState = {}
  let now = START
  for (const [i, cost] of costs.entries()) {
    now += wait(i)
    const at = roomFor(spec, state, cost, now)
    state = taken(spec, state, request(cost), at, now)
    starts.push({ at, until: at + Math.floor(spec.perMs! / 50), cost: Math.min(cost, spec.rate!) })
  }
  return { starts, state }
}

/** The most that may begin within any period of this length: each start begins at its time, or up to a piece later. */
function mostWithin(starts: readonly Start[], perMs: number): number {
  const from = starts.map(({ until }) => until)
  const within = (begin: number) => starts.filter(({ at, until }) => until >= begin && at < begin + perMs)
  return Math.max(...from.map((begin) => within(begin).reduce((sum, { cost }) => sum + cost, 0)))
}

/** The same numbers every time. */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

describe('a rate', () => {
  it.each([
    ['10 a second', { rate: 10, perMs: 1_000 }],
    ['7 in 1,234 ms, which no piece divides', { rate: 7, perMs: 1_234 }],
    ['100 a minute', { rate: 100, perMs: MINUTE }],
    ['3 a day', { rate: 3, perMs: 86_400_000 }],
    ['1 in 31 days', { rate: 1, perMs: 31 * 86_400_000 }],
  ])('of %s is kept over any period, also by starts that begin a piece of it late', (_, spec) => {
    for (let seed = 1; seed <= 20; seed++) {
      const next = numbers(seed)
      const costs = Array.from({ length: spec.rate * 4 }, () => (seed % 2 ? 1 : 1 + Math.floor(next() * spec.rate)))
      const bursts = (i: number) =>
        i % spec.rate === 0 ? Math.floor(next() * 2 * spec.perMs) : Math.floor(next() * 20)
      const { starts } = startsOf(spec, costs, seed <= 10 ? () => 0 : bursts)
      expect(mostWithin(starts, spec.perMs)).toBeLessThanOrEqual(spec.rate)
    }
  })

  it.each([
    { rate: 10, perMs: 1_000 },
    { rate: 1_000, perMs: MINUTE },
    { rate: 1, perMs: 3_600_000 },
  ])('of %j falls short by less than 5 %', (spec) => {
    const periods = 30
    const { starts } = startsOf(spec, Array(spec.rate * periods).fill(1))
    const ms = starts.at(-1)!.at - START
    // The first of them begin at once.
    expect(ms / spec.perMs).toBeLessThan((periods - 1) * 1.05)
    expect(ms / spec.perMs).toBeGreaterThan((periods - 1) * 0.95)
  })

  it('lets all of it begin at once, and nothing more before the period is over', () => {
    const spec = { rate: 5, perMs: MINUTE }
    const { starts, state } = startsOf(spec, Array(5).fill(1))
    expect(starts.map(({ at }) => at)).toEqual(Array(5).fill(START))
    const next = roomFor(spec, state, 1, START)
    expect(next).toBeGreaterThanOrEqual(START + MINUTE)
    expect(next).toBeLessThanOrEqual(START + MINUTE * 1.05)
    expect(roomFor(spec, state, 1, next)).toBe(next)
  })

  it('counts what a start costs; one that costs more than there ever is waits for all of it', () => {
    const spec = { rate: 10, perMs: MINUTE }
    const { state } = startsOf(spec, [6])
    expect(roomFor(spec, state, 4, START)).toBe(START)
    expect(roomFor(spec, state, 5, START)).toBeGreaterThanOrEqual(START + MINUTE)
    expect(roomFor(spec, {}, 50, START)).toBe(START)
    const all = taken(spec, {}, request(50), START, START)
    expect(roomFor(spec, all, 1, START)).toBeGreaterThanOrEqual(START + MINUTE)
    expect(roomFor(spec, all, 1, START)).toBeLessThanOrEqual(START + MINUTE * 1.05)
  })

  it('serves in order: what costs less is not let begin before what waits for more', () => {
    const spec = { rate: 10, perMs: MINUTE }
    const { state } = startsOf(spec, [6])
    const at = roomFor(spec, state, 8, START)
    const reserved = taken(spec, state, request(8), at, START)
    expect(roomFor(spec, reserved, 1, START)).toBeGreaterThanOrEqual(at)
  })

  it('has a start begin within two seconds of its time, and not later', () => {
    expect(validUntil({ rate: 1, perMs: 5_000 }, START)).toBe(START + 2_000)
    // Of a short period, within one piece of it.
    expect(validUntil({ rate: 1, perMs: 1_000 }, START)).toBe(START + 20)
  })

  it('remembers no more pieces than count', () => {
    const spec = { rate: 50, perMs: MINUTE }
    const { state } = startsOf(spec, Array(5_000).fill(1), () => 1_300)
    expect(state.used!.length).toBeLessThan(60)
  })

  it('that is changed while it is in use counts what has begun by its new numbers', () => {
    const { state } = startsOf({ rate: 10, perMs: MINUTE }, Array(10).fill(1))
    const [more, fewer] = [
      { rate: 20, perMs: MINUTE },
      { rate: 5, perMs: MINUTE },
    ]
    expect(roomFor(more, state, 10, START)).toBe(START)
    expect(roomFor(more, state, 11, START)).toBeGreaterThan(START)
    expect(roomFor(fewer, state, 1, START + MINUTE / 2)).toBeGreaterThanOrEqual(START + MINUTE)
    // A longer period counts the same starts for longer.
    expect(roomFor({ rate: 10, perMs: 60 * MINUTE }, state, 1, START)).toBeGreaterThanOrEqual(START + 60 * MINUTE)
  })
})

describe('a reservation', () => {
  const spec = { rate: 2, perMs: MINUTE }
  const { state: full } = startsOf(spec, [1, 1])
  const at = roomFor(spec, full, 1, START)

  it('is a start for a time to come, and is out until it has begun, or half a minute has passed', () => {
    const reserved = taken(spec, full, request(1, 'late', 7), at, START)
    expect(reserved.promised).toEqual({ to: 'late', at, order: 7 })
    expect([at, at + 29_999, at + 30_000].map((now) => isReserved(reserved, now))).toEqual([true, true, false])
    expect([isReserved(reserved, at, 'late'), isReserved(reserved, at, 'another')]).toEqual([false, true])
    expect(isReserved(full, START)).toBe(false)
    expect(taken(spec, full, request(2.5, 'late', 7), at, START).promised).toMatchObject({ cost: 2.5 })
  })

  it('has its part of the rate at its time, not when it was made', () => {
    const reserved = taken(spec, full, request(), at, START)
    // One more begins beside it, and the third has to wait for both.
    expect(roomFor(spec, reserved, 1, START)).toBe(at)
    const both = taken(spec, reserved, request(), at, START)
    expect(roomFor(spec, both, 1, START)).toBeGreaterThanOrEqual(at + MINUTE)
  })

  it('that is revoked while its owner waits again returns its part, and delays no other start', () => {
    const [big, { state: busy }] = [{ rate: 10, perMs: MINUTE }, startsOf({ rate: 10, perMs: MINUTE }, [6])]
    const later = roomFor(big, busy, 8, START)
    const reserved = taken(big, busy, request(8, 'late'), later, START)
    const revoked = withoutReservation(big, reserved, true, START)
    expect(revoked).toEqual({ used: busy.used, lastAt: START })
    expect(roomFor(big, revoked, 4, START)).toBe(START)
    expect(isReserved(revoked, START)).toBe(false)
  })

  it('that has begun, or whose owner is gone, keeps its part: something may have begun', () => {
    const reserved = taken(spec, full, request(), at, START)
    const { lastAt: _, promised: __, ...kept } = reserved
    expect(withoutReservation(spec, reserved, false, START)).toEqual(kept)
  })

  it('beside others of the same piece returns its own part alone', () => {
    const one = taken(spec, full, request(1, 'first'), at, START)
    const two = taken(spec, one, request(1, 'second'), at, START)
    expect(withoutReservation(spec, two, true, START).used).toEqual(one.used)
  })

  it('behind a cooldown needs no rate', () => {
    const slots = { concurrency: 1 }
    const reserved = taken(slots, { restUntil: START + 9 }, request(), START + 9, START)
    expect(reserved).toEqual({ restUntil: START + 9, promised: { to: 'run', at: START + 9, order: 1 } })
    expect(withoutReservation(slots, reserved, true, START)).toEqual({ restUntil: START + 9 })
  })
})

describe('a reserved start that is cancelled', () => {
  const spec = { rate: 10, perMs: MINUTE }

  it('leaves the rate as it was, so that however many are cancelled the next one waits no longer', () => {
    let { state } = startsOf(spec, [10])
    const first = roomFor(spec, state, 1, START)
    for (let i = 0; i < 100; i++) {
      const reserved = taken(spec, state, request(1, `run-${i}`), roomFor(spec, state, 1, START), START)
      state = unreserved(spec, reserved, `run-${i}`, START + 1_000)
    }
    expect(roomFor(spec, state, 1, START + 1_000)).toBe(first)
  })

  it('of another holder stays as it is', () => {
    const reserved = taken(spec, startsOf(spec, [10]).state, request(), START + MINUTE, START)
    expect(unreserved(spec, reserved, 'other', START)).toEqual(reserved)
  })

  it('keeps its part once it may have begun', () => {
    const reserved = taken(spec, startsOf(spec, [10]).state, request(), START + 2 * MINUTE, START)
    expect(unreserved(spec, reserved, 'run', START + 2 * MINUTE).used).toEqual(reserved.used)
  })
})

it('a shorter period counts at once: what has begun by the longer one is forgotten after the shorter one', () => {
  const { state } = startsOf({ rate: 5, perMs: 86_400_000 }, [5])
  const from = roomFor({ rate: 5, perMs: 1_000 }, state, 5, START)
  expect(from).toBeGreaterThan(START)
  expect(from - START).toBeLessThan(1_100)
})

describe('a start that did not begin in time', () => {
  const spec = { rate: 10, perMs: MINUTE }
  const start = (at: number, cost = 1, holder = 'late') => ({ holder, at, cost })

  it('returns its part, for others or for itself', () => {
    const { state } = startsOf(spec, [4, 6])
    expect(roomFor(spec, state, 6, START + 3_000)).toBeGreaterThan(START + 3_000)
    const after = withReturned(spec, state, start(START, 6), START + 3_000)
    expect(roomFor(spec, after, 6, START + 3_000)).toBe(START + 3_000)
    expect(roomFor(spec, after, 7, START + 3_000)).toBeGreaterThan(START + 3_000)
  })

  it('returns it once, however often it says so', () => {
    const { state } = startsOf(spec, [5, 5])
    const once = withReturned(spec, state, start(START, 5), START + 3_000)
    expect(withReturned(spec, once, start(START, 5), START + 4_000)).toBe(once)
    // Another one, or another time, is another part.
    expect(withReturned(spec, once, start(START, 5, 'other'), START + 4_000).used ?? []).toEqual([])
  })

  it('returns no more than is there, and leaves other times alone', () => {
    const { state } = startsOf(spec, [3, 3], () => 20_000)
    const [first, second] = state.used!
    expect(withReturned(spec, state, start(START + 20_000, 50), START + 50_000).used).toEqual([second])
    expect(withReturned(spec, state, start(START - 50_000, 3), START + 50_000).used).toEqual([first, second])
  })

  it('is remembered as long as its part counts', () => {
    const { state } = startsOf(spec, [5])
    const once = withReturned(spec, state, start(START), START + 3_000)
    const later = START + 3 * MINUTE
    expect(withReturned(spec, once, start(later, 1, 'other'), later).returned).toEqual([['other', later]])
  })

  it('begins in its own part again, also where another start is reserved for later', () => {
    const { state } = startsOf(spec, [10])
    const at = roomFor(spec, state, 1, START)
    const reserved = taken(spec, state, request(1, 'next'), at, START)
    const { lastAt: _, ...late } = withReturned(spec, reserved, start(START, 10), START + 3_000)
    expect(roomFor(spec, late, 9, START + 3_000)).toBe(START + 3_000)
    // All of it would be one too many at the time of the reservation.
    expect(roomFor(spec, late, 10, START + 3_000)).toBeGreaterThan(at)
  })

  it('remembers a few of those that returned their part, however many were late', () => {
    let { state } = startsOf({ rate: 1_000, perMs: 86_400_000 }, [1_000])
    for (let i = 0; i < 500; i++)
      state = withReturned({ rate: 1_000, perMs: 86_400_000 }, state, start(START, 1, `run-${i}`), START + 3_000)
    expect(JSON.stringify(state).length).toBeLessThan(1_000)
  })

  it('has nothing to give back where there is no rate', () => {
    const state = { restUntil: START }
    expect(withReturned({ concurrency: 1 }, state, start(START), START)).toBe(state)
  })
})

describe('a cooldown', () => {
  it('has nothing begin before it is over, with a rate or without', () => {
    for (const spec of [{ concurrency: 1 }, { rate: 5, perMs: MINUTE }]) {
      expect(roomFor(spec, { restUntil: START + 500 }, 1, START)).toBe(START + 500)
      expect(roomFor(spec, { restUntil: START + 500 }, 1, START + 600)).toBe(START + 600)
    }
  })

  it('of all keys counts where it is the later one', () => {
    expect(cooling({ restUntil: 5 }, 7)).toEqual({ restUntil: 7 })
    expect(cooling({ restUntil: 9 }, 7)).toEqual({ restUntil: 9 })
    expect(cooling({}, undefined)).toEqual({})
  })
})

it('a state matters until its cooldown is over and all that has begun is forgotten', () => {
  const spec = { rate: 2, perMs: MINUTE }
  const { state } = startsOf(spec, [1, 1])
  const from = unusedFrom(spec, state, START)
  expect(from).toBeGreaterThan(START)
  expect(roomFor(spec, state, 2, from)).toBe(from)
  expect(unusedFrom(spec, { restUntil: START + 5 }, START)).toBe(START + 5)
  expect(unusedFrom({ concurrency: 1 }, {}, START)).toBe(START)
})
