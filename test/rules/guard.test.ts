import { describe, expect, it } from 'vitest'
import { changed, expiryOf, holds, isGone, isLeased } from '../../sdk/rules/guard.ts'
import { refuseNewer, refuseTooLarge, UnreadableRunError } from '../../sdk/rules/limits.ts'
import type { Guard } from '../../sdk/rules/storage.ts'
import { NOW, stored } from './scripted-storage.ts'

const free = { leaseUntil: undefined }

describe('a guard', () => {
  it.each<[string, Guard, Parameters<typeof stored>[0], boolean]>([
    ['that asks for nothing', {}, { status: 'completed' }, true],
    ['open, of an open run', { open: true }, {}, true],
    ['open, of an ended one', { open: true }, { status: 'terminated' }, false],
    ['one of several states', { status: ['stuck', 'running'] }, {}, true],
    ['another state', { status: ['stuck'] }, {}, false],
    ['none of several states', { notStatus: ['stuck'] }, {}, true],
    ['a state that is excluded', { notStatus: ['running'] }, {}, false],
    ['due at the very time', { due: NOW }, { wakeAt: NOW }, true],
    ['due, a moment early', { due: NOW }, { wakeAt: NOW + 1 }, false],
    ['due, of a run that nobody wants woken', { due: NOW }, { wakeAt: undefined }, false],
    ['free, where nobody holds it', { free: NOW }, free, true],
    ['free, where a lease ends at the very time', { free: NOW }, { leaseUntil: NOW }, true],
    ['free, where a lease lives', { free: NOW }, { leaseUntil: NOW + 1 }, false],
    ['leased, where a lease lives', { leased: NOW }, { leaseUntil: NOW + 1 }, true],
    ['leased, where nobody holds it', { leased: NOW }, free, false],
    ['held, by this holder', { heldBy: 5 }, {}, true],
    ['held, by another', { heldBy: 4 }, {}, false],
    ['held, of a run that is not running any more', { heldBy: 5 }, { status: 'sleeping' }, false],
    ['the counter that was seen', { stimulus: 2 }, {}, true],
    ['a counter that has moved', { stimulus: 1 }, {}, false],
    ['this format', { format: 2 }, { format: 2 }, true],
    ['an older format', { format: 2 }, { format: 1 }, true],
    ['a newer format', { format: 2 }, { format: 3 }, false],
    ['all of it, one part of which fails', { open: true, heldBy: 5, stimulus: 1 }, {}, false],
  ])('%s', (_, guard, run, expected) => {
    expect(holds(guard, stored(run))).toBe(expected)
  })
})

describe('a lease', () => {
  it('lives until its time, and not at it', () => {
    expect(isLeased({ leaseUntil: NOW + 1 }, NOW)).toBe(true)
    expect(isLeased({ leaseUntil: NOW }, NOW)).toBe(false)
    expect(isLeased({}, NOW)).toBe(false)
  })
})

describe('a change', () => {
  const run = stored({ wakeAt: NOW, parent: { runId: 'parent', op: 'kid' } })

  it('sets what the rules look at, and leaves the run it was made from as it was', () => {
    const before = { ...run }
    const set = {
      status: 'pending',
      wakeAt: NOW + 1,
      leaseUntil: NOW + 2,
      baseSeq: 7,
      endedAt: NOW,
      parent: { runId: 'other', op: 'kid' },
    } as const
    expect(changed(run, { when: {}, set })).toStrictEqual({ ...run, ...set })
    expect(run).toStrictEqual(before)
  })

  it('empties a field that is there with undefined, and leaves those that are not there', () => {
    const ended = { ...run, endedAt: NOW }
    const next = changed(ended, { when: {}, set: { wakeAt: undefined, leaseUntil: undefined, endedAt: undefined } })
    expect(next).toStrictEqual({ ...ended, wakeAt: undefined, leaseUntil: undefined, endedAt: undefined })
    expect(changed(ended, { when: {}, set: { leaseUntil: undefined } })).toStrictEqual({
      ...ended,
      leaseUntil: undefined,
    })
  })

  it('keeps to itself what the rules do not look at', () => {
    expect(changed(run, { when: {}, set: { output: 1, progress: 2, owner: 'me' } })).toStrictEqual(run)
  })

  it('takes the count of claims back, or to a number', () => {
    expect(changed(run, { when: {}, set: { claims: undefined } }).claims).toBe(0)
    expect(changed(run, { when: {}, set: { claims: 3 } }).claims).toBe(3)
    expect(changed(run, { when: {}, set: { status: 'pending' } }).claims).toBe(run.claims)
  })

  it('bumps counters, after it has set them', () => {
    expect(changed(run, { when: {}, bump: ['epoch', 'stimulus'] })).toStrictEqual({ ...run, epoch: 6, stimulus: 3 })
    expect(changed(run, { when: {}, bump: ['generation', 'claims'] })).toStrictEqual({
      ...run,
      generation: 1,
      claims: 2,
    })
    expect(changed(run, { when: {}, set: { claims: undefined }, bump: ['claims'] }).claims).toBe(1)
  })
})

describe('retention', () => {
  it('ends in a whole second, not before its time', () => {
    expect(expiryOf(NOW + 1, 1_000)).toBe(NOW + 2_000)
    expect(expiryOf(NOW, 1_000)).toBe(NOW + 1_000)
  })

  it('of nothing is a minute, for clients that wait for the outcome', () => {
    expect(expiryOf(NOW, 0)).toBe(NOW + 60_000)
  })

  it('never ends for a run that is open, or kept for good', () => {
    expect(expiryOf(undefined, 1_000)).toBeUndefined()
    expect(expiryOf(NOW, undefined)).toBeUndefined()
    expect(isGone({ retentionMs: 1_000 }, NOW)).toBe(false)
    expect(isGone({ endedAt: 0 }, NOW)).toBe(false)
  })

  it('lets a run go at its time', () => {
    expect(isGone({ endedAt: NOW, retentionMs: 1_000 }, NOW + 999)).toBe(false)
    expect(isGone({ endedAt: NOW, retentionMs: 1_000 }, NOW + 1_000)).toBe(true)
  })
})

describe('what cannot be loaded', () => {
  it('is a journal of more than 256 MB, and the sentence says how much it is', () => {
    const most = 256 * 1_048_576
    expect(() => refuseTooLarge('run', most)).not.toThrow()
    expect(() => refuseTooLarge('run', most + 1)).toThrow(UnreadableRunError)
    expect(() => refuseTooLarge('run', 300 * 1_048_576)).toThrow(
      /'run', with all its results, has 300 MB, and 256 MB can be loaded/,
    )
  })

  it('is what a newer version wrote', () => {
    expect(() => refuseNewer('the run', 99)).toThrow(/the run was written by a newer version of overwinter \(format 99/)
  })
})
