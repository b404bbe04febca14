import { describe, expect, it } from 'vitest'
import type { EventOf } from '../../sdk/base/events.ts'
import { FORMAT } from '../../sdk/base/names.ts'
import { park, revive } from '../../sdk/rules/rescue.ts'
import type { Storage } from '../../sdk/rules/storage.ts'
import { decide, NOW, stored } from './scripted-storage.ts'

type Answers = Partial<Record<keyof Storage, unknown>>
const free = { leaseUntil: undefined }

describe('letting a run go on', () => {
  const retried: EventOf<'run.retried'> = { type: 'run.retried' }
  const failed = stored({ ...free, status: 'failed', claims: 0, baseSeq: 4 })
  const stuck = stored({ ...free, status: 'stuck', claims: 0 })
  const reviving = (find: unknown, event: typeof retried | undefined, answers: Answers = {}) =>
    decide((storage) => revive(storage, 'run', event), {
      find,
      frames: [],
      append: true,
      update: { ok: true, run: stored() },
      ...answers,
    })
  const set = { status: 'pending', error: undefined, endedAt: undefined, wakeAt: NOW }

  it('wakes a stuck one, with no word in its journal', () => {
    const { result, calls } = reviving(stuck, undefined)
    expect(result).toEqual({ revived: true, wakes: [{ runId: 'run', at: NOW }] })
    expect(calls.slice(1)).toStrictEqual([['update', stuck, { when: { status: ['stuck'] }, set }]])
  })

  it('puts a word in the journal of a failed one first', () => {
    const { result, calls } = reviving(failed, retried)
    expect(result.revived).toBe(true)
    expect(calls.slice(1)).toStrictEqual([
      ['frames', failed, 5],
      ['append', failed, { seq: 5, at: NOW, epoch: 6, events: [retried] }],
      ['update', failed, { when: { status: ['failed'] }, set }],
    ])
  })

  it('does not journal it twice: its writer may have died before the run said so', () => {
    const frames = [{ seq: 5, at: NOW, epoch: 6, events: [{ type: 'step.failed' }, { type: 'run.failed' }, retried] }]
    const { result, named } = reviving(failed, retried, { frames })
    expect(result.revived).toBe(true)
    expect(named('append')).toEqual([])
  })

  it('is for another process when the slot or the run is taken', () => {
    const lost = reviving(failed, retried, { append: false })
    expect(lost.result).toEqual({ revived: false, wakes: [] })
    expect(lost.named('update')).toEqual([])
    expect(reviving(stuck, undefined, { update: { ok: false, run: stored() } }).result).toEqual({
      revived: false,
      wakes: [],
    })
  })

  it('is refused where there is nothing to do: another state, or no run', () => {
    for (const [find, event] of [
      [stuck, retried],
      [failed, undefined],
      [undefined, undefined],
      [stored({ status: 'completed' }), retried],
    ] as const) {
      const { result, calls } = reviving(find, event)
      expect(result).toEqual({ revived: false, wakes: [] })
      expect(calls).toHaveLength(1)
    }
  })

  it('keeps the claims, so that the next runner makes up for what is missing (I5), and holds no death against it', () => {
    expect(reviving(stored({ ...free, status: 'stuck', claims: 3 }), undefined).named('update')[0]![1]).toMatchObject({
      set: { spared: 3 },
    })
  })
})

describe('parking from outside', () => {
  const error = { name: 'UnreadableRunError', message: 'too large' }
  const due = stored({ ...free, status: 'sleeping', wakeAt: NOW })
  const parking = (find: unknown, update: unknown = { ok: true, run: stored() }) =>
    decide((storage) => park(storage, 'run', error), { find, update })

  it('is on the terms of a claim, shuts the last holder out, and keeps the count of claims', () => {
    const { result, calls } = parking(due)
    expect(result).toBe('parked')
    const set = {
      leaseUntil: undefined,
      owner: undefined,
      wakeAt: undefined,
      waitingFor: undefined,
      status: 'stuck',
      error: { ...error, at: NOW },
      claims: due.claims + 1,
    }
    expect(calls.slice(1)).toStrictEqual([
      ['update', due, { when: { open: true, due: NOW, free: NOW }, set, bump: ['epoch'] }],
    ])
  })

  it('is not for a run that is gone, not due, or without a wake-up', () => {
    for (const find of [undefined, stored({ ...free, wakeAt: NOW + 1 }), stored(free)]) {
      const { result, calls } = parking(find)
      expect(result).toBe('moved-on')
      expect(calls).toHaveLength(1)
    }
  })

  it('is not for a run that a runner holds', () => {
    expect(parking(stored({ wakeAt: NOW })).result).toBe('leased')
  })

  it('leaves a run alone that no runner has claimed since it was last released, where that is asked for', () => {
    const parkingClaimed = (run: unknown) =>
      decide((storage) => park(storage, 'run', error, { ifClaimed: true }), {
        find: run,
        update: { ok: true, run: stored() },
      })
    for (const untouched of [{ claims: 0 }, { claims: 3, spared: 3 }]) {
      const { result, calls } = parkingClaimed(stored({ ...free, wakeAt: NOW, ...untouched }))
      expect(result).toBe('unclaimed')
      expect(calls).toHaveLength(1)
    }
    expect(parkingClaimed(stored({ ...free, wakeAt: NOW, claims: 4, spared: 3 })).result).toBe('parked')
    // Its claims are refused before they count, and always will be.
    expect(parkingClaimed(stored({ ...free, wakeAt: NOW, claims: 0, format: FORMAT + 1 })).result).toBe('parked')
  })

  it('tells what became of a run that changed under its hands', () => {
    expect(parking(due, { ok: false, run: stored() }).result).toBe('leased')
    expect(parking(due, { ok: false, run: stored(free) }).result).toBe('moved-on')
    expect(parking(due, { ok: false, run: undefined }).result).toBe('moved-on')
  })
})
