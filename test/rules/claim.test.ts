import { describe, expect, it } from 'vitest'
import type { Frame } from '../../sdk/base/events.ts'
import { FORMAT } from '../../sdk/base/names.ts'
import { claim, renew } from '../../sdk/rules/claim.ts'
import type { Storage } from '../../sdk/rules/storage.ts'
import { decide, NOW, script, stored } from './scripted-storage.ts'

const lease = { owner: 'runner', ms: 30_000 }
const claiming = (answers: Partial<Record<keyof Storage, unknown>>) =>
  decide((storage) => claim(storage, 'run', lease), answers)
const record = { id: 'run' }
const nothing = { frames: [], inbox: [] }
const frame = (epoch: number): Frame => ({ seq: 1, at: NOW, epoch, events: [] })

describe('a claim (I7)', () => {
  it('takes an open run that is due and free, without a look beforehand', () => {
    const { calls } = claiming({ update: { ok: true, run: stored({ epoch: 1, stimulus: 0 }) }, record })
    expect(calls[0]).toStrictEqual([
      'update',
      'run',
      {
        when: { open: true, due: NOW, free: NOW, format: FORMAT },
        set: { status: 'running', leaseUntil: NOW + 30_000, owner: 'runner' },
        setOnce: { startedAt: NOW },
        bump: ['epoch', 'claims'],
      },
    ])
  })

  it('loads nothing of a run that has not been claimed before', () => {
    const { result, named } = claiming({ update: { ok: true, run: stored({ epoch: 1, stimulus: 0 }) }, record })
    expect(result).toStrictEqual({ run: record, frames: [], inbox: [], recovered: false, lastGoodEpoch: 0, deaths: 0 })
    expect(named('load')).toEqual([])
  })

  it.each([
    ['was claimed before', { epoch: 2, stimulus: 0 }],
    ['has mail', { epoch: 1, stimulus: 1 }],
    ['was made with a journal', { epoch: 1, stimulus: 0, hasSeed: true }],
  ])('loads a run that %s', (_, changes) => {
    const run = stored(changes)
    expect(claiming({ update: { ok: true, run }, record, load: nothing }).named('load')).toEqual([[run]])
  })

  it('tells when the generation began, where a frame says so', () => {
    const heading: Frame = { seq: 4, at: NOW - 10, epoch: 1, events: [{ type: 'run.continued', input: 1, dt: 3 }] }
    const update = { ok: true, run: stored({ epoch: 2 }) }
    expect(claiming({ update, record, load: { ...nothing, heading } }).result).toMatchObject({ begunAt: NOW - 7 })
    expect(claiming({ update, record, load: nothing }).result).not.toHaveProperty('begunAt')
  })

  it.each([
    ['the last holder gave it up', 1, [], false, 0],
    ['one died without a frame', 2, [], true, 1],
    ['three died, and the last frame is of nobody alive', 4, [frame(1)], true, 3],
    ['the one before this wrote the last frame, and died later', 2, [frame(4)], true, 0],
    ['somebody else took the next slot meanwhile', 3, [frame(5)], true, 0],
  ])('counts deaths: %s', (_, claims, frames, recovered, deaths) => {
    const update = { ok: true, run: stored({ epoch: 5, claims }) }
    expect(claiming({ update, record, load: { frames, inbox: [] } }).result).toMatchObject({ recovered, deaths })
  })

  it('is refused without a mark where no runner holds the run: gone, ended or not due', () => {
    for (const run of [
      undefined,
      stored({ status: 'completed' }),
      stored({ status: 'sleeping', leaseUntil: undefined }),
    ]) {
      const { result, calls } = claiming({ update: { ok: false, run } })
      expect(result).toBeUndefined()
      expect(calls).toHaveLength(1)
    }
  })

  it('of a run that a newer version wrote is refused with a sentence', () => {
    const claimOf = (format: number) => () =>
      claiming({ update: { ok: false, run: stored({ format, leaseUntil: undefined }) } })
    expect(claimOf(FORMAT + 1)).toThrow("run 'run' was written by a newer version of overwinter")
    expect(claimOf(FORMAT)).not.toThrow()
  })

  it('that meets a holder leaves a mark, so that the holder looks again (I6)', () => {
    const { result, calls } = claiming({ update: script({ ok: false, run: stored() }, { ok: true, run: stored() }) })
    expect(result).toBeUndefined()
    expect(calls[1]).toStrictEqual(['update', 'run', { when: { open: true, leased: NOW }, bump: ['stimulus'] }])
  })

  it('is tried again when the holder has let go before the mark was there', () => {
    const free = stored({ leaseUntil: undefined, epoch: 1, stimulus: 0 })
    const { result } = claiming({
      update: script({ ok: false, run: stored() }, { ok: false, run: free }, { ok: true, run: free }),
      record,
    })
    expect(result).toMatchObject({ run: record })
  })
})

describe('renewing a lease', () => {
  const renewing = (answer: unknown, heartbeat?: { step: string; at: number }) =>
    decide((storage) => renew(storage, 'run', 5, lease, heartbeat), { update: answer })

  it('prolongs it under the fence and tells the counter', () => {
    const { result, calls } = renewing({ ok: true, run: stored({ stimulus: 9 }) })
    expect(result).toEqual({ stimulus: 9 })
    expect(calls).toStrictEqual([['update', 'run', { when: { heldBy: 5 }, set: { leaseUntil: NOW + 30_000 } }]])
  })

  it('carries a heartbeat', () => {
    const heartbeat = { step: 'crawl', at: NOW }
    expect(renewing({ ok: true, run: stored() }, heartbeat).named('update')[0]![1]).toMatchObject({
      set: { heartbeat },
    })
  })

  it('tells nothing once the run is in other hands', () => {
    expect(renewing({ ok: false, run: stored({ epoch: 6 }) }).result).toBeUndefined()
  })
})
