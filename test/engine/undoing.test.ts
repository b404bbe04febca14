import { describe, expect, it } from 'vitest'
import type { Frame, FrameEvent, JournalEvent } from '../../sdk/base/events.ts'
import { applyFact } from '../../sdk/engine/facts.ts'
import { beginOf, changeKey, Journal } from '../../sdk/engine/journal.ts'
import { inheritanceOf } from '../../sdk/engine/rerun.ts'
import { findUndone, retryPlan } from '../../sdk/engine/undone.ts'
import type { RunRecord } from '../../sdk/ports/run.ts'

const error = { name: 'Error', message: 'no' }
const failed = (id: string): JournalEvent => ({ type: 'step.failed', id, attempt: 3, error })
const done = (id: string): JournalEvent => ({ type: 'step.completed', id, result: 1 })
const runFailed: JournalEvent = { type: 'run.failed', error }
const retried = (...ops: string[]): JournalEvent => ({ type: 'run.retried', ops })
const child = (id: string, changes: object = {}): JournalEvent => ({
  type: 'child.started',
  id,
  run: `run.${id}`,
  workflow: 'w',
  version: 1,
  onParentEnd: 'cancel',
  ...changes,
})
const childFailed = (id: string, why: string): JournalEvent => ({
  type: 'child.failed',
  id,
  error: { ...error, cause: { name: why, message: 'x' } },
})
/** A frame each, a second apart. */
const frames = (...groups: FrameEvent[][]): Frame[] =>
  groups.map((events, i) => ({ seq: i + 1, at: (i + 1) * 1_000, epoch: 1, events }))
const journal = (...groups: FrameEvent[][]) => new Journal(frames(...groups), 0, 500)

describe('what a request to go on undoes', () => {
  it('is nothing where there was none', () => {
    expect(findUndone(frames([failed('a')], [runFailed]))).toEqual([])
    expect(findUndone([{ seq: 1, at: 0, epoch: 1, events: [] }])).toEqual([])
  })

  it('begins with the first failure that it names, and drops failures, end and request', () => {
    expect(findUndone(frames([failed('a'), done('b'), failed('c')], [runFailed], [retried('c', 'a')]))).toEqual([
      { from: 0, to: 4, ops: new Set(['c', 'a']), isOpenedAnew: new Set(), drops: new Set([0, 2, 3, 4]) },
    ])
  })

  it('is the end alone where no failure is named', () => {
    expect(findUndone(frames([done('a'), runFailed], [{ type: 'run.retried' }]))).toEqual([
      { from: 1, to: 2, ops: new Set(), isOpenedAnew: new Set(), drops: new Set([1, 2]) },
    ])
  })

  it('in format 1 is one step', () => {
    expect(
      findUndone(frames([done('b'), failed('a')], [runFailed], [{ type: 'run.retried', step: 'a' }])),
    ).toMatchObject([{ from: 1, ops: new Set(['a']) }])
  })

  it('is the last failure of an operation, each time', () => {
    const undone = findUndone(
      frames([failed('a')], [runFailed], [retried('a')], [failed('a')], [runFailed], [retried('a')]),
    )
    expect(undone.map(({ from, to }) => [from, to])).toEqual([
      [0, 2],
      [3, 5],
    ])
  })

  it.each(['task.failed', 'child.failed', 'callback.failed'] as const)('may be a %s', (type) => {
    const event = { type, id: 'x', attempt: 1, error } as JournalEvent
    expect(findUndone(frames([event, done('b')], [runFailed], [retried('x')]))).toMatchObject([{ from: 0 }])
  })

  it('is opened anew where there is nothing left to go on: a callback, or a child that never was the run’s own', () => {
    const undone = findUndone(
      frames(
        [
          { type: 'callback.failed', id: 'callback', error },
          childFailed('taken', 'ConflictError'),
          childFailed('misfit', 'InvalidInputError'),
        ],
        [
          childFailed('own', 'Error'),
          { type: 'child.failed', id: 'bare', error },
          { type: 'task.failed', id: 'task', attempt: 1, error },
          failed('step'),
        ],
        [runFailed],
        [retried('callback', 'taken', 'misfit', 'own', 'bare', 'task', 'step')],
      ),
    )
    expect(undone.map(({ isOpenedAnew }) => [...isOpenedAnew])).toEqual([['callback', 'taken', 'misfit']])
  })

  it('is opened anew only where the request names it', () => {
    const undone = findUndone(
      frames([{ type: 'callback.failed', id: 'callback', error }, failed('a')], [runFailed], [retried('a')]),
    )
    expect(undone).toMatchObject([{ from: 1, isOpenedAnew: new Set() }])
  })
})

describe('what it takes for a failed run to go on', () => {
  const plan = (...events: JournalEvent[]) => retryPlan('run', events)

  it('is that it failed, and has not undone its steps', () => {
    expect(plan(done('a'))).toMatchObject({
      refusal: expect.stringContaining("'run' has not failed by the last word of its history"),
    })
    expect(plan()).toHaveProperty('refusal')
    expect(plan({ type: 'run.failed', error, compensated: true })).toMatchObject({
      refusal: expect.stringContaining('has undone its steps'),
    })
  })

  it('is time: a run that took too long would only take longer', () => {
    expect(
      plan(failed('a'), { type: 'run.timedOut' }, done('b'), { type: 'run.failed', error, because: ['a'] }),
    ).toMatchObject({
      refusal: expect.stringContaining("'run' took longer than the timeout of its workflow"),
    })
  })

  it('are the operations that the failure goes back to', () => {
    expect(
      plan(failed('a'), failed('b'), failed('c'), { type: 'run.failed', error, because: ['a', 'b', 'unknown'] }),
    ).toEqual({
      ops: ['a', 'b'],
      children: [],
    })
  })

  it('is the step that the error names, but not one of a child', () => {
    const step = { ...error, cause: { ...error, step: 'a' } }
    expect(plan(failed('a'), failed('b'), { type: 'run.failed', error: step })).toMatchObject({ ops: ['a'] })
    const ofChild = { ...error, runId: 'kid', cause: { ...error, step: 'a' } }
    expect(plan(failed('a'), failed('b'), { type: 'run.failed', error: ofChild })).toMatchObject({ ops: ['b'] })
  })

  it('is what failed last where the error says nothing, if the code heard of nothing since', () => {
    expect(plan(failed('a'), failed('b'), failed('a'), runFailed)).toEqual({ ops: ['a'], children: [] })
    expect(plan(done('a'), runFailed)).toEqual({ ops: [], children: [] })
    expect(plan(failed('a'), done('b'), runFailed)).toEqual({ ops: [], children: [] })
    const nap: JournalEvent = { type: 'sleep.started', id: 'nap', until: 9 }
    expect(plan(failed('a'), nap, runFailed)).toEqual({ ops: ['a'], children: [] })
  })

  it('is nothing that an earlier request has undone', () => {
    expect(
      plan(failed('a'), runFailed, retried('a'), failed('b'), { type: 'run.failed', error, because: ['a', 'b'] }),
    ).toMatchObject({ ops: ['b'] })
    expect(
      plan(failed('a'), runFailed, { type: 'run.retried', step: 'x' }, { type: 'run.failed', error, because: ['a'] }),
    ).toMatchObject({ ops: ['a'] })
  })

  it('are the failed children first', () => {
    const gone: JournalEvent = { type: 'child.failed', id: 'kid', error }
    expect(plan(child('kid'), gone, failed('a'), { type: 'run.failed', error, because: ['kid', 'a'] })).toEqual({
      ops: ['kid', 'a'],
      children: ['run.kid'],
    })
    expect(plan(gone, runFailed)).toEqual({ ops: ['kid'], children: [] })
  })

  it.each(['ConflictError', 'InvalidInputError'])('is no child that never was its own (%s)', (why) => {
    expect(plan(child('kid'), childFailed('kid', why), runFailed)).toEqual({ ops: ['kid'], children: [] })
    expect(plan(child('kid'), childFailed('kid', 'Error'), runFailed)).toEqual({ ops: ['kid'], children: ['run.kid'] })
  })
})

describe('a journal', () => {
  it('hands on deliveries in order, each at its time', () => {
    const { deliveries, times, isEmpty, lastSeq, lastAt, terminal } = journal(
      [done('a'), { ...done('b'), dt: 30 }],
      [done('c')],
      [{ ...done('d'), dt: 7 }],
    )
    expect(deliveries.map((event) => 'id' in event && event.id)).toEqual(['a', 'b', 'c', 'd'])
    expect(times).toEqual([1_000, 1_030, 2_000, 3_007])
    expect([isEmpty, lastSeq, lastAt, terminal]).toEqual([false, 3, 3_007, undefined])
  })

  it('of a generation that has just begun is empty', () => {
    const { isEmpty, lastSeq, lastAt, begunAt } = new Journal([], 4, 500)
    expect([isEmpty, lastSeq, lastAt, begunAt]).toEqual([true, 4, 500, 500])
    expect(new Journal([{ seq: 5, at: 900, epoch: 1, events: [] }], 4, 500)).toMatchObject({
      lastSeq: 5,
      lastAt: 900,
      isEmpty: true,
    })
  })

  it('is not empty with a fact or a patch in it, and is with a remark', () => {
    expect(journal([{ type: 'sleep.started', id: 'nap', until: 9 }]).isEmpty).toBe(false)
    expect(journal([{ type: 'patch', id: 'p' }]).isEmpty).toBe(false)
    expect(journal([{ type: 'map', id: 'm', count: 1, digest: 'x' }]).isEmpty).toBe(true)
  })

  it('knows its end', () => {
    expect(journal([done('a')], [runFailed]).terminal).toEqual(runFailed)
  })

  it('knows what it has consumed, wherever that is said', () => {
    const { consumed, accepted } = journal([
      { type: 'wait.completed', id: 'go', from: 'm1' },
      { type: 'run.cancelRequested', from: 'm2' },
      { type: 'sleep.completed', id: 'nap', skippedBy: 'm3' },
      { type: 'sleep.completed', id: 'rest' },
      { type: 'signal.rejected', id: 'go', from: 'm4', reason: 'x' },
      { type: 'callback.rejected', id: 'cb', from: 'm5', reason: 'x' },
      { type: 'child.detached', id: 'kid' },
    ])
    expect([...consumed]).toEqual(['m1', 'm2', 'm3', 'm4', 'm5'])
    expect([...accepted]).toEqual(['kid'])
  })

  it('knows behind which delivery a patch was first in force', () => {
    const { patches, maps, reported } = journal(
      [done('a'), { type: 'patch', id: 'p' }, done('b'), { type: 'patch', id: 'p' }],
      [
        { type: 'map', id: 'm', count: 2, digest: 'x' },
        { type: 'changed', id: 'nap', field: 'duration', journaled: 1, now: 2 },
      ],
    )
    expect([...patches]).toEqual([['p', 1]])
    expect(maps.get('m')).toMatchObject({ count: 2, digest: 'x' })
    expect(reported.has(changeKey({ id: 'nap', field: 'duration', now: 2 }))).toBe(true)
    expect(reported.has(changeKey({ id: 'nap', field: 'duration', now: 3 }))).toBe(false)
  })

  it('collects what it knows of an operation', () => {
    const { facts } = journal(
      [{ type: 'step.started', id: 'a', attempt: 1 }],
      [{ type: 'step.retrying', id: 'a', attempt: 1, error, until: 9_000 }],
    )
    expect(facts.get('a')).toEqual({
      kind: 'step',
      openedAt: 1_000,
      openedBy: 1,
      failures: 1,
      until: 9_000,
      paused: false,
    })
  })

  it('knows by which claim something was opened', () => {
    const frames = [1, 2].map((epoch) => ({ seq: epoch, at: 1_000, epoch, events: [child(`of ${epoch}`)] }))
    const { facts } = new Journal(frames, 0, 0)
    expect([facts.get('of 1')?.openedBy, facts.get('of 2')?.openedBy]).toEqual([1, 2])
    const anew = journal(
      [child('kid')],
      [childFailed('kid', 'ConflictError'), runFailed],
      [retried('kid')],
      [child('kid', { run: 'other' })],
    )
    expect(anew.facts.get('kid')).toMatchObject({ opened: { run: 'other' } })
  })

  it.each<[JournalEvent, object]>([
    [
      { type: 'step.started', id: 'a', attempt: 2 },
      { underWay: 2, isLost: true },
    ],
    [
      { type: 'step.retrying', id: 'a', attempt: 2, error, until: 9 },
      { failures: 2, until: 9, paused: false, isLost: true },
    ],
    [
      { type: 'step.paused', id: 'a', name: 'p', until: 9, data: 7 },
      { until: 9, paused: true, checkpoint: 7, isLost: true },
    ],
    [
      { type: 'step.checkpoint', id: 'a', data: 7 },
      { checkpoint: 7, underWay: 1, isLost: true },
    ],
    [
      { type: 'sleep.started', id: 'a', until: 9 },
      { opened: { type: 'sleep.started', id: 'a', until: 9 }, underWay: 1 },
    ],
    [child('a'), { opened: child('a'), underWay: 1 }],
  ])('learns from %j', (event, expected) => {
    expect(applyFact({ kind: 'step', failures: 0, underWay: 1, isLost: true }, event as never)).toStrictEqual({
      kind: 'step',
      failures: 0,
      ...expected,
    })
  })

  it('begins when the frame that ended the generation before it says', () => {
    const heading = (...events: FrameEvent[]): Frame => ({ seq: 1, at: 100, epoch: 1, events })
    expect(beginOf(heading({ type: 'run.retrying', error, attempt: 1, until: 900 }))).toBe(900)
    expect(beginOf(heading(done('a'), { type: 'run.continued', dt: 5 }))).toBe(105)
    expect(beginOf(heading({ type: 'run.continued' }))).toBe(100)
    expect(beginOf(heading())).toBe(100)
  })
})

describe('a journal with a failure that was undone', () => {
  it('keeps aside what came between the failure and the request', () => {
    const sleeping: JournalEvent = { type: 'sleep.started', id: 'nap', until: 9 }
    const { forgotten, deliveries, facts, terminal, retries } = journal(
      [done('a'), failed('b'), { ...done('c'), dt: 5 }, sleeping],
      [runFailed],
      [retried('b')],
      [done('d')],
    )
    expect(deliveries).toEqual([done('a'), done('d')])
    expect(forgotten).toEqual([
      {
        at: 1,
        events: [
          { event: { ...done('c'), dt: 5 }, at: 1_005 },
          { event: sleeping, at: 1_000 },
        ],
      },
    ])
    expect(facts.size).toBe(0)
    expect([terminal, retries]).toEqual([undefined, 1])
  })

  it('does not keep remarks aside: what they say stands', () => {
    const { forgotten, consumed } = journal(
      [failed('b'), { type: 'signal.rejected', id: 'go', from: 'm1', reason: 'x' }],
      [runFailed],
      [retried('b')],
    )
    expect(forgotten).toEqual([{ at: 0, events: [] }])
    expect([...consumed]).toEqual(['m1'])
  })

  it('is just retried until something else happens', () => {
    const isJustRetried = (...groups: FrameEvent[][]) => journal([failed('b')], [runFailed], ...groups).isJustRetried
    expect([isJustRetried(), isJustRetried([retried('b')]), isJustRetried([retried('b')], [done('b')])]).toEqual([
      false,
      true,
      false,
    ])
  })

  it('opens anew what cannot go on, and keeps what can', () => {
    const callback: JournalEvent = { type: 'callback.created', id: 'cb', until: 9 }
    const { facts } = journal(
      [callback, child('taken'), child('own')],
      [
        { type: 'callback.failed', id: 'cb', error },
        childFailed('taken', 'ConflictError'),
        childFailed('own', 'Error'),
      ],
      [runFailed],
      [retried('cb', 'taken', 'own')],
    )
    expect(['cb', 'taken', 'own'].map((id) => facts.get(id)?.opened)).toEqual([undefined, undefined, child('own')])
  })

  it('keeps aside in one what lies between failures that overlap', () => {
    const { forgotten, deliveries, retries } = journal(
      [failed('a'), done('x'), failed('b')],
      [runFailed],
      [retried('b')],
      [done('y'), runFailed],
      [retried('a')],
      [done('z')],
    )
    expect(forgotten.map(({ at, events }) => [at, events.map(({ event }) => event)])).toEqual([
      [0, [done('x'), done('y')]],
    ])
    expect([deliveries, retries]).toEqual([[done('z')], 2])
    const crossed = journal(
      [failed('a'), done('x'), failed('b')],
      [runFailed],
      [retried('a')],
      [done('y'), runFailed],
      [retried('b')],
      [done('z')],
    )
    expect([crossed.forgotten, crossed.deliveries]).toEqual([forgotten, deliveries])
  })

  it('keeps apart what lies between failures that do not overlap', () => {
    const { forgotten, deliveries } = journal(
      [failed('a'), done('x')],
      [runFailed],
      [retried('a')],
      [failed('b'), done('y')],
      [runFailed],
      [retried('b')],
    )
    expect(forgotten.map(({ at, events }) => [at, events.map(({ event }) => event)])).toEqual([
      [0, [done('x')]],
      [0, [done('y')]],
    ])
    expect(deliveries).toEqual([])
  })

  it('that failed again has ended', () => {
    expect(journal([failed('b')], [runFailed], [retried('b')], [failed('b')], [runFailed]).terminal).toEqual(runFailed)
  })

  it('knows the signal of a wait, in case it has to be returned', () => {
    expect(
      journal([{ type: 'wait.started', id: 'w', signal: 'go' }, failed('b')], [runFailed], [retried('b')]).signalOf.get(
        'w',
      ),
    ).toBe('go')
  })

  it('has lost the children that ended with it, but not those that were over, detached, abandoned, or go on themselves', () => {
    const { facts } = journal(
      [
        child('open'),
        child('over'),
        child('free', { detached: true }),
        child('left', { onParentEnd: 'abandon' }),
        child('kid'),
        { type: 'sleep.started', id: 'nap', until: 9 },
      ],
      [
        { type: 'child.completed', id: 'over' },
        { type: 'child.failed', id: 'kid', error },
      ],
      [runFailed],
      [retried('kid')],
    )
    expect([...facts].filter(([, { isLost }]) => isLost).map(([id]) => id)).toEqual(['open'])
  })
})

describe('the journal of a rerun', () => {
  const run = { id: 'run', baseSeq: 1, generation: 1 } as RunRecord
  const origin = (from: string): JournalEvent => ({ type: 'run.rerun', of: 'run', generation: 1, from })
  const upTo = (step: string, ...groups: FrameEvent[][]) =>
    inheritanceOf(run, frames([done('earlier generation')], ...groups), 99, { from: step }).journal

  it('goes up to the first word about the step', () => {
    expect(upTo('b', [done('a'), { type: 'step.started', id: 'b', attempt: 1 }, done('b')])).toEqual({
      seq: 1,
      at: 99,
      epoch: 0,
      events: [origin('b'), done('a')],
    })
  })

  it('leaves out waits that had not ended, and what was said to the run as a whole', () => {
    const nap: JournalEvent[] = [
      { type: 'sleep.started', id: 'nap', until: 9 },
      { type: 'sleep.completed', id: 'nap' },
    ]
    const patch: JournalEvent = { type: 'patch', id: 'p' }
    const map: JournalEvent = { type: 'map', id: 'm', count: 1, digest: 'x' }
    const before = [
      ...nap,
      child('kid'),
      patch,
      map,
      { type: 'run.cancelRequested', from: 'm' } as JournalEvent,
      runFailed,
      retried('b'),
    ]
    expect(upTo('b', [...before, done('b')]).events).toEqual([origin('b'), ...nap, patch, map])
  })

  it('is not cut at a patch of the same name', () => {
    expect(upTo('b', [{ type: 'patch', id: 'b' }, done('a'), done('b')]).events).toEqual([
      origin('b'),
      { type: 'patch', id: 'b' },
      done('a'),
    ])
  })

  it('goes back to the first of several that repeat each other', () => {
    expect(upTo('c', [origin('b'), done('b'), done('c')]).events).toEqual([origin('b'), done('b')])
  })

  it('needs a step that there is, and says which there are', () => {
    expect(() => upTo('x', [done('a'), failed('b'), done('a'), { type: 'sleep.completed', id: 'nap' }])).toThrow(
      "run 'run' has no step 'x' in its history; it has: a, b",
    )
    expect(() => upTo('x')).toThrow(/it has: none$/)
  })
})
