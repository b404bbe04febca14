import { describe, expect, it } from 'vitest'
import type { Frame, JournalEvent } from '../../sdk/base/events.ts'
import type { Storage } from '../../sdk/rules/storage.ts'
import { appendOutside, terminate } from '../../sdk/rules/terminate.ts'
import { decide, NOW, script, stored } from './scripted-storage.ts'

const run = stored({ baseSeq: 4 })
const frame = (seq: number, ...events: JournalEvent[]): Frame => ({ seq, at: NOW - 10, epoch: 5, events })
const done: JournalEvent = { type: 'step.completed', id: 'a', result: 1 }
const terminating = (answers: Partial<Record<keyof Storage, unknown>>) =>
  decide((storage) => terminate(storage, 'run', 'enough'), {
    find: run,
    frames: [],
    append: true,
    update: { ok: true, run },
    ...answers,
  })

describe('terminating', () => {
  it('does nothing to a run that is missing or has ended', () => {
    for (const find of [undefined, stored({ status: 'completed' })]) {
      const { result, calls } = terminating({ find })
      expect(result).toEqual({ ended: false, wakes: [] })
      expect(calls).toHaveLength(1)
    }
  })

  it('takes the next slot, clears the mail and shuts the holder out (I7)', () => {
    const { result, calls } = terminating({ frames: [frame(5, done)] })
    expect(result).toEqual({ ended: true, wakes: [] })
    expect(calls.slice(1)).toStrictEqual([
      ['frames', run, 5],
      ['append', run, { seq: 6, at: NOW, epoch: 6, events: [{ type: 'run.terminated', reason: 'enough' }] }],
      ['clearMail', run, 'all'],
      [
        'update',
        run,
        {
          when: { open: true, epoch: 5 },
          set: expect.objectContaining({ status: 'terminated', endedAt: NOW }),
          bump: ['epoch'],
          frame: 6,
        },
      ],
    ])
  })

  it('has ended the run once the slot is taken, also where another process says so in the run itself', () => {
    const ended = stored({ status: 'terminated' })
    expect(terminating({ find: script(run, ended), update: { ok: false, run: ended } }).result.ended).toBe(true)
  })

  it('looks again where another process has moved the run on behind the end in its journal: it may have been retried', () => {
    const moved = stored({ baseSeq: 4, epoch: 6 })
    const { result, named } = terminating({
      find: script(run, moved),
      frames: script([frame(5, { type: 'run.failed', error: { name: 'Error', message: 'no' } })], [frame(6, done)]),
      update: script({ ok: false, run: moved }, { ok: true, run: moved }),
    })
    expect(result.ended).toBe(true)
    expect(named('append').map(([, each]) => (each as Frame).seq)).toEqual([7])
  })

  it('looks again when another process took the slot (I1)', () => {
    const { named } = terminating({ frames: script([], [frame(5, done)]), append: script(false, true) })
    expect(named('append').map(([, each]) => (each as Frame).seq)).toEqual([5, 6])
  })

  it('carries through the end that the journal already has, and does not claim it as its own', () => {
    const ended = frame(5, done, { type: 'run.completed', output: 7 })
    const carried = terminating({ frames: [ended] })
    expect(carried.result).toEqual({ ended: true, wakes: [] })
    expect(carried.named('append')).toEqual([])
    expect(carried.named('update')[0]![1]).toMatchObject({ set: { status: 'completed', output: 7 }, frame: 5 })
    const find = script(run, stored({ status: 'completed' }))
    expect(terminating({ find, frames: [ended], update: { ok: false, run } }).result.ended).toBe(false)
  })

  it('keeps the mail of a run whose journal says that it failed: it may be retried (I9)', () => {
    const failed = frame(5, { type: 'run.failed', error: { name: 'Error', message: 'no' } })
    expect(terminating({ frames: [failed] }).named('clearMail')).toEqual([])
  })

  it('tells the children that the journal knows of, before the run itself says anything', () => {
    const child: JournalEvent = {
      type: 'child.started',
      id: 'kid',
      run: 'child',
      workflow: 'order',
      version: 1,
      onParentEnd: 'cancel',
    }
    const { calls } = terminating({
      find: script(run, stored({ id: 'child' })),
      frames: [frame(5, child)],
      putMessage: 'new',
    })
    expect(calls.map(([name]) => name)).toEqual([
      'find',
      'frames',
      'append',
      'find',
      'putMessage',
      'update',
      'clearMail',
      'update',
    ])
  })
})

describe('a word from outside in the journal', () => {
  const appending = (frames: Frame[], append = true) =>
    decide((storage) => appendOutside(storage, run, frames, { type: 'run.retried' }), { append })

  it('is the first of an empty journal', () => {
    expect(appending([]).result).toEqual({ seq: 5, at: NOW, epoch: 6, events: [{ type: 'run.retried' }] })
  })

  it('is not older than the last event, wherever the clock is', () => {
    const last: Frame = { seq: 9, at: NOW + 50, epoch: 5, events: [done, { ...done, dt: 3 }, { ...done, dt: 7 }] }
    expect(appending([last]).result).toMatchObject({ seq: 10, at: NOW + 57 })
    expect(appending([{ ...last, events: [] }]).result).toMatchObject({ at: NOW + 50 })
  })

  it('is nothing when the slot was taken', () => {
    expect(appending([], false).result).toBeUndefined()
  })
})
