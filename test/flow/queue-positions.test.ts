import { describe, expect, test } from 'vitest'
import { expectedAt, type Occupied } from '../../sdk/flow/limiter/expected.ts'
import { queueOf } from '../../sdk/flow/limiter/limiter.ts'
import { entryKey, inOrderOfService, type QueueEntry, writeEntry } from '../../sdk/flow/limiter/queue.ts'
import { taken } from '../../sdk/flow/limiter/rate.ts'
import { workflow } from '../../sdk/index.ts'
import { type RunHandle, type TestEnv, testEnv } from '../../sdk/testing/index.ts'

const MINUTE = 60_000
const entry = (lane: string, order: number): QueueEntry => ({
  run: `${lane}${order}`,
  holder: `${lane}${order}`,
  cost: 1,
  holds: true,
  lane,
  order,
})
const queue = [entry('a', 1), entry('a', 2), entry('a', 3), entry('b', 1), entry('c', 1), entry('c', 2)]

describe('which run is granted next', () => {
  test.each([
    [undefined, 'a1 b1 c1 a2 c2 a3'],
    ['a', 'b1 c1 a1 c2 a2 a3'],
    ['b', 'c1 a1 b1 c2 a2 a3'],
    ['c', 'a1 b1 c1 a2 c2 a3'],
    // Its fairness key may have no entries by now.
    ['ab', 'b1 c1 a1 c2 a2 a3'],
  ])('is the next lane behind the one that was served last, which was %s', (served, holders) => {
    expect(inOrderOfService(queue, served).map(({ holder }) => holder)).toEqual(holders.split(' '))
  })

  test('is shown in order: by the position of a run, and by the first entries of a limit', async () => {
    const began: string[] = []
    const lanes = workflow(
      'lanes',
      { concurrency: [{ limit: 1, key: ({ tenant }) => tenant }, { limit: 1 }] },
      async (ctx, { tenant }: { tenant: string }) => {
        await ctx.step('begin', () => void began.push(tenant))
        await ctx.sleep('10m')
      },
    )
    const env = await testEnv({ workflows: [lanes] })
    const runs = []
    for (let i = 0; i < 12; i++) runs.push(await env.start(lanes, { tenant: `t${i}` }, { id: `t${i}` }))
    for (let i = 0; i < 4; i++) await env.advance('10m')
    const said = new Map<string, number>()
    for (const run of runs) {
      const { queue } = await run.get()
      if (queue) said.set(run.runId, queue.place.count)
    }
    const { next } = (await env.client.limits.get('lanes:concurrency:2')).gates[0]!
    const before = began.length
    for (const run of runs) await run.result()
    const really = began.slice(before)
    expect(next).toEqual(really)
    expect([...said].toSorted(([, a], [, b]) => a - b).map(([run]) => run)).toEqual(really)
  })
})

describe('when a run is expected to be granted', () => {
  test('goes by what is left of the rate, and whole periods where more is ahead', async () => {
    const mail = workflow('mail', { rateLimit: { limit: 10, per: '1h' } }, async (ctx) => ctx.step('send', () => 1))
    const env = await testEnv({ workflows: [mail] })
    const runs: RunHandle<number>[] = []
    for (let i = 0; i < 24; i++) runs.push(await env.start(mail))
    const begun = env.clock.now()
    const expected = await Promise.all([12, 19, 23].map(async (i) => (await runs[i]!.get()).queue!.expectedAt! - begun))
    for (const [n, i] of [12, 19, 23].entries()) {
      await runs[i]!.result()
      // A rate falls short by a piece of its period, each time.
      expect(Math.abs(env.clock.now() - begun - expected[n]!)).toBeLessThanOrEqual(5 * MINUTE)
    }
  })

  test('goes by what those before it cost', () => {
    const spec = { rate: 100, perMs: MINUTE }
    const used = { ...taken(spec, {}, { holder: 'x', order: 0, cost: 60 }, 0, 0), since: [] }
    expect(expectedAt(spec, used, [{ cost: 30 }, { cost: 10 }], 0)).toBe(0)
    expect(expectedAt(spec, used, [{ cost: 30 }, { cost: 20 }], 0)).toBe(MINUTE + 2_400)
    expect(expectedAt(spec, used, [{ cost: 500 }, { cost: 20 }], 0)).toBe(MINUTE)
  })

  test('goes by the holders: each releases its slot after the usual time, and slots are granted again', () => {
    const state: Occupied = { since: [0, -4 * MINUTE], heldMs: 10 * MINUTE }
    const at = (place: number, concurrency = 2, now = 5 * MINUTE) =>
      expectedAt({ concurrency }, state, Array(place).fill({ cost: 1 }), now)! / MINUTE
    expect([1, 2, 3, 4].map((place) => at(place))).toEqual([6, 10, 16, 20])
    // A free slot is there at once, and one that is too many is not granted again.
    expect([1, 2].map((place) => at(place, 3))).toEqual([5, 6])
    expect([1, 2].map((place) => at(place, 1))).toEqual([10, 20])
    // Whoever stays longer than others may leave any moment.
    expect(at(1, 2, 30 * MINUTE)).toBe(30)
    expect(expectedAt({ concurrency: 2 }, { ...state, restUntil: 8 * MINUTE }, [{ cost: 1 }], 0)).toBe(8 * MINUTE)
  })

  test('is not given where it is not known how long slots are held', () => {
    expect(expectedAt({ concurrency: 1, rate: 5, perMs: MINUTE }, { since: [0] }, [{ cost: 1 }], 0)).toBeUndefined()
  })
})

describe('a long queue', () => {
  const busy = workflow('busy', { concurrency: { limit: 1 } }, async (ctx) => ctx.sleep('1h'))
  const GATE = { limit: 'busy:concurrency' }

  /** So many queued behind one holder. */
  async function inLine(count: number, lane: (i: number) => string = () => '') {
    const env = await testEnv({ workflows: [busy] })
    await env.start(busy)
    for (let i = 1; i <= count; i++)
      await join(env, { run: `r${i}`, holder: `r${i}`, cost: 1, holds: true, lane: lane(i), order: i })
    return env
  }
  const join = (env: TestEnv, each: QueueEntry) =>
    env.client.world.documents.put(queueOf(GATE), entryKey(each), writeEntry(each))

  test('of exactly 1,000 is not said to have more; one of 1,001 is', async () => {
    const env = await inLine(1_000)
    const waiting = async () => (await env.client.limits.get(GATE.limit)).gates[0]!.waiting
    expect(await waiting()).toEqual({ count: 1_000 })
    expect((await env.client.limits.placeOf(GATE, { id: 'r1000', workflow: 'busy' })).place).toEqual({ count: 1_000 })
    await join(env, entry('', 1_001))
    expect(await waiting()).toEqual({ count: 1_000, isMore: true })
    expect((await env.client.limits.placeOf(GATE, { id: 'r1000', workflow: 'busy' })).place).toEqual({ count: 1_000 })
    expect(await env.client.limits.placeOf(GATE, { id: '1001', workflow: 'busy' })).toEqual({
      place: { count: 1_000, isMore: true },
      paused: false,
    })
  })

  test('of one fairness key does not hide other keys, which are served in between', async () => {
    const env = await inLine(1_203, (i) => (i <= 1_200 ? 'a' : 'b'))
    const place = async (id: string, lane: string) =>
      (await env.client.limits.placeOf({ ...GATE, lane }, { id, workflow: 'busy' })).place
    expect((await env.client.limits.get(GATE.limit)).gates[0]!.next).toEqual([
      'r1',
      'r1201',
      'r2',
      'r1202',
      'r3',
      'r1203',
      'r4',
      'r5',
      'r6',
      'r7',
    ])
    expect(await place('r1201', 'b')).toEqual({ count: 2 })
    expect(await place('r1203', 'b')).toEqual({ count: 6 })
    expect(await place('r7', 'a')).toEqual({ count: 10 })
    expect(await place('r1100', 'a')).toEqual({ count: 1_000, isMore: true })
  })

  test('of more fairness keys than are read gives a position that others may be before', async () => {
    const env = await inLine(1_100, (i) => `lane-${String(i).padStart(4, '0')}`)
    const { place, expectedAt } = await env.client.limits.placeOf(
      { ...GATE, lane: 'lane-0900' },
      { id: 'r900', workflow: 'busy' },
    )
    expect([place, expectedAt]).toEqual([{ count: 51, isMore: true }, undefined])
  })
})
