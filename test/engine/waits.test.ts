import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { CancelledError } from '../../sdk/base/errors.ts'
import { digest, FORMAT } from '../../sdk/base/names.ts'
import type { Facts } from '../../sdk/engine/facts.ts'
import { changeKey } from '../../sdk/engine/journal.ts'
import { Operation, type Request } from '../../sdk/engine/operation.ts'
import { Waits } from '../../sdk/engine/waits.ts'
import type { World } from '../../sdk/ports/world.ts'
import { type AnyWorkflow, Registry, signal, workflow } from '../../sdk/workflow.ts'
import { visitOf } from './visit-fixture.ts'

const NOW = 1_000_000
const DAY = 86_400_000
/** The slot of the last frame in the journal. */
const LAST_GOOD_EPOCH = 7
const go = signal('go')
const child = workflow(
  'child',
  { input: z.object({ size: z.number().default(7) }), tags: ['vip'], retention: '1d' },
  async (_ctx, { size }) => size,
)
const policy = { retry: {}, heartbeatMs: 1, maxIterations: 1 }

interface Setting {
  retries?: number
  isJustRetried?: boolean
  recovered?: boolean
  timeoutMs?: number
  handOutAgainMs?: number
  refusal?: string
}

/** The waits of a run, and all that they journal, send and say. */
function waits({
  retries = 0,
  isJustRetried = false,
  recovered = false,
  timeoutMs,
  handOutAgainMs,
  refusal,
}: Setting = {}) {
  const tasks = { refusal: () => refusal, handOutAgainMs } as unknown as World['tasks']
  const { visit, journaled, sent, said, stops } = visitOf({
    now: NOW,
    run: { generation: 2, createdAt: NOW - 500, startedAt: NOW - 100 },
    claimed: { recovered, lastGoodEpoch: LAST_GOOD_EPOCH },
    world: { tasks },
  })
  const { journal } = visit
  const { operations } = visit.replay
  Object.assign(journal, { retries, isJustRetried })
  const all = new Waits(visit, { timeoutMs, options: {} } as AnyWorkflow, new Registry([child]))
  const called = (id: string, request: object, facts?: Partial<Facts>): Operation => {
    const operation = new Operation(
      id,
      request as Request,
      facts && ({ kind: 'sleep', failures: 0, ...facts } as Facts),
      1,
      0,
    )
    operations.set(id, operation)
    return operation
  }
  const open = async (id: string, request: object, facts?: Partial<Facts>) => {
    const operation = called(id, request, facts)
    return { operation, delivery: await all.open(operation) }
  }
  return { all, called, open, journaled, sent, warnings: said, stops, journal }
}

describe('a sleep', () => {
  it('is journaled with its end, and is due then', async () => {
    const { all, open, journaled } = waits()
    await open('a', { kind: 'sleep', ms: 50 })
    await open('b', { kind: 'sleep', until: NOW + 30 })
    expect(journaled).toStrictEqual([
      { type: 'sleep.started', id: 'a', until: NOW + 50, ms: 50 },
      { type: 'sleep.started', id: 'b', until: NOW + 30 },
    ])
    await open('c', { kind: 'sleep', until: NOW + 90 })
    expect(all.nextDue()).toBe(NOW + 30)
    expect(await all.next(NOW + 29)).toBeUndefined()
    expect(await all.next(NOW + 30)).toEqual({ type: 'sleep.completed', id: 'b' })
    expect(all.nextDue()).toBe(NOW + 50)
  })

  it('of more than 30 days is worth a warning', async () => {
    const { open, warnings } = waits()
    await open('a', { kind: 'sleep', ms: 30 * DAY })
    expect(warnings).toEqual([])
    await open('b', { kind: 'sleep', ms: 30 * DAY + 1 })
    expect(warnings).toMatchObject([
      [
        'warn',
        "sleep 'b' is longer than 30 days",
        { runId: 'run', workflow: 'order', until: new Date(NOW + 30 * DAY + 1).toISOString() },
      ],
    ])
  })

  it('that the journal knows ends as journaled, and a change is reported once', async () => {
    const { all, open, journaled, warnings, journal } = waits()
    const changed = { type: 'changed', id: 'a', field: 'duration', journaled: 50, now: 70 } as const
    await open('a', { kind: 'sleep', ms: 70 }, { opened: { type: 'sleep.started', id: 'a', until: NOW + 50, ms: 50 } })
    expect(all.nextDue()).toBe(NOW + 50)
    expect(journaled).toEqual([changed])
    expect(warnings).toMatchObject([
      [
        'warn',
        "the duration of 'a' is 70 in the code, and was 50 when the run came to it, which stands for this run",
        { runId: 'run' },
      ],
    ])
    journal.reported.add(changeKey({ ...changed, id: 'b' }))
    await open('b', { kind: 'sleep', ms: 70 }, { opened: { type: 'sleep.started', id: 'b', until: NOW + 50, ms: 50 } })
    expect(journaled).toHaveLength(1)
  })

  it('until a point in time is compared with another point in time', async () => {
    const { open, journaled } = waits()
    await open('same', { kind: 'sleep', until: 5 }, { opened: { type: 'sleep.started', id: 'same', until: 5 } })
    await open(
      'was a duration',
      { kind: 'sleep', until: 6 },
      { opened: { type: 'sleep.started', id: 'was a duration', until: 5, ms: 1 } },
    )
    expect(journaled).toEqual([])
    await open('other', { kind: 'sleep', until: 6 }, { opened: { type: 'sleep.started', id: 'other', until: 5 } })
    await open(
      'now a duration',
      { kind: 'sleep', ms: 6 },
      { opened: { type: 'sleep.started', id: 'now a duration', until: 5 } },
    )
    expect(journaled).toMatchObject([
      { id: 'other', field: 'until', journaled: 5, now: 6 },
      { id: 'now a duration', field: 'duration', journaled: null, now: 6 },
    ])
  })

  it('can be skipped by a message, which wins over its timer', async () => {
    const { all, open } = waits()
    const { operation } = await open('a', { kind: 'sleep', ms: 0 })
    all.receive([{ id: 'w', kind: 'wake' }])
    expect(await all.next(NOW)).toEqual({ type: 'sleep.completed', id: 'a', skippedBy: 'w' })
    operation.resolve(undefined)
    expect(await all.next(NOW)).toBeUndefined()
  })

  it('is the only thing that a message to wake skips', async () => {
    const { all, open } = waits()
    await open('w', { kind: 'wait', signal: go, ms: 50 })
    all.receive([{ id: 'w', kind: 'wake' }])
    expect(await all.next(NOW)).toBeUndefined()
  })
})

describe('a wait for a signal or a callback', () => {
  it('is journaled, with its timeout where it has one', async () => {
    const { all, open, journaled } = waits()
    await open('w', { kind: 'wait', signal: go })
    await open('c', { kind: 'callback' })
    expect(all.nextDue()).toBeUndefined()
    await open('v', { kind: 'wait', signal: go, ms: 50 })
    await open('d', { kind: 'callback', ms: 40, schema: z.number() })
    expect(journaled).toStrictEqual([
      { type: 'wait.started', id: 'w', signal: 'go' },
      { type: 'callback.created', id: 'c' },
      { type: 'wait.started', id: 'v', signal: 'go', until: NOW + 50, ms: 50 },
      { type: 'callback.created', id: 'd', until: NOW + 40, ms: 40, checked: true },
    ])
    expect(all.nextDue()).toBe(NOW + 40)
    expect(await all.next(NOW + 50)).toEqual({ type: 'wait.timedOut', id: 'v' })
    expect(await all.next(NOW + 50)).toMatchObject({
      type: 'callback.failed',
      id: 'd',
      error: { name: 'TimeoutError', message: "callback 'd' was not completed in time" },
    })
  })

  it('that the journal knows keeps its timeout', async () => {
    const { all, open, journaled } = waits()
    await open(
      'w',
      { kind: 'wait', signal: go },
      { opened: { type: 'wait.started', id: 'w', signal: 'go', until: NOW + 50, ms: 50 } },
    )
    expect(all.nextDue()).toBe(NOW + 50)
    expect(journaled).toEqual([{ type: 'changed', id: 'w', field: 'timeout', journaled: 50, now: null }])
  })

  it('gets what was there before it', async () => {
    const { all, open } = waits()
    all.receive([
      { id: 'm1', kind: 'callback', generation: 2, op: 'c', result: 7 },
      { id: 'm2', kind: 'signal', name: 'go' },
    ])
    expect(await all.next(NOW)).toBeUndefined()
    await open('c', { kind: 'callback' })
    expect(await all.next(NOW)).toMatchObject({ type: 'callback.completed', id: 'c' })
    await open('w', { kind: 'wait', signal: go })
    expect(await all.next(NOW)).toMatchObject({ type: 'wait.completed', id: 'w' })
  })
})

describe('a child', () => {
  const request = (changes: object = {}) => ({ kind: 'child', workflow: child, input: {}, options: {}, ...changes })
  const started = {
    type: 'child.started',
    id: 'kid',
    run: 'run.kid~g2',
    workflow: 'child',
    version: 1,
    input: {},
    onParentEnd: 'cancel',
  } as const
  const record = {
    id: 'run.kid~g2',
    workflow: 'child',
    version: 1,
    format: FORMAT,
    input: {},
    parsed: { size: 7 },
    secret: 'secret',
    createdAt: NOW,
    wakeAt: NOW,
    parent: { runId: 'run', op: 'kid', generation: 2 },
    tags: ['vip'],
    commonTags: ['vip'],
    retentionMs: DAY,
  }

  it('is journaled and started', async () => {
    const { open, journaled, sent } = waits()
    const { operation, delivery } = await open('kid', request())
    expect(delivery).toBeUndefined()
    expect(journaled).toStrictEqual([started])
    expect(sent).toStrictEqual([{ kind: 'start', run: record }])
    expect(operation.facts?.opened).toEqual(started)
  })

  it('has the id and the end that was asked for', async () => {
    const { open, journaled } = waits()
    await open('kid', request({ options: { id: 'mine', onParentEnd: 'terminate' } }))
    expect(journaled).toMatchObject([{ run: 'mine', onParentEnd: 'terminate' }])
  })

  it('that is detached has no parent, outlives it, and is accepted at once', async () => {
    const { open, journaled, sent } = waits()
    const { delivery } = await open('kid', request({ options: { detached: true } }))
    expect(delivery).toEqual({ type: 'child.detached', id: 'kid' })
    expect(journaled).toMatchObject([{ detached: true, onParentEnd: 'abandon' }])
    expect(sent[0]).not.toHaveProperty('run.parent')
  })

  it('whose input does not fit fails without being started', async () => {
    const { all, open, journaled, sent } = waits()
    const { operation, delivery } = await open('kid', request({ input: { size: 'x' } }))
    expect(delivery).toBeUndefined()
    expect(await all.next(NOW)).toMatchObject({
      type: 'child.failed',
      id: 'kid',
      error: { runId: 'run.kid~g2', message: expect.stringContaining("the input of child workflow 'child'") },
    })
    operation.resolve(undefined)
    await open('named', request({ input: 7, options: { id: 'mine' } }))
    expect(await all.next(NOW)).toMatchObject({ id: 'named', error: { runId: 'mine' } })
    expect((await open('free', request({ input: 7, options: { detached: true } }))).delivery).toMatchObject({
      type: 'child.failed',
      id: 'free',
    })
    expect([journaled, sent]).toEqual([[], []])
  })

  it('that the journal knows is left alone', async () => {
    const { open, journaled, sent } = waits()
    await open('kid', request(), { opened: started })
    expect([journaled, sent]).toEqual([[], []])
  })

  const inDisorder = { opened: started, openedBy: LAST_GOOD_EPOCH + 1 }
  const before = { opened: started, openedBy: LAST_GOOD_EPOCH }
  const detached = { ...started, detached: true, onParentEnd: 'abandon' } as const
  const answer = { id: 'm1', kind: 'child', run: 'run.kid~g2', op: 'kid', status: 'completed' } as const

  it('is started again after a crash if it was announced by a holder that did not give the run up (I5)', async () => {
    const { open, journaled, sent } = waits({ recovered: true })
    await open('kid', request(), inDisorder)
    expect(sent).toStrictEqual([{ kind: 'start', run: record }])
    expect(journaled).toEqual([])
    const free = waits({ recovered: true })
    await free.open('kid', request({ options: { detached: true } }), { ...inDisorder, opened: detached })
    expect(free.sent).toMatchObject([{ kind: 'start', run: { id: 'run.kid~g2' } }])
    expect(free.sent[0]).not.toHaveProperty('isThere')
  })

  it('is not started again, nor asked for, where nothing can be missing: it may be past its retention', async () => {
    for (const [setting, facts] of [
      [{ recovered: true }, before],
      [{ recovered: false }, inDisorder],
      [{ retries: 1 }, inDisorder],
    ] as const) {
      const { open, journaled, sent } = waits(setting)
      await open('kid', request(), facts)
      expect([journaled, sent]).toEqual([[], []])
    }
  })

  it('is asked for, not started, when its run goes on after a failure: it may have ended meanwhile', async () => {
    const { parsed, commonTags, ...rest } = record
    const asked = { ...rest, tags: [] }
    for (const setting of [
      { retries: 1, isJustRetried: true },
      { retries: 1, recovered: true },
    ]) {
      const { open, journaled, sent } = waits(setting)
      await open('kid', request(), before)
      expect(sent).toStrictEqual([{ kind: 'start', run: asked, isThere: true }])
      expect(journaled).toEqual([])
      const free = waits(setting)
      await free.open('kid', request({ options: { detached: true } }), { ...before, opened: detached })
      expect(free.sent).toEqual([])
    }
  })

  it('whose answer is there is neither started again nor asked for', async () => {
    for (const [setting, facts] of [
      [{ recovered: true }, inDisorder],
      [{ retries: 1, isJustRetried: true }, before],
    ] as const) {
      const { all, open, sent } = waits(setting)
      all.receive([answer])
      await open('kid', request(), facts)
      expect(sent).toEqual([])
    }
  })

  it('whose schema has changed is started again all the same, and looks at its input itself', async () => {
    const { open, sent } = waits({ recovered: true })
    await open('kid', request(), { ...inDisorder, opened: { ...started, input: { size: 'x' } } })
    expect(sent).toMatchObject([{ run: { input: { size: 'x' }, reparse: true } }])
  })

  it('that ended with its failed parent is begun anew, under an id of its own', async () => {
    const { open, journaled } = waits({ retries: 2 })
    await open('kid', request(), { opened: started, isLost: true })
    await open('other', request({ options: { id: 'mine' } }), { opened: { ...started, id: 'other' }, isLost: true })
    expect(journaled).toMatchObject([{ run: 'run.kid~g2~r2' }, { run: 'mine~r2' }])
  })

  it('with another id or input than the journal has is reported', async () => {
    const { open, journaled } = waits()
    await open('kid', request({ input: { size: 1 }, options: { id: 'mine' } }), { opened: started })
    await open('again', request({ options: { id: 'mine' } }), { opened: { ...started, id: 'again', run: 'mine~r1' } })
    expect(journaled).toMatchObject([
      { id: 'kid', field: 'id', journaled: 'run.kid~g2', now: 'mine' },
      { id: 'kid', field: 'input', journaled: digest('{}'), now: digest('{"size":1}') },
    ])
  })

  it('may have been journaled before the code called it', async () => {
    const { all, open } = waits()
    await open('kid', request())
    all.receive([{ id: 'm1', kind: 'child', run: 'run.kid~g2', op: 'kid', status: 'completed', result: 3 }])
    expect(await all.next(NOW)).toMatchObject({ type: 'child.completed', result: 3 })
  })
})

describe('a task', () => {
  const request = (input?: unknown) => ({ kind: 'task', type: 'mail', input, policy })
  const opened = { type: 'task.dispatched', id: 't', task: 'mail', input: 'hello' } as const
  const task = {
    id: 'run.t',
    runId: 'run',
    life: NOW - 500,
    op: 't',
    generation: 2,
    round: 0,
    type: 'mail',
    policy,
    dispatchedAt: NOW,
  }

  it('is journaled and handed out', async () => {
    const { all, open, journaled, sent } = waits()
    await open('t', request('hello'))
    await open('u', request())
    expect(journaled).toStrictEqual([opened, { type: 'task.dispatched', id: 'u', task: 'mail' }])
    expect(sent).toStrictEqual([
      { kind: 'dispatch', task: { ...task, input: 'hello' } },
      { kind: 'dispatch', task: { ...task, id: 'run.u', op: 'u' } },
    ])
    expect(all.nextDue()).toBeUndefined()
  })

  it('that no worker would take fails without being dispatched', async () => {
    const { all, open, journaled, sent } = waits({ refusal: 'nobody does that', retries: 1 })
    await open('t', request())
    expect(await all.next(NOW)).toMatchObject({
      type: 'task.failed',
      id: 't',
      attempt: 0,
      error: { message: 'nobody does that' },
    })
    expect([journaled, sent]).toEqual([[], []])
  })

  it('that the journal knows is left alone, also if no worker would take it today', async () => {
    const { all, open, journaled, sent } = waits({ refusal: 'not any more' })
    await open('t', request('other'), { opened })
    expect([journaled, sent, all.next(NOW)]).toEqual([[], [], undefined])
  })

  it('may be answered before the code calls for it', async () => {
    const { all, open } = waits()
    all.receive([{ id: 'm1', kind: 'task', generation: 2, round: 0, op: 't', attempt: 1, iteration: 0, result: 7 }])
    expect(await all.next(NOW)).toBeUndefined()
    await open('t', request('hello'), { opened })
    expect(await all.next(NOW)).toMatchObject({ type: 'task.completed', id: 't', result: 7 })
  })

  it('is handed out again after a crash or when its run goes on, unless it is answered', async () => {
    for (const [setting, round] of [
      [{ recovered: true }, 0],
      [{ retries: 3, isJustRetried: true }, 3],
    ] as const) {
      const again = waits(setting)
      await again.open('t', request('other'), { opened })
      expect(again.sent).toStrictEqual([{ kind: 'dispatch', task: { ...task, round, input: 'hello' } }])
      const answered = waits(setting)
      answered.all.receive([{ id: 'm1', kind: 'task', generation: 2, round, op: 't', attempt: 1, iteration: 0 }])
      await answered.open('t', request('other'), { opened })
      expect(answered.sent).toEqual([])
    }
  })

  it('is not handed out again at every wake of a run that went on long ago', async () => {
    const { open, sent } = waits({ retries: 3 })
    await open('t', request('other'), { opened })
    expect(sent).toEqual([])
  })

  it('is handed out again and again where its world forgets', async () => {
    const { all, open, sent } = waits({ handOutAgainMs: 100 })
    await open('t', request(), { opened, openedAt: NOW - 40 })
    expect(all.nextDue()).toBe(NOW + 60)
    expect(await all.next(NOW + 59)).toBeUndefined()
    expect(sent).toEqual([])
    expect(await all.next(NOW + 60)).toBeUndefined()
    expect(sent).toMatchObject([{ kind: 'dispatch', task: { input: 'hello' } }])
    expect(all.nextDue()).toBe(NOW + 160)
    await open('u', request())
    expect(all.describe().map(({ id }) => id)).toEqual(['t', 'u'])
  })
})

describe('timers', () => {
  it('of steps are not for the code, and end when the step is taken up', () => {
    const { all, called } = waits()
    const [a, b, c] = [called('a', { kind: 'step' }), called('b', { kind: 'step' }), called('c', { kind: 'step' })]
    all.resumeLater(a!, NOW)
    all.resumeLater(b!, NOW + 1)
    all.resumeLater(c!, NOW)
    c!.resolve(undefined)
    all.resumeLater(called('nap', { kind: 'sleep' }), NOW + 7)
    expect(all.next(NOW + 5)).toBeUndefined()
    expect(all.dueSteps(NOW)).toEqual([a])
    expect(all.dueSteps(NOW + 9)).toEqual([b])
    all.resumeLater(b!, NOW + 1)
    expect(all.dueSteps(NOW)).toEqual([])
    expect(all.nextDue()).toBe(NOW + 1)
    all.forget(b!)
    expect(all.nextDue()).toBe(NOW + 7)
  })

  it('of what is over are forgotten', async () => {
    const { all, open } = waits()
    const { operation } = await open('a', { kind: 'sleep', ms: 10 })
    operation.resolve(undefined)
    expect(all.next(NOW + 10)).toBeUndefined()
    expect(all.nextDue()).toBeUndefined()
    const { operation: other } = await open('b', { kind: 'sleep', ms: 10 })
    other.resolve(undefined)
    expect(all.nextDue()).toBeUndefined()
  })

  it('of the run as a whole come first, once', async () => {
    const { all, open, stops } = waits({ timeoutMs: 150 })
    await open('a', { kind: 'sleep', ms: 50 })
    expect(all.nextDue()).toBe(NOW + 50)
    await open('b', { kind: 'sleep', ms: 60 })
    expect(all.next(NOW + 49)).toBeUndefined()
    expect(all.next(NOW + 50)).toEqual({ type: 'run.timedOut' })
    stops.push(new CancelledError('x'))
    expect(all.next(NOW + 50)).toEqual({ type: 'sleep.completed', id: 'a' })
    expect(all.nextDue()).toBe(NOW + 60)
  })

  it('of a run that has a timeout and nothing else are its timeout', () => {
    const { all, stops } = waits({ timeoutMs: 150 })
    expect(all.nextDue()).toBe(NOW + 50)
    stops.push(new CancelledError('x'))
    expect(all.nextDue()).toBeUndefined()
  })
})

describe('what a run waits for', () => {
  it('is told to people', async () => {
    const { all, open, called } = waits()
    await open('nap', { kind: 'sleep', ms: 5 })
    await open('w', { kind: 'wait', signal: go })
    await open('v', { kind: 'wait', signal: go, ms: 5 })
    await open('c', { kind: 'callback', ms: 5 })
    await open('kid', { kind: 'child', workflow: child, input: {}, options: {} })
    await open('t', { kind: 'task', type: 'mail', policy })
    called('unopened', { kind: 'child' })
    all.resumeLater(called('retry', { kind: 'step' }), NOW + 9)
    called('pause', { kind: 'step' }, { kind: 'step', paused: true })
    called('over', { kind: 'sleep' }).resolve(undefined)
    expect(all.describe()).toStrictEqual([
      { kind: 'sleep', id: 'nap', until: NOW + 5 },
      { kind: 'signal', id: 'w', on: 'go' },
      { kind: 'signal', id: 'v', on: 'go', until: NOW + 5 },
      { kind: 'callback', id: 'c', until: NOW + 5 },
      { kind: 'child', id: 'kid', on: 'run.kid~g2' },
      { kind: 'task', id: 't', on: 'mail' },
      { kind: 'child', id: 'unopened' },
      { kind: 'retry', id: 'retry', until: NOW + 9 },
      { kind: 'pause', id: 'pause' },
    ])
  })
})
