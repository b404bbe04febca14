import { describe, expect, it } from 'vitest'
import type { Outgoing } from '../../sdk/ports/commit.ts'
import type { NewRun, ParentLink } from '../../sdk/ports/run.ts'
import { sendOutgoing } from '../../sdk/rules/outgoing.ts'
import type { Storage } from '../../sdk/rules/storage.ts'
import { decide, NOW, script, stored } from './scripted-storage.ts'

const from = stored({ id: 'parent' })
const parent: ParentLink = { runId: 'parent', op: 'kid', generation: 1 }
const newChild = (changes: Partial<NewRun> = {}) =>
  ({ id: 'child', workflow: 'order', input: { b: 1, a: 2 }, wakeAt: NOW + 5, parent, ...changes }) as NewRun
const sending = (item: Outgoing, answers: Partial<Record<keyof Storage, unknown>>) => {
  const usual = { find: from, putMessage: 'new', update: { ok: true, run: from } }
  const { result, ...rest } = decide((storage) => sendOutgoing(storage, from, [item]), { ...usual, ...answers })
  return { result: result.wakes, ...rest }
}
const starting = (
  there: Parameters<typeof stored>[0],
  child: Partial<NewRun>,
  answers: Partial<Record<keyof Storage, unknown>> = {},
) =>
  sending(
    { kind: 'start', run: newChild(child) },
    { insert: { inserted: false, run: stored({ id: 'child', ...there }) }, ...answers },
  )

/** A journal whose last frame, in this slot, says how the run ended. */
const endedIn = (seq: number, event: object = { type: 'run.completed', output: 7 }) => [
  { seq: seq - 1, events: [] },
  { seq, events: [event] },
]
const underWay = [{ seq: 1, events: [{ type: 'step.completed', id: 'a' }] }]

describe('starting a child', () => {
  it('wakes it when it is new', () => {
    const { result } = sending(
      { kind: 'start', run: newChild() },
      { insert: { inserted: true, run: stored({ id: 'child' }) } },
    )
    expect(result).toEqual([{ runId: 'child', at: NOW + 5 }])
  })

  it('a second time does nothing while it is under way', () => {
    const { result, calls } = starting({ parent }, {})
    expect(result).toEqual([])
    expect(calls.map(([name]) => name)).toEqual(['insert'])
  })

  it('without a parent does nothing when the run is there', () => {
    const { result, calls } = starting({}, { parent: undefined })
    expect(result).toEqual([])
    expect(calls.map(([name]) => name)).toEqual(['insert'])
  })

  it('takes a parent of format 1, which says no generation, for the first', () => {
    expect(
      starting({ parent: { runId: 'parent', op: 'kid' } }, { parent: { ...parent, generation: 0 } }).calls,
    ).toHaveLength(1)
    expect(
      starting({ parent: { runId: 'parent', op: 'kid', generation: 0 } }, { parent: { runId: 'parent', op: 'kid' } })
        .calls,
    ).toHaveLength(1)
  })

  it('that has ended meanwhile tells the parent of its end, under the slot of its last frame', () => {
    const { calls } = starting({ status: 'completed', parent, baseSeq: 2 }, {}, { frames: endedIn(5) })
    expect(calls.find(([name]) => name === 'frames')).toEqual(['frames', expect.objectContaining({ id: 'child' }), 3])
    const message = {
      id: 'child child 5 g1',
      kind: 'child',
      run: 'child',
      op: 'kid',
      generation: 1,
      status: 'completed',
      result: 7,
    }
    expect(calls.find(([name]) => name === 'putMessage')).toEqual(['putMessage', from, message])
  })

  it('that failed tells with what', () => {
    const error = { name: 'Error', message: 'no' }
    const { named } = starting({ status: 'failed', parent }, {}, { frames: endedIn(4, { type: 'run.failed', error }) })
    expect(named('putMessage')[0]![1]).toMatchObject({ id: 'child child 4 g1', status: 'failed', error })
  })

  it('that was retried meanwhile has no end to report', () => {
    const { result, named } = starting(
      { status: 'failed', parent },
      {},
      { frames: endedIn(4, { type: 'run.retried' }) },
    )
    expect(result).toEqual([])
    expect(named('putMessage')).toEqual([])
  })

  it.each<[string, Parameters<typeof stored>[0], Partial<NewRun>, unknown]>([
    ['a run without a parent', { parent: undefined }, {}, newChild().input],
    ['another parent’s child', { parent: { ...parent, runId: 'stranger', generation: 0 } }, {}, newChild().input],
    ['another call of this generation', { parent: { ...parent, op: 'other' } }, {}, newChild().input],
    ['a call of a later generation', { parent: { ...parent, generation: 2 } }, {}, newChild().input],
    ['another workflow', { parent: { ...parent, generation: 0 }, workflow: 'other' }, {}, newChild().input],
    ['another input', { parent: { ...parent, generation: 0 } }, {}, { a: 2, b: 2 }],
  ])('under an id that belongs to %s is reported as a conflict', (_, there, child, input) => {
    const { named } = starting(there, child, { record: { input } })
    expect(named('putMessage')).toEqual([
      [
        from,
        {
          id: 'refused 5 kid',
          kind: 'child',
          run: 'child',
          op: 'kid',
          generation: 1,
          status: 'failed',
          error: { name: 'ConflictError', message: expect.stringContaining("'child' belongs to another run") },
        },
      ],
    ])
  })

  it('reports a conflict of a parent of format 1 without a generation', () => {
    const { named } = starting({}, { parent: { runId: 'parent', op: 'kid' } })
    expect(named('putMessage')[0]![1]).toMatchObject({ id: 'refused 5 kid', op: 'kid', status: 'failed' })
    expect(named('putMessage')[0]![1]).not.toHaveProperty('generation')
  })

  it('reports a conflict to every holder of the parent anew: after a retry it has to be said again', () => {
    const answers = {
      insert: { inserted: false, run: stored({ id: 'child' }) },
      find: from,
      putMessage: 'new',
      update: { ok: true, run: from },
    }
    const idFor = (epoch: number) =>
      decide(
        (storage) => sendOutgoing(storage, stored({ id: 'parent', epoch }), [{ kind: 'start', run: newChild() }]),
        answers,
      ).named('putMessage')[0]![1]
    expect([idFor(5), idFor(6)]).toMatchObject([{ id: 'refused 5 kid' }, { id: 'refused 6 kid' }])
  })

  it('that an earlier generation started adopts it: from now on it answers to this call', () => {
    const earlier = { parent: { runId: 'parent', op: 'other' } }
    const { result, named } = starting(earlier, {}, { record: { input: { a: 2, b: 1 } }, frames: underWay })
    expect(result).toEqual([])
    expect(named('update')).toEqual([
      [expect.objectContaining({ id: 'child' }), { when: { open: true }, set: { parent } }],
    ])
    expect(named('putMessage')).toEqual([])
  })

  it('that an earlier generation started and that has ended only tells of its end', () => {
    const answers = { record: { input: { a: 2, b: 1 } }, frames: endedIn(2) }
    const { named } = starting({ parent: { ...parent, generation: 0 }, status: 'completed' }, {}, answers)
    expect(named('update').map(([run]) => (run as { id: string }).id)).toEqual(['parent'])
    expect(named('putMessage')).toHaveLength(1)
  })

  it('that ends while it is adopted, in its journal or for good, tells of its end; one that goes does not', () => {
    const earlier = { parent: { ...parent, generation: 0 } }
    const record = { input: newChild().input }
    const inJournal = starting(earlier, {}, { record, frames: endedIn(2) })
    expect(inJournal.named('putMessage')).toHaveLength(1)
    const update = script({ ok: false, run: stored({ status: 'completed' }) }, { ok: true, run: from })
    expect(starting(earlier, {}, { record, frames: endedIn(2), update }).named('putMessage')).toHaveLength(1)
    const gone = starting(earlier, {}, { record, frames: [], update: { ok: false, run: undefined } })
    expect(gone.result).toEqual([])
    expect(gone.named('putMessage')).toEqual([])
  })
})

describe('asking for a child that was started', () => {
  const asking = (
    there: Parameters<typeof stored>[0] | undefined,
    answers: Partial<Record<keyof Storage, unknown>> = {},
  ) =>
    sending(
      { kind: 'start', run: newChild(), isThere: true },
      { find: script(there && stored({ id: 'child', ...there }), from), ...answers },
    )

  it('does nothing while it is under way, and never starts it', () => {
    const { result, named } = asking({ parent }, { frames: underWay })
    expect(result).toEqual([])
    expect([...named('insert'), ...named('putMessage')]).toEqual([])
  })

  it('that has ended tells the parent of its end', () => {
    // Its own record may not say so yet: the journal is the truth.
    const { named } = asking({ parent, status: 'running' }, { frames: endedIn(5) })
    const message = {
      id: 'child child 5 g1',
      kind: 'child',
      run: 'child',
      op: 'kid',
      generation: 1,
      status: 'completed',
      result: 7,
    }
    expect(named('putMessage')).toEqual([[from, message]])
    expect(named('insert')).toEqual([])
  })

  it('that is past its retention tells the parent that it is gone', () => {
    const { named } = asking(undefined)
    const error = { name: 'RunNotFoundError', message: "child run 'child' is gone: its retention has passed" }
    expect(named('putMessage')).toEqual([
      [from, { id: 'refused 5 kid', kind: 'child', run: 'child', op: 'kid', generation: 1, status: 'failed', error }],
    ])
    expect(named('insert')).toEqual([])
  })

  it.each(['completed', 'running'] as const)(
    'whose id belongs to another run by now (%s) tells the parent that it is gone',
    (status) => {
      const { named } = asking({ status, workflow: 'stranger' }, { frames: endedIn(2) })
      expect(named('putMessage')).toMatchObject([[from, { id: 'refused 5 kid', status: 'failed' }]])
    },
  )
})

describe('what a commit causes elsewhere', () => {
  const asleep = stored({ id: 'other', status: 'sleeping', leaseUntil: undefined })

  it('tells of the wakes of what it delivers and terminates, in order', () => {
    const deliver: Outgoing = { kind: 'deliver', to: 'other', message: { id: 'm1', kind: 'signal', name: 'go' } }
    const {
      result: { wakes },
    } = decide((storage) => sendOutgoing(storage, from, [deliver, { kind: 'start', run: newChild() }]), {
      find: asleep,
      putMessage: 'new',
      update: { ok: true, run: asleep },
      insert: { inserted: true, run: stored() },
    })
    expect(wakes).toEqual([
      { runId: 'other', at: NOW },
      { runId: 'child', at: NOW + 5 },
    ])
  })

  it('dispatches tasks and withdraws them, which sends no wake-up', () => {
    const task = { id: 'run.step', generation: 0, round: 0, life: 1 }
    const dispatched = sending({ kind: 'dispatch', task } as Outgoing, { putTask: { ok: true, task } })
    expect(dispatched.result).toEqual([])
    expect(dispatched.calls.map(([name]) => name)).toEqual(['putTask', 'announceTask'])
    const withdrawn = sending({ kind: 'withdraw', task } as Outgoing, { findTask: undefined })
    expect(withdrawn.result).toEqual([])
    expect(withdrawn.calls).toEqual([['findTask', 'run.step']])
  })
})
