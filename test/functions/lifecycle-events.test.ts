import { describe, expect, it } from 'vitest'
import { lifecycleOf } from '../../functions/lifecycle-events.ts'
import { statusChangeOf } from '../../functions/status-change.ts'
import type { JournalEvent } from '../../sdk/base/events.ts'
import type { RunItem } from '../../sdk/worlds/aws/run-item.ts'

const told = (...events: JournalEvent[]) => lifecycleOf({ seq: 1, at: 1_000, epoch: 1, events })
const error = { name: 'Error', message: 'no' }

describe('what a frame tells the outside', () => {
  it('a step, then a pause', () => {
    expect(
      told({ type: 'step.completed', id: 'a', result: 'secret' }, { type: 'sleep.started', id: 'nap', until: 9_000 }),
    ).toEqual([
      { type: 'step.completed', step: 'a', resumedFromWait: false },
      { type: 'run.paused', waitingFor: [{ kind: 'sleep', id: 'nap', until: 9_000 }], waits: 1 },
    ])
  })

  it('the end of a wait is a completed step that resumed from it', () => {
    expect(
      told(
        { type: 'wait.completed', id: 'go', from: 'm1' },
        { type: 'wait.timedOut', id: 'stop' },
        { type: 'sleep.completed', id: 'nap' },
      ),
    ).toEqual(['go', 'stop', 'nap'].map((step) => ({ type: 'step.completed', step, resumedFromWait: true })))
  })

  it('several waits are one pause, without those that are over already', () => {
    expect(
      told(
        { type: 'wait.started', id: 'w', signal: 'go' },
        { type: 'child.started', id: 'c', run: 'child-1', workflow: 'x', version: 1, onParentEnd: 'cancel' },
        { type: 'sleep.started', id: 's', until: 2_000 },
        { type: 'sleep.completed', id: 's' },
        { type: 'step.retrying', id: 'r', attempt: 1, error, until: 3_000 },
      ).at(-1),
    ).toEqual({
      type: 'run.paused',
      waitingFor: [
        { kind: 'signal', id: 'w', on: 'go' },
        { kind: 'child', id: 'c', on: 'child-1' },
        { kind: 'retry', id: 'r', until: 3_000 },
      ],
      waits: 3,
    })
  })

  it('an until whose first round was in vain is a pause; what a race went on without is none', () => {
    expect(
      told(
        { type: 'step.repeating', id: 'there', until: 9_000 },
        { type: 'wait.started', id: 'r/a/go', signal: 'go' },
        { type: 'decided', id: 'r', won: ['b'], withdrawn: ['r/a/go'] },
      ),
    ).toEqual([{ type: 'run.paused', waitingFor: [{ kind: 'until', id: 'there', until: 9_000 }], waits: 1 }])
  })

  it('failures carry what went wrong, and neither stacks nor payloads', () => {
    const failure = { ...error, stack: 'at secret.ts:1', cause: error }
    expect(
      told({ type: 'step.failed', id: 'a', attempt: 3, error: failure }, { type: 'run.failed', error: failure }),
    ).toEqual([
      { type: 'step.failed', step: 'a', resumedFromWait: false, error },
      { type: 'run.failed', error },
    ])
  })

  it('a run that ends does not pause, even if it leaves waits behind', () => {
    expect(
      told(
        { type: 'sleep.started', id: 's', until: 2_000 },
        { type: 'run.completed', output: 'secret', abandoned: ['s'] },
      ),
    ).toEqual([{ type: 'run.completed' }])
    expect(told({ type: 'run.cancelled' })).toEqual([{ type: 'run.cancelled' }])
    expect(told({ type: 'run.terminated' })).toEqual([{ type: 'run.terminated' }])
  })

  it('thousands of waits are told in an entry that a bus takes', () => {
    const [paused] = told(
      ...Array.from(
        { length: 3_000 },
        (_, i): JournalEvent => ({ type: 'sleep.started', id: `${'n'.repeat(90)}${i}`, until: 9_000 }),
      ),
    )
    expect(paused).toMatchObject({ type: 'run.paused', waits: 3_000 })
    expect(JSON.stringify(paused).length).toBeLessThan(20_000)
  })
})

describe('a change of status', () => {
  const run = (changes: Partial<RunItem> = {}) =>
    ({
      pk: 'RUN#r',
      sk: 'RUN',
      life: 'one',
      workflow: 'w',
      version: 2,
      status: 'pending',
      epoch: 0,
      stimulus: 0,
      secret: 's',
      createdAt: 0,
      ...changes,
    }) as RunItem

  it('is told when a run begins, with what rules filter by and no payload', () => {
    expect(statusChangeOf(run({ tags: ['customer:42'], input: 'secret' as never }), undefined)).toEqual({
      id: 'r/one/0/pending',
      runId: 'r',
      workflow: 'w',
      version: 2,
      status: 'PENDING',
      tags: ['customer:42'],
      generation: 0,
      createdAt: '1970-01-01T00:00:00.000Z',
    })
  })

  it('is told when it fails or is stuck, with the reason, and when it is let go on', () => {
    const why = { name: 'Error', message: 'no' }
    const stuck = run({ status: 'stuck', epoch: 3, why })
    expect(statusChangeOf(stuck, run({ status: 'running', epoch: 3 }))).toMatchObject({
      status: 'STUCK',
      previousStatus: 'RUNNING',
      error: why,
    })
    expect(
      statusChangeOf(run({ status: 'failed', epoch: 3, endedAt: 5, why }), run({ status: 'running', epoch: 3 })),
    ).toMatchObject({
      status: 'FAILED',
      error: why,
    })
    expect(statusChangeOf(run({ epoch: 3 }), stuck)).toMatchObject({ status: 'PENDING', previousStatus: 'STUCK' })
  })

  it('is not told for what a run does all the time, nor twice', () => {
    const sleeping = run({ status: 'sleeping', epoch: 1 })
    expect(statusChangeOf(run({ status: 'running', epoch: 2 }), sleeping)).toBeUndefined()
    expect(statusChangeOf(sleeping, run({ status: 'running', epoch: 1 }))).toBeUndefined()
    // Released in good order, or continued as new.
    expect(statusChangeOf(run({ epoch: 1 }), run({ status: 'running', epoch: 1 }))).toBeUndefined()
    const done = run({ status: 'completed', epoch: 1, endedAt: 5 })
    expect(statusChangeOf({ ...done, keepUntil: 9 }, done)).toBeUndefined()
  })

  it('is not told when a failed run is made ready to be erased', () => {
    const failed = run({ status: 'failed', epoch: 1, endedAt: 5 })
    expect(statusChangeOf(run({ status: 'terminated', epoch: 1, endedAt: 5 }), failed)).toBeUndefined()
  })

  it('is that of another run where an id is used again', () => {
    const done = run({ status: 'completed', epoch: 1, endedAt: 5 })
    const again = statusChangeOf(run({ life: 'two' }), done)
    expect(again).toMatchObject({ id: 'r/two/0/pending', status: 'PENDING' })
    expect(again).not.toHaveProperty('previousStatus')
  })
})
