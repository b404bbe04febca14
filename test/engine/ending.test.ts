import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { CancelledError, StepError, TimeoutError } from '../../sdk/base/errors.ts'
import type { JournalEvent, OnParentEnd } from '../../sdk/base/events.ts'
import {
  messageOfEnd,
  outgoingAtCancel,
  outgoingAtEnd,
  outgoingToStarted,
  rootError,
  terminalEvent,
} from '../../sdk/engine/ending.ts'
import { workflow } from '../../sdk/workflow.ts'

const order = workflow('order', { input: z.undefined(), output: z.object({ n: z.number() }) }, async () => ({ n: 1 }))
const error = { name: 'Error', message: 'no' }
const run = { id: 'run', format: 2, generation: 3, createdAt: 77 }
const parent = { runId: 'parent', op: 'kid', generation: 1 }
const child = (id: string, onParentEnd: OnParentEnd): JournalEvent => ({
  type: 'child.started',
  id,
  run: `run.${id}`,
  workflow: 'w',
  version: 1,
  onParentEnd,
})
const cancel = (child: string, reason: string, id = 'parent ended') => ({
  kind: 'deliver',
  to: `run.${child}`,
  message: { id, kind: 'cancel', reason },
})

describe('code that ended', () => {
  const threw = (thrown: Error, stop?: Error) => terminalEvent(order, { kind: 'threw', error: thrown }, stop)
  const returned = (value: unknown) => terminalEvent(order, { kind: 'returned', value }, undefined)

  it('by returning has completed, with what a replay would see', async () => {
    expect(await returned({ n: 7 })).toEqual({ type: 'run.completed', output: { n: 7 } })
  })

  it('with an output that does not fit or cannot be stored has failed', async () => {
    expect(await returned({ n: 'x' })).toMatchObject({
      type: 'run.failed',
      error: { message: expect.stringContaining('does not fit its schema') },
    })
    expect(await returned(new Map())).toMatchObject({
      type: 'run.failed',
      error: { message: expect.stringContaining("the output of workflow 'order'") },
    })
  })

  it('by throwing has failed', async () => {
    expect(await threw(new Error('no'))).toMatchObject({ type: 'run.failed', error: { message: 'no' } })
    expect(await threw(new CancelledError('by itself'))).toMatchObject({
      type: 'run.failed',
      error: { name: 'CancelledError' },
    })
  })

  it('by the request to stop was cancelled, however the code passed it on', async () => {
    const stop = new CancelledError('enough')
    for (const thrown of [stop, new Error('wrapped', { cause: new Error('twice', { cause: stop }) })]) {
      expect(await threw(thrown, stop)).toEqual({ type: 'run.cancelled', reason: 'enough' })
    }
    expect(await threw(new Error('something else'), stop)).toMatchObject({
      type: 'run.failed',
      error: { message: 'something else' },
    })
  })

  it('with an error whose causes go in a circle has failed with it, also when it was asked to stop', async () => {
    const round = new Error('round')
    round.cause = new Error('and round', { cause: round })
    expect(await threw(round, new CancelledError('enough'))).toMatchObject({
      type: 'run.failed',
      error: { message: 'round' },
    })
  })

  it('by its timeout has failed with the timeout', async () => {
    expect(await threw(new CancelledError('x'), new TimeoutError('too slow'))).toMatchObject({
      type: 'run.failed',
      error: { name: 'TimeoutError', message: 'too slow' },
    })
  })
})

describe('the error that a whole-run retry policy judges', () => {
  it('is the one behind a step that failed for good', () => {
    const cause = new Error('no')
    expect(rootError(new StepError('pay', 1, cause))).toBe(cause)
    const other = new Error('x', { cause })
    expect(rootError(other)).toBe(other)
    const odd = new StepError('pay', 1, cause)
    odd.cause = 'text'
    expect(rootError(odd)).toBe(odd)
  })
})

describe('the message of a child’s end', () => {
  it('has a result or an error, as it ended, and the slot that tells one end from the next', () => {
    const base = { id: 'child kid 9 g1', kind: 'child', run: 'kid', op: 'kid', generation: 1 }
    expect(messageOfEnd('kid', parent, 9, 'completed', 7, error)).toStrictEqual({
      ...base,
      status: 'completed',
      result: 7,
    })
    expect(messageOfEnd('kid', parent, 9, 'failed', 7, error)).toStrictEqual({ ...base, status: 'failed', error })
    expect(messageOfEnd('kid', parent, 9, 'failed')).toStrictEqual({ ...base, status: 'failed' })
    expect(messageOfEnd('kid', parent, 9, 'cancelled', 7, error)).toStrictEqual({ ...base, status: 'cancelled' })
    expect(messageOfEnd('kid', { runId: 'parent', op: 'kid' }, 9, 'completed', 7)).not.toHaveProperty('generation')
  })

  it('has an id of its own for every generation of the parent, the first being as in format 1', () => {
    const idFor = (generation?: number) =>
      messageOfEnd('kid', { runId: 'parent', op: 'kid', ...(generation !== undefined && { generation }) }, 9, 'failed')
        .id
    expect([idFor(), idFor(0), idFor(1), idFor(2)]).toEqual([
      'child kid 9',
      'child kid 9',
      'child kid 9 g1',
      'child kid 9 g2',
    ])
  })
})

describe('the end of a run', () => {
  it('is sent to its parent first', () => {
    const ended = (event: Parameters<typeof outgoingAtEnd>[1]) =>
      outgoingAtEnd({ ...run, parent }, event, 9, [child('a', 'terminate')])
    const terminate = (how: string) => ({
      kind: 'terminate',
      run: 'run.a',
      reason: `its parent run 'run' ended (${how})`,
    })
    expect(ended({ type: 'run.completed', output: 7 })).toEqual([
      { kind: 'deliver', to: 'parent', message: messageOfEnd('run', parent, 9, 'completed', 7) },
      terminate('completed'),
    ])
    expect(ended({ type: 'run.failed', error })).toEqual([
      { kind: 'deliver', to: 'parent', message: messageOfEnd('run', parent, 9, 'failed', undefined, error) },
      terminate('failed'),
    ])
  })

  it('without a parent is sent to its children only', () => {
    expect(outgoingAtEnd(run, { type: 'run.completed' }, 9, [child('a', 'cancel')])).toEqual([
      cancel('a', "its parent run 'run' ended (completed)"),
    ])
    expect(outgoingAtEnd(run, { type: 'run.completed' }, 9, [])).toEqual([])
  })

  it('does not concern children that are over or abandoned, and does those that go on again', () => {
    const events: JournalEvent[] = [
      child('over', 'cancel'),
      { type: 'child.completed', id: 'over' },
      child('lost', 'cancel'),
      { type: 'child.failed', id: 'lost', error },
      child('again', 'cancel'),
      { type: 'child.failed', id: 'again', error },
      child('left', 'abandon'),
      { type: 'run.retried', ops: ['again', 'some step'] },
    ]
    expect(outgoingToStarted(run, 'went', events)).toEqual([cancel('again', "its parent run 'run' went")])
    expect(outgoingToStarted(run, 'went', [child('a', 'cancel'), { type: 'run.retried', step: 'x' }])).toHaveLength(1)
  })

  it('takes back the tasks that are out, of the round that they are of', () => {
    const task = (id: string): JournalEvent => ({ type: 'task.dispatched', id, task: 'mail' })
    const events: JournalEvent[] = [
      task('done'),
      task('open'),
      { type: 'task.completed', id: 'done' },
      { type: 'run.retried' },
      { type: 'run.retried' },
    ]
    expect(outgoingToStarted(run, 'went', events)).toEqual([
      { kind: 'withdraw', task: { id: 'run.open', life: 77, generation: 3, round: 2 } },
    ])
  })

  it('by request cancels all children but those that are to be terminated', () => {
    const events = [
      child('a', 'cancel'),
      child('b', 'terminate'),
      { type: 'task.dispatched', id: 't', task: 'mail' } as JournalEvent,
    ]
    expect(outgoingAtCancel(run, 2, events)).toEqual([
      cancel('a', "its parent run 'run' was cancelled", 'parent cancelled 2'),
      { kind: 'terminate', run: 'run.b', reason: "its parent run 'run' was cancelled" },
      { kind: 'withdraw', task: { id: 'run.t', life: 77, generation: 3, round: 0 } },
    ])
  })

  it('a second time by request reaches children that heard of the first, and under another id', () => {
    const events: JournalEvent[] = [
      child('a', 'cancel'),
      { type: 'run.cancelRequested', from: 'm1' },
      child('b', 'cancel'),
      child('left', 'abandon'),
    ]
    const told = (nth: number) =>
      ['a', 'b'].map((id) => cancel(id, "its parent run 'run' was cancelled", `parent cancelled ${nth}`))
    expect(outgoingAtCancel(run, 2, events)).toEqual(told(2))
    expect(outgoingAtCancel(run, 1, events)).toEqual(told(1))
  })

  it('leaves children that were asked to stop before to their clean-up, unless they are to be terminated', () => {
    const asked: JournalEvent = { type: 'run.cancelRequested', from: 'm1' }
    const events = [child('told', 'cancel'), child('hard', 'terminate'), asked, child('since', 'cancel')]
    expect(outgoingToStarted(run, 'went', events)).toEqual([
      { kind: 'terminate', run: 'run.hard', reason: "its parent run 'run' went" },
      cancel('since', "its parent run 'run' went"),
    ])
  })
})
