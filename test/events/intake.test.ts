import { describe, expect, it } from 'vitest'
import { signalOn, startOn } from '../../sdk/events/index.ts'
import { type Arrival, type DeadEvent, Intake, type Outcome, takeBatch } from '../../sdk/events/intake.ts'
import type { EventMapping } from '../../sdk/events/mapping.ts'
import { workflow } from '../../sdk/index.ts'
import { type TestEnv, testEnv } from '../../sdk/testing/index.ts'

const PATIENCE_MS = 120_000
const sleeper = workflow('sleeper', async (ctx) => ctx.sleep('nap', '1h'))
const start = startOn('start', { workflow: sleeper, id: 'run' })
const signalled = signalOn('signal', { signal: 'go', runId: 'run' })
const event = (id: string, run: unknown = id) => ({ id, time: '2026-01-01T00:00:00.000Z', run })

async function open(mapping: EventMapping | { problem: string }, bury?: (dead: DeadEvent) => Promise<void>) {
  const env = await testEnv({ workflows: [sleeper], startTime: '2026-01-01T00:00:00Z' })
  const dead: DeadEvent[] = []
  const intake = intakeOf(env, mapping, bury ?? (async (each) => void dead.push(each)))
  return { env, dead, intake }
}

const intakeOf = (
  env: TestEnv,
  mapping: EventMapping | { problem: string },
  bury: (dead: DeadEvent) => Promise<void>,
) => new Intake({ client: env.client, mapping, patienceMs: PATIENCE_MS, bury, log: () => {} })

describe('an event', () => {
  it('that will never do is buried with the reason, and is done with', async () => {
    const { intake, dead } = await open(start)
    expect(await intake.take({ event: event('e', 'a/b') })).toMatchObject({
      state: 'dead',
      reason: expect.stringContaining('which is no id of a run'),
    })
    expect(await intake.take({ event: 'x', problem: 'it is a text' })).toEqual({
      state: 'dead',
      reason: 'it is a text',
    })
    expect(dead).toEqual([
      { event: event('e', 'a/b'), id: 'e', reason: expect.stringContaining('which is no id of a run') },
      { event: 'x', id: undefined, reason: 'it is a text' },
    ])
  })

  it('without a mapping is buried too', async () => {
    const { intake, dead } = await open({ problem: "the entry exports no mapping named 'x'" })
    await intake.take({ event: event('e') })
    expect(dead).toMatchObject([{ reason: "the entry exports no mapping named 'x'" }])
  })

  it('that comes before its run comes again until it has one', async () => {
    const { env, intake, dead } = await open(signalled)
    expect(await intake.take({ event: event('e', 'r') })).toMatchObject({ state: 'again', isTrouble: false })
    await env.client.start(sleeper, undefined, { id: 'r' })
    expect(await intake.take({ event: event('e', 'r') })).toMatchObject({ state: 'taken' })
    expect(dead).toEqual([])
  })

  it('whose run does not come is given up when its time is over, or its source brings it for the last time', async () => {
    const { env, intake, dead } = await open(signalled)
    expect(await intake.take({ event: event('last'), isLastTry: true })).toMatchObject({ state: 'dead' })
    await env.advance(PATIENCE_MS - 1)
    expect(await intake.take({ event: event('e') })).toMatchObject({ state: 'again' })
    await env.advance(1)
    expect(await intake.take({ event: event('e') })).toMatchObject({ state: 'dead' })
    expect(await intake.take({ event: { id: 'untimed', run: 'r' } })).toMatchObject({ state: 'dead' })
    expect(dead.map(({ id }) => id)).toEqual(['last', 'e', 'untimed'])
    expect(dead[1]!.reason).toBe("no run 'e'. It was waited for; start the run, and send the event again")
  })

  it('comes again where the store is in trouble, and where it could not be buried: it is never lost', async () => {
    const { env, intake } = await open(start)
    env.client.world.store.create = async () => Promise.reject(new Error('throttled'))
    expect(await intake.take({ event: event('e') })).toEqual({ state: 'again', reason: 'throttled', isTrouble: true })
    const { intake: unburied } = await open(start, async () => Promise.reject(new Error('no queue')))
    expect(await unburied.take({ event: event('e', 'a/b') })).toEqual({
      state: 'again',
      reason: 'no queue',
      isTrouble: true,
    })
  })
})

describe('a batch', () => {
  const again: Outcome = { state: 'again', reason: 'x', isTrouble: true }
  const done: Outcome = { state: 'dead', reason: 'x' }

  it('keeps the order of each group, also behind one that is to come again', async () => {
    const tried: string[] = []
    const arrivals: Arrival[] = ['a1', 'b1', 'a2', 'b2', 'a3'].map((name) => ({ event: name, group: name[0]! }))
    const outcomes = await takeBatch(arrivals, async ({ event: name }) => {
      tried.push(name as string)
      return name === 'a2' ? again : done
    })
    expect(tried.filter((name) => name.startsWith('a'))).toEqual(['a1', 'a2'])
    expect(tried.filter((name) => name.startsWith('b'))).toEqual(['b1', 'b2'])
    expect(outcomes.map(({ state }) => state)).toEqual(['dead', 'dead', 'again', 'dead', 'again'])
  })

  it('goes on behind one that was buried', async () => {
    const { intake, env } = await open(start)
    const outcomes = await takeBatch(
      [
        { event: event('e', 'a/b'), group: 'g' },
        { event: event('r'), group: 'g' },
      ],
      (each) => intake.take(each),
    )
    expect(outcomes.map(({ state }) => state)).toEqual(['dead', 'taken'])
    expect((await env.client.list()).runs).toHaveLength(1)
  })

  it('does not hold back events without a group', async () => {
    const outcomes = await takeBatch(
      [1, 2, 3].map((name) => ({ event: name })),
      async (each) => (each.event === 1 ? again : done),
    )
    expect(outcomes.map(({ state }) => state)).toEqual(['again', 'dead', 'dead'])
  })
})
