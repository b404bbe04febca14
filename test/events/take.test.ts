import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { type BusEvent, cancelOn, signalOn, startOn } from '../../sdk/events/index.ts'
import { verdictOf } from '../../sdk/events/take.ts'
import { ConflictError, InvalidInputError, RunNotFoundError, signal, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

const paid = signal('paid', z.object({ cents: z.number() }))
const order = workflow('order', { input: z.object({ total: z.number() }) }, async (ctx, { total }) => {
  const { cents } = await ctx.waitFor(paid)
  return total + cents
})
const open = () => testEnv({ workflows: [order] })
const placed = (over: object = {}) => ({
  id: 'e-1',
  time: '2026-01-01T00:00:00Z',
  detail: { orderId: 'o-1', total: 5, customer: 7 },
  ...over,
})

const byId = startOn('by-id', { workflow: order, id: 'detail.orderId', input: 'detail.{ "total": total }' })
const byEvent = startOn('by-event', {
  workflow: 'order',
  input: (event: BusEvent<{ total: number }>) => ({ total: event.detail.total }),
})

describe('an event that starts runs', () => {
  it('starts one, whose id and input come from the event', async () => {
    const env = await open()
    expect(await env.event(byId, placed())).toEqual({ kind: 'start', runId: 'o-1', created: true })
    expect((await env.client.get('o-1')).input).toEqual({ total: 5 })
  })

  it('starts a run linked to the trace of the sender, if a queue or a topic passes that on', async () => {
    const env = await open()
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    await env.event(byId, placed({ attributes: { traceparent } }))
    expect((await env.client.get('o-1')).trace).toBe(traceparent)
    for (const attributes of [{ traceparent: 'nonsense' }, { traceparent: 1 }, {}, null, 'x']) {
      const { runId } = await env.event(byEvent, placed({ id: JSON.stringify(attributes), attributes }))
      expect(await env.client.get(runId)).not.toHaveProperty('trace')
    }
  })

  it('starts no second one when it comes twice, with an id of the run or without', async () => {
    const env = await open()
    for (const mapping of [byId, byEvent]) {
      const first = await env.event(mapping, placed())
      expect(await env.event(mapping, placed())).toEqual({ ...first, created: false })
    }
    expect((await env.client.list()).runs).toHaveLength(2)
  })

  it('starts one for each event, for each mapping, and for each time that an event has no id', async () => {
    const env = await open()
    const other = startOn('other', { workflow: 'order', input: '{ "total": 1 }' })
    const ids = new Set<string>()
    for (const [mapping, event] of [
      [byEvent, placed()],
      [byEvent, placed({ id: 'e-2' })],
      [other, placed()],
      [byEvent, placed({ id: undefined })],
      [byEvent, placed({ id: undefined })],
    ] as const)
      ids.add((await env.event(mapping, event)).runId)
    expect(ids.size).toBe(5)
  })

  it('is refused where its id is taken by a run with another input', async () => {
    const env = await open()
    await env.event(byId, placed())
    const clash = env.event(byId, placed({ id: 'e-2', detail: { orderId: 'o-1', total: 6 } }))
    await expect(clash).rejects.toThrow(ConflictError)
    await expect(clash).rejects.toThrow("run 'o-1' exists already, with another input")
  })

  it('may have a number for an id, as much JSON has', async () => {
    const env = await open()
    const mapping = startOn('by-number', { workflow: order, id: 'detail.customer', input: 'detail' })
    expect(await env.event(mapping, placed())).toMatchObject({ runId: '7' })
  })
})

describe('an event that steers runs', () => {
  const onPaid = signalOn('paid', { signal: paid, runId: 'detail.orderId', payload: 'detail.{ "cents": cents }' })
  const onWithdrawn = cancelOn('withdrawn', { runId: 'detail.orderId', reason: '"withdrawn by " & detail.by' })

  it('signals once, however often it comes', async () => {
    const env = await open()
    await env.event(byId, placed())
    const event = { id: 'e-2', detail: { orderId: 'o-1', cents: 3 } }
    expect(await env.event(onPaid, event)).toEqual({ kind: 'signal', runId: 'o-1', accepted: true })
    expect(await env.event(onPaid, event)).toEqual({ kind: 'signal', runId: 'o-1', accepted: false })
    expect(await env.handle('o-1').result()).toBe(8)
    expect(await env.event(onPaid, event)).toMatchObject({ accepted: false })
  })

  it('cancels, with the reason', async () => {
    const env = await open()
    await env.event(byId, placed())
    const event = { id: 'e-3', detail: { orderId: 'o-1', by: 'Ada' } }
    expect(await env.event(onWithdrawn, event)).toEqual({ kind: 'cancel', runId: 'o-1' })
    expect(await env.handle('o-1').status()).toBe('cancelled')
    expect(await env.handle('o-1').history()).toContainEqual(
      expect.objectContaining({ type: 'run.cancelRequested', reason: 'withdrawn by Ada' }),
    )
    // The first delivery is what ended the run.
    expect(await env.event(onWithdrawn, event)).toEqual({ kind: 'cancel', runId: 'o-1' })
  })

  it('does not fit: nothing is written', async () => {
    const env = await open()
    await env.event(byId, placed())
    await expect(env.event(onPaid, { id: 'e', detail: { orderId: 'o-1', cents: 'three' } })).rejects.toThrow(
      "the payload of signal 'paid' does not fit its schema",
    )
    await expect(env.event(cancelOn('c', { runId: 'detail.orderId', reason: '7' }), placed())).rejects.toThrow(
      'reason gave number, and a reason is a string',
    )
    expect((await env.client.get('o-1')).keptSignals).toBeUndefined()
  })
})

describe('what a mapping makes of an event', () => {
  it.each([
    ['nothing', 'detail.missing', 'id gave nothing for this event'],
    ['null', () => null as never, 'id gave nothing for this event'],
    ['an object', 'detail', 'which is no id of a run: a run id has 1 to 200 characters'],
    ['a fraction', '1.5', 'which is no id of a run'],
    ['a text that no run can be called', '"a/b"', 'id gave "a/b", which is no id of a run'],
    [
      'an error of JSONata',
      '$uppercase(detail)',
      "id failed for this event: the expression '$uppercase(detail)' failed",
    ],
    ['an exception', () => (undefined as never as { x: string }).x, 'id failed for this event: Cannot read properties'],
    ['a promise', async () => 'x', 'id is an async function, and must be a plain one'],
    ['the time of day, by a detour', '$eval("$" & "now()")', 'uses the clock or dice'],
    ['no end', '($f := function($x) { $f($x + 1) }; $f(0))', 'id failed for this event'],
  ])('is refused where it is %s', async (_, id, reason) => {
    const env = await open()
    const taken = env.event(startOn('m', { workflow: order, id: id as string, input: 'detail' }), placed())
    await expect(taken).rejects.toThrow(`mapping 'm': ${reason.startsWith('id ') ? reason : ''}`)
    await expect(taken).rejects.toThrow(reason)
    expect(await taken.catch(verdictOf)).toBe('poison')
    expect((await env.client.list()).runs).toEqual([])
  })

  it('is made of a copy: a function cannot change the event', async () => {
    const env = await open()
    const event = placed()
    await env.event(
      startOn('m', {
        workflow: order,
        input: (e: { detail: { total: number } }) => Object.assign(e.detail, { total: 9 }),
      }),
      event,
    )
    expect(event).toEqual(placed())
  })
})

it('a failure is the event’s, its run’s absence, or the store’s', () => {
  expect(
    [new InvalidInputError('x'), new ConflictError('x'), new RunNotFoundError('x'), new Error('x'), 'x'].map(verdictOf),
  ).toEqual(['poison', 'poison', 'early', 'transient', 'transient'])
})

describe('who sends events', () => {
  const payroll = workflow('payroll', async (ctx) => ctx.sleep('month', '30d'))

  it('steers only runs of the workflow that the mapping names, if it names one', async () => {
    const env = await testEnv({ workflows: [order, payroll] })
    await env.start(order, { total: 1 }, { id: 'o-1' })
    await env.start(payroll, undefined, { id: 'payroll-1' })
    const withdrawn = cancelOn('withdrawn', { workflow: order, runId: 'detail.orderId' })
    const arrived = signalOn('arrived', {
      workflow: 'order',
      signal: paid,
      runId: 'detail.orderId',
      payload: '{ "cents": 1 }',
    })
    for (const mapping of [withdrawn, arrived])
      await expect(env.event(mapping, placed({ detail: { orderId: 'payroll-1' } }))).rejects.toThrow(
        "a run of workflow 'payroll' and not of 'order'",
      )
    expect(await env.event(arrived, placed())).toMatchObject({ kind: 'signal', accepted: true })
    expect(await env.handle('payroll-1').status()).toBe('sleeping')
  })

  it('reaches no schedule, and takes no id that is kept for others', async () => {
    const env = await open()
    const stop = cancelOn('stop', { runId: 'detail.orderId' })
    await expect(env.event(stop, placed({ detail: { orderId: 'schedule.nightly' } }))).rejects.toThrow(
      'no run that events may steer',
    )
    for (const orderId of ['failure~x', 'schedule.nightly.2'])
      await expect(env.event(byId, placed({ detail: { orderId, total: 1 } }))).rejects.toThrow(
        'ids that begin so are for others',
      )
  })
})
