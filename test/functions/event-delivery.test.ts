import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { takeDelivery } from '../../functions/event-delivery.ts'
import { mappingFor, type Subscription } from '../../functions/subscription.ts'
import { signalOn, startOn } from '../../sdk/events/index.ts'
import { type DeadEvent, Intake } from '../../sdk/events/intake.ts'
import type { SourceKind } from '../../sdk/events/shapes.ts'
import { workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { queueRecord, streamRecord, topicRecord } from '../events/records.ts'

const order = workflow('order', { input: z.object({ id: z.string(), cents: z.number() }) }, async (ctx) =>
  ctx.sleep('nap', '1h'),
)
const placed = startOn('placed', { workflow: order, id: 'body.id', input: 'body' })
const changed = signalOn('changed', { signal: 'changed', runId: 'keys.id', payload: 'newImage' })

async function open(source: SourceKind, kind: 'start' | 'signal', mapping: Subscription['mapping']) {
  const env = await testEnv({ workflows: [order] })
  const dead: DeadEvent[] = []
  const subscription: Subscription = { name: 's', source, kind, mapping, patienceMs: 120_000 }
  const intake = new Intake({
    client: env.client,
    mapping: mappingFor(subscription, () => [placed, changed]),
    patienceMs: subscription.patienceMs,
    bury: async (each) => void dead.push(each),
    log: () => {},
  })
  return { env, dead, deliver: (payload: unknown) => takeDelivery(payload, subscription, intake) }
}

const good = (id: string) => JSON.stringify({ id, cents: 1 })

describe('a delivery', () => {
  it('of a queue names the messages that are to come again, and no others', async () => {
    const { env, dead, deliver } = await open('queue', 'start', 'placed')
    const { create } = env.client.world.store
    env.client.world.store.create = async (run) =>
      run.id === 'o-2' ? Promise.reject(new Error('throttled')) : create.call(env.store, run)
    const Records = [
      queueRecord('m-1', good('o-1')),
      queueRecord('m-2', good('o-2')),
      queueRecord('m-3', 'garbage'),
      queueRecord('m-4', good('o-4')),
    ]
    expect(await deliver({ Records })).toEqual({ batchItemFailures: [{ itemIdentifier: 'm-2' }] })
    expect((await env.client.list()).runs.map(({ runId }) => runId).sort()).toEqual(['o-1', 'o-4'])
    expect(dead).toMatchObject([
      { id: 'm-3', event: { body: 'garbage' }, reason: "mapping 'placed': id gave nothing for this event" },
    ])
  })

  it('fails as a whole where the store takes nothing', async () => {
    const { env, deliver } = await open('queue', 'start', 'placed')
    env.client.world.store.create = async () => Promise.reject(new Error('throttled'))
    await expect(deliver({ Records: [queueRecord('m-1', good('o-1'))] })).rejects.toThrow(
      '1 of 1 events could not be taken, and are to come again: throttled',
    )
  })

  it('of a stream stops an item where one of its events is to come again, and goes on with the others', async () => {
    const { env, deliver } = await open('stream', 'signal', 'changed')
    await env.client.start(order, { id: 'b', cents: 1 }, { id: 'b' })
    const Records = [
      streamRecord('s-1', 'INSERT', {}, 'a'),
      streamRecord('s-2', 'INSERT', {}, 'b'),
      streamRecord('s-3', 'MODIFY', {}, 'a'),
    ]
    expect(await deliver({ Records })).toEqual({
      batchItemFailures: [{ itemIdentifier: 'at s-1' }, { itemIdentifier: 'at s-3' }],
    })
    expect((await env.client.get('b')).keptSignals).toEqual({ changed: 1 })
  })

  it('of a topic fails when its event is to come again, and tells what became of it otherwise', async () => {
    const { env, deliver } = await open('topic', 'signal', { signal: 'go', runId: 'message.id' })
    const payload = { Records: [topicRecord('n-1', '{"id":"r"}')] }
    await expect(deliver(payload)).rejects.toThrow("no run 'r'")
    await env.client.start(order, { id: 'r', cents: 1 }, { id: 'r' })
    expect(await deliver(payload)).toEqual({ state: 'taken', taken: { kind: 'signal', runId: 'r', accepted: true } })
  })

  it('that people send again by hand is one event', async () => {
    const { deliver } = await open('queue', 'start', 'placed')
    expect(await deliver({ id: 'm-1', body: { id: 'o-1', cents: 1 } })).toEqual({
      state: 'taken',
      taken: { kind: 'start', runId: 'o-1', created: true },
    })
    expect(await deliver({ id: 'm-1', body: {} })).toMatchObject({
      state: 'dead',
      reason: expect.stringContaining('id gave nothing'),
    })
  })
})

describe('a subscription', () => {
  it.each([
    ['an unknown mapping', 'start', 'plaecd', "the entry exports no mapping named 'plaecd'; known: placed, changed"],
    [
      'a mapping of another kind',
      'start',
      'changed',
      "mapping 'changed' is one of signalOn, and the stack has it in startOn",
    ],
    ['an unknown workflow', 'start', { workflow: 'nobody' }, "no workflow is named 'nobody'"],
  ] as const)('with %s buries its events with the reason', async (_, kind, mapping, reason) => {
    const { dead, deliver } = await open('queue', kind, mapping)
    expect(await deliver({ Records: [queueRecord('m-1', good('o-1'))] })).toEqual({ batchItemFailures: [] })
    expect(dead).toMatchObject([{ reason: expect.stringContaining(reason) }])
  })
})

describe('1,000 malformed events', () => {
  it('never throw and never lose a neighbour', async () => {
    const { env, dead, deliver } = await open('queue', 'start', 'placed')
    const bad = fc.oneof(
      fc.string(),
      fc.json(),
      fc.record({ id: fc.anything(), cents: fc.anything() }).map((body) => {
        try {
          return JSON.stringify(body) ?? ''
        } catch {
          return 'no JSON'
        }
      }),
      fc.constantFrom(
        '{"id":"x"}',
        '{"id":{},"cents":1}',
        '{"id":"a b","cents":1}',
        '{"__proto__":{"id":"o"}}',
        '\uFFFE',
      ),
    )
    const malformed = fc.sample(bad, { numRuns: 1_000, seed: 7 }).filter((body) => !isGood(body))
    const strange = fc.sample(fc.record({ messageId: fc.string({ minLength: 1 }), body: fc.anything() }), {
      numRuns: 100,
      seed: 7,
    })
    let i = 0
    for (const [n, body] of malformed.entries()) {
      const Records = [
        queueRecord(`g-${n}`, good(`o-${n}`)),
        queueRecord(`b-${n}`, body),
        ...(n % 10 === 0 ? [strange[i++]!] : []),
        queueRecord(`h-${n}`, good(`p-${n}`)),
      ]
      expect(await deliver({ Records })).toEqual({ batchItemFailures: [] })
      for (const id of [`o-${n}`, `p-${n}`]) expect((await env.client.get(id)).input).toEqual({ id, cents: 1 })
    }
    expect(malformed.length).toBeGreaterThan(900)
    expect(dead).toHaveLength(malformed.length + i)
    for (const { reason } of dead) expect(reason).not.toBe('')
  })
})

function isGood(body: string): boolean {
  try {
    const { id, cents } = JSON.parse(body) as { id: unknown; cents: unknown }
    return (typeof id === 'string' || typeof id === 'number') && typeof cents === 'number'
  } catch {
    return false
  }
}
