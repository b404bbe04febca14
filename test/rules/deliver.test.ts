import { describe, expect, it } from 'vitest'
import type { Message } from '../../sdk/ports/run.ts'
import { deliver } from '../../sdk/rules/deliver.ts'
import type { Storage } from '../../sdk/rules/storage.ts'
import { decide, NOW, script, stored } from './scripted-storage.ts'

const signal: Message = { id: 'm1', kind: 'signal', name: 'go' }
const cancel: Message = { id: 'm2', kind: 'cancel' }
const held = stored()
const asleep = stored({ status: 'sleeping', leaseUntil: undefined, wakeAt: NOW + 60_000 })
const delivering = (answers: Partial<Record<keyof Storage, unknown>>, message: Message = signal) =>
  decide((storage) => deliver(storage, 'run', message), {
    putMessage: 'new',
    update: { ok: true, run: held },
    ...answers,
  })
const NOW_WAKE = [{ runId: 'run', at: NOW }]

describe('a message', () => {
  it('to a run that is missing or has ended is not stored', () => {
    const missing = delivering({ find: undefined })
    expect(missing.result).toEqual({ outcome: 'missing', wakes: [] })
    const ended = delivering({ find: stored({ status: 'failed' }) })
    expect(ended.result).toEqual({ outcome: 'ended', wakes: [] })
    for (const { named } of [missing, ended]) expect(named('putMessage')).toEqual([])
  })

  it('is there before the counter is bumped (I6)', () => {
    const { result, calls } = delivering({ find: held })
    expect(result).toEqual({ outcome: 'accepted', wakes: [] })
    expect(calls).toStrictEqual([
      ['find', 'run'],
      ['putMessage', held, signal],
      ['update', held, { when: { open: true, leased: NOW }, bump: ['stimulus'] }],
    ])
  })

  it('that the run has had is a duplicate, and moves nothing', () => {
    const { result, named } = delivering({ find: held, putMessage: 'consumed' })
    expect(result).toEqual({ outcome: 'duplicate', wakes: [] })
    expect(named('update')).toEqual([])
  })

  it('that still waits is a duplicate, and wakes the run all the same: its first sender may have died', () => {
    const { result } = delivering({ find: asleep, putMessage: 'waiting' })
    expect(result).toEqual({ outcome: 'duplicate', wakes: NOW_WAKE })
  })

  it('wakes a run that sleeps', () => {
    const { result, named } = delivering({ find: asleep })
    expect(result).toEqual({ outcome: 'accepted', wakes: NOW_WAKE })
    const when = { open: true, free: NOW, notStatus: ['stuck', 'pending', 'queued'] }
    expect(named('update')[0]![1]).toStrictEqual({ when, set: { wakeAt: NOW }, bump: ['stimulus'] })
  })

  it('wakes a run that waits without a time', () => {
    expect(delivering({ find: stored({ status: 'waiting', leaseUntil: undefined }) }).result.wakes).toEqual(NOW_WAKE)
  })

  it.each([NOW - 5, NOW])('leaves the time of a run that is overdue as it is', (wakeAt) => {
    const { result, named } = delivering({ find: stored({ status: 'sleeping', leaseUntil: undefined, wakeAt }) })
    expect(result.wakes).toEqual([{ runId: 'run', at: wakeAt }])
    const when = { open: true, free: NOW, notStatus: ['stuck', 'pending', 'queued'], due: NOW }
    expect(named('update')[0]![1]).toStrictEqual({ when, bump: ['stimulus'] })
  })

  it.each(['stuck', 'pending', 'queued'] as const)('waits with a run that is %s', (status) => {
    const { result, named } = delivering({ find: stored({ status, leaseUntil: undefined }) })
    expect(result).toEqual({ outcome: 'accepted', wakes: [] })
    expect(named('update')[0]![1]).toStrictEqual({
      when: { open: true, status: ['stuck', 'pending', 'queued'] },
      bump: ['stimulus'],
    })
  })

  it('that cancels wakes a run before its time, but not one that is stuck', () => {
    expect(
      delivering({ find: stored({ status: 'pending', leaseUntil: undefined, wakeAt: NOW + 9 }) }, cancel).result.wakes,
    ).toEqual(NOW_WAKE)
    const { result, named } = delivering({ find: stored({ status: 'stuck', leaseUntil: undefined }) }, cancel)
    expect(result.wakes).toEqual([])
    expect(named('update')[0]![1]).toMatchObject({ when: { status: ['stuck'] } })
  })

  it('meets the run as it is when the guard refuses: then the next look decides', () => {
    const { result, calls } = delivering({
      find: held,
      update: script({ ok: false, run: asleep }, { ok: true, run: asleep }),
    })
    expect(result).toEqual({ outcome: 'accepted', wakes: NOW_WAKE })
    expect(calls.at(-1)![1]).toBe(asleep)
  })

  it('to a run that ends or goes in between is answered with that', () => {
    const to = (run: unknown) => delivering({ find: held, putMessage: 'waiting', update: { ok: false, run } }).result
    expect(to(stored({ status: 'completed' }))).toEqual({ outcome: 'ended', wakes: [] })
    expect(to(undefined)).toEqual({ outcome: 'missing', wakes: [] })
  })
})
