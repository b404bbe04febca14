import { describe, expect, it } from 'vitest'
import type { Frame, TerminalEvent } from '../../sdk/base/events.ts'
import { outcomeOf } from '../../sdk/engine/ending.ts'
import type { Commit, Next } from '../../sdk/ports/commit.ts'
import type { Waiting } from '../../sdk/ports/run.ts'
import { commit, isFinal, KEYS_KEPT_MS } from '../../sdk/rules/commit.ts'
import type { Storage } from '../../sdk/rules/storage.ts'
import { decide, NOW, stored } from './scripted-storage.ts'

const run = stored()
const frame: Frame = { seq: 3, at: NOW, epoch: 5, events: [] }
const error = { name: 'Error', message: 'no' }
const UNHELD = { leaseUntil: undefined, owner: undefined }
const FREED = { ...UNHELD, claims: undefined, spared: undefined }
const suspend: Extract<Next, { kind: 'suspend' }> = { kind: 'suspend', status: 'waiting', waitingFor: [], seen: 2 }

function committing(said: Partial<Commit>, answers: Partial<Record<keyof Storage, unknown>> = {}) {
  return decide((storage) => commit(storage, { runId: 'run', epoch: 5, next: { kind: 'keep' }, ...said }), {
    held: run,
    append: true,
    update: { ok: true, run: stored({ stimulus: 7 }) },
    ...answers,
  })
}
const changeOf = (next: Commit['next'], rest: Partial<Commit> = {}) =>
  committing({ next, ...rest }).named('update')[0]![1]

describe('a commit', () => {
  it('of a runner that has lost the run does nothing', () => {
    const { result, calls } = committing({ frame }, { held: undefined })
    expect(result).toEqual({ ok: false })
    expect(calls).toEqual([['held', 'run', 5]])
  })

  it('that loses its slot does nothing more (I1)', () => {
    const { result, calls } = committing({ frame, next: suspend }, { append: false })
    expect(result).toEqual({ ok: false })
    expect(calls.map(([name]) => name)).toEqual(['held', 'append'])
  })

  it('of a frame alone writes the frame alone', () => {
    const { result, calls } = committing({ frame })
    expect(result).toEqual({ ok: true, suspended: false, wakes: [] })
    expect(calls.slice(1)).toEqual([['append', run, frame]])
  })

  it('of progress alone shows it under the fence, and tells what has come in meanwhile', () => {
    const { result, named } = committing({ progress: 40 })
    expect(result).toEqual({ ok: true, suspended: false, stimulus: 7, wakes: [] })
    expect(named('update')).toStrictEqual([[run, { when: { heldBy: 5 }, set: { progress: 40 } }]])
  })

  it('of progress is refused once the run is in other hands', () => {
    const refused = { update: { ok: false, run: stored({ epoch: 6 }) } }
    expect(committing({ progress: 40 }, refused).result).toEqual({ ok: false })
    // Also where only something that the runner does not know of holds it up: there is nothing to look at again.
    expect(committing({ progress: 40 }, { update: { ok: false, run } }).result).toEqual({ ok: false })
  })

  it('marks what it consumed, before the run itself says anything', () => {
    const { calls } = committing({ frame, consumed: ['m1'], next: suspend })
    expect(calls.map(([name]) => name)).toEqual(['held', 'append', 'consume', 'update'])
    expect(calls[2]).toEqual(['consume', run, ['m1']])
  })

  it('that consumed nothing marks nothing', () => {
    expect(committing({ frame, consumed: [], outgoing: [] }).named('consume')).toEqual([])
    expect(committing({ frame, outgoing: [] }).named('consume')).toEqual([])
  })

  it('that causes nothing in other runs asks nothing of them', () => {
    expect(committing({ consumed: ['m1'] }).calls.map(([name]) => name)).toEqual(['held', 'consume'])
  })

  it('tells of the wakes that it caused elsewhere, together with its own', () => {
    const outgoing = [{ kind: 'start', run: { id: 'child', wakeAt: NOW } }] as unknown as Commit['outgoing']
    const answers = { insert: { inserted: true, run: stored({ id: 'child' }) } }
    const child = { runId: 'child', at: NOW }
    expect(committing({ frame, outgoing }, answers).result).toMatchObject({ wakes: [child] })
    expect(committing({ outgoing, next: { ...suspend, wakeAt: NOW + 1 } }, answers).result).toEqual({
      ok: true,
      suspended: true,
      wakes: [child, { runId: 'run', at: NOW + 1 }],
    })
  })
})

describe('suspending (I6)', () => {
  it('frees the run under the fence and the counter that was seen', () => {
    const waitingFor: Waiting[] = [{ kind: 'sleep', id: 'nap', until: NOW + 9 }]
    expect(changeOf({ ...suspend, status: 'sleeping', wakeAt: NOW + 9, waitingFor }, { frame })).toStrictEqual({
      when: { heldBy: 5, stimulus: 2 },
      set: { ...FREED, status: 'sleeping', wakeAt: NOW + 9, waitingFor },
      frame: 3,
    })
  })

  it('shows the first fifty waits', () => {
    const waitingFor: Waiting[] = Array.from({ length: 60 }, (_, i) => ({ kind: 'signal', id: `s${i}`, on: 'go' }))
    expect(changeOf({ ...suspend, waitingFor })).toMatchObject({ set: { waitingFor: waitingFor.slice(0, 50) } })
  })

  it('shows the progress that goes with it', () => {
    expect(changeOf(suspend, { progress: 40 })).toMatchObject({ set: { progress: 40 } })
    expect(changeOf(suspend)).not.toHaveProperty('set.progress')
  })

  it('without a time sends no wake-up', () => {
    expect(committing({ next: suspend }).result).toEqual({ ok: true, suspended: true, wakes: [] })
  })

  it('is put off when something came in, and tells the counter as it is now', () => {
    const update = { ok: false, run: stored({ stimulus: 3 }) }
    expect(committing({ next: suspend }, { update }).result).toEqual({
      ok: true,
      suspended: false,
      stimulus: 3,
      wakes: [],
    })
  })

  it('is refused when the run is in other hands, is not running any more, or is gone', () => {
    for (const there of [stored({ epoch: 6 }), stored({ status: 'terminated' }), undefined])
      expect(committing({ next: suspend }, { update: { ok: false, run: there } }).result).toEqual({ ok: false })
  })

  it('is the only thing that is put off: an end that is refused is lost', () => {
    const next = { kind: 'end', event: { type: 'run.completed' } } as const
    expect(committing({ next }, { update: { ok: false, run } }).result).toEqual({ ok: false })
  })
})

describe('handing a run on', () => {
  it('is for now, or for the time that is given', () => {
    const now = committing({ next: { kind: 'release' } })
    expect(now.result).toEqual({ ok: true, suspended: true, wakes: [{ runId: 'run', at: NOW }] })
    expect(now.named('update')[0]![1]).toStrictEqual({
      when: { heldBy: 5 },
      set: { ...FREED, status: 'pending', wakeAt: NOW, waitingFor: undefined },
      frame: undefined,
    })
    expect(committing({ next: { kind: 'release', wakeAt: NOW + 5 } }).result).toMatchObject({
      wakes: [{ runId: 'run', at: NOW + 5 }],
    })
  })

  it('is counted where nothing was done for the run: what goes on for ever has to be noticed', () => {
    expect(committing({ next: { kind: 'release', noProgress: true } }).named('update')[0]![1]).toStrictEqual({
      when: { heldBy: 5 },
      set: { ...UNHELD, status: 'pending', wakeAt: NOW, waitingFor: undefined },
      frame: undefined,
    })
  })

  it.each([
    ['release', { kind: 'release', effectsPending: true } as const],
    ['queue', { kind: 'queue', effectsPending: true } as const],
    ['park', { kind: 'park', error: { name: 'Error', message: 'no' }, effectsPending: true } as const],
  ])(
    'where something is left undone (%s) keeps the count of claims, and does not take this one for a death',
    (_, next) => {
      const [, { set }] = committing({ next }, { held: stored({ claims: 3, spared: 1 }), update: { ok: false } }).named(
        'update',
      )[0] as [unknown, { set: object }]
      expect(set).toMatchObject({ ...UNHELD, spared: 2 })
      expect(set).not.toHaveProperty('claims')
    },
  )

  it('to the next generation says whether its input has to be parsed again', () => {
    const next = { kind: 'continue', input: 1, attempt: 3, wakeAt: NOW + 5, reparse: true } as const
    expect(committing({ frame, next }).named('update')[0]![1]).toMatchObject({
      set: { input: 1, parsed: undefined, reparse: true },
    })
  })

  it('to the next generation drops the journal before it and forgets the old mail', () => {
    const { result, calls } = committing({
      frame,
      next: { kind: 'continue', input: 1, parsed: 2, attempt: 3, wakeAt: NOW + 5 },
    })
    expect(result).toMatchObject({ suspended: true, wakes: [{ runId: 'run', at: NOW + 5 }] })
    expect(calls.slice(2)).toStrictEqual([
      ['dropFrames', run, 3],
      ['clearMail', run, { keyedBefore: NOW - 30 * 86_400_000, othersBefore: NOW - 900_000 }],
      [
        'update',
        run,
        {
          when: { heldBy: 5 },
          set: {
            ...FREED,
            status: 'pending',
            attempt: 3,
            baseSeq: 3,
            input: 1,
            parsed: 2,
            reparse: undefined,
            wakeAt: NOW + 5,
            waitingFor: undefined,
          },
          frame: 3,
          bump: ['generation'],
        },
      ],
    ])
    expect(KEYS_KEPT_MS).toBe(30 * 86_400_000)
  })

  it('to people says why, and sends no wake-up', () => {
    const { result, named } = committing({ next: { kind: 'park', error } })
    expect(result).toEqual({ ok: true, suspended: true, wakes: [] })
    expect(named('clearMail')).toEqual([])
    expect(named('update')[0]![1]).toStrictEqual({
      when: { heldBy: 5 },
      set: { ...FREED, status: 'stuck', wakeAt: undefined, waitingFor: undefined, error: { ...error, at: NOW } },
      frame: undefined,
    })
  })
})

describe('ending', () => {
  const completed: TerminalEvent = { type: 'run.completed', output: 7 }

  it('frees the run, with its outcome and the time', () => {
    const { result, named } = committing({ next: { kind: 'end', event: completed } })
    expect(result).toEqual({ ok: true, suspended: true, wakes: [] })
    expect(named('update')[0]![1]).toStrictEqual({
      when: { heldBy: 5 },
      set: {
        ...FREED,
        wakeAt: undefined,
        waitingFor: undefined,
        heartbeat: undefined,
        status: 'completed',
        endedAt: NOW,
        output: 7,
      },
      frame: undefined,
    })
  })

  it('clears the messages and marks none of them, because they will not be read', () => {
    const { named } = committing({ consumed: ['m1'], next: { kind: 'end', event: completed } })
    expect(named('clearMail')).toEqual([[run, 'all']])
    expect(named('consume')).toEqual([])
  })

  it('as failed keeps the mail and marks what was consumed, because the run may be retried (I9)', () => {
    const { named } = committing({ consumed: ['m1'], next: { kind: 'end', event: { type: 'run.failed', error } } })
    expect(named('clearMail')).toEqual([])
    expect(named('consume')).toEqual([[run, ['m1']]])
  })

  it('is final unless it is a failure', () => {
    expect(isFinal({ type: 'run.failed', error })).toBe(false)
    expect(isFinal(completed)).toBe(true)
  })

  it('leaves an output or an error', () => {
    expect(outcomeOf(completed)).toStrictEqual({ output: 7 })
    expect(outcomeOf({ type: 'run.completed' })).toStrictEqual({})
    expect(outcomeOf({ type: 'run.failed', error })).toStrictEqual({ error })
    expect(outcomeOf({ type: 'run.cancelled' })).toStrictEqual({
      error: { name: 'CancelledError', message: 'cancelled' },
    })
    expect(outcomeOf({ type: 'run.cancelled', reason: 'late' })).toStrictEqual({
      error: { name: 'CancelledError', message: 'late' },
    })
    expect(outcomeOf({ type: 'run.terminated' })).toStrictEqual({
      error: { name: 'TerminatedError', message: 'terminated' },
    })
    expect(outcomeOf({ type: 'run.terminated', reason: 'enough' })).toStrictEqual({
      error: { name: 'TerminatedError', message: 'enough' },
    })
  })
})
