import { describe, expect, it } from 'vitest'
import { lifecycleOf } from '../../functions/lifecycle-events.ts'
import type { JournalEvent } from '../../sdk/engine/events.ts'

const told = (...events: JournalEvent[]) => lifecycleOf({ seq: 1, at: 1_000, epoch: 1, events })
const error = { name: 'Error', message: 'no' }

describe('what a frame tells the outside', () => {
  it('a step, then a pause', () => {
    expect(told({ type: 'step.completed', id: 'a', result: 'secret' }, { type: 'sleep.started', id: 'nap', until: 9_000 })).toEqual([
      { type: 'step.completed', step: 'a', resumedFromWait: false },
      { type: 'run.paused', waitingFor: [{ kind: 'sleep', id: 'nap', until: 9_000 }] },
    ])
  })

  it('the end of a wait is a completed step that resumed from it', () => {
    expect(told({ type: 'wait.completed', id: 'go', from: 'm1' }, { type: 'wait.timedOut', id: 'stop' }, { type: 'sleep.completed', id: 'nap' })).toEqual(
      ['go', 'stop', 'nap'].map((step) => ({ type: 'step.completed', step, resumedFromWait: true })),
    )
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
    })
  })

  it('failures carry what went wrong, and neither stacks nor payloads', () => {
    const failure = { ...error, stack: 'at secret.ts:1', cause: error }
    expect(told({ type: 'step.failed', id: 'a', attempt: 3, error: failure }, { type: 'run.failed', error: failure })).toEqual([
      { type: 'step.failed', step: 'a', resumedFromWait: false, error },
      { type: 'run.failed', error },
    ])
  })

  it('a run that ends does not pause, even if it leaves waits behind', () => {
    expect(told({ type: 'sleep.started', id: 's', until: 2_000 }, { type: 'run.completed', output: 'secret', abandoned: ['s'] })).toEqual([
      { type: 'run.completed' },
    ])
    expect(told({ type: 'run.cancelled' })).toEqual([{ type: 'run.cancelled' }])
    expect(told({ type: 'run.terminated' })).toEqual([{ type: 'run.terminated' }])
  })
})
