import { describe, expect, it } from 'vitest'
import { LIMITS } from '../../../sdk/flow/limiter/limit-record.ts'
import { limiterKey, limitersOf, queueOf, TRUSTED_MS } from '../../../sdk/flow/limiter/limiter.ts'
import { entryKey, type Grant, type QueueEntry, writeEntry } from '../../../sdk/flow/limiter/queue.ts'
import { confirm, confirmRun, standings } from '../../../sdk/rules/limiters/acquire.ts'
import { release } from '../../../sdk/rules/limiters/release.ts'
import { passOn, readSlot, writeSlot } from '../../../sdk/rules/limiters/slots.ts'
import { LIMIT, LimiterWorld } from './limiter-world.ts'

/** A limiter whose slots are held so. */
function slots(...holders: string[]): LimiterWorld {
  const at = new LimiterWorld()
  at.setLimit({ concurrency: holders.length })
  for (const [index, holder] of holders.entries()) put(at, index, holder)
  return at
}
const put = (at: LimiterWorld, index: number, holder: string, version = 0) =>
  at.do((storage) => writeSlot(storage, LIMIT, { holder: '', since: 0, index, version }, { holder, since: at.now() }))
/** Long ago: one that was granted a moment ago needs no look. */
const granted = (at: LimiterWorld, ago = TRUSTED_MS + 1): Grant => ({ at: at.now(), by: at.now() - ago, slot: 0 })
const confirmed = (at: LimiterWorld, holder: string, grant: Grant) =>
  at.do((storage) => confirm(storage, LIMIT, { holder, lane: '' }, grant))

describe('a permit that is confirmed', () => {
  it('is there where its slot shows its holder', () => {
    const at = slots('me')
    expect(confirmed(at, 'me', granted(at))).toEqual({ permit: { at: at.now(), slot: 0 } })
  })

  it('is there without a look where it was granted a moment ago', () => {
    const at = slots('other')
    expect(confirmed(at, 'me', granted(at, TRUSTED_MS))).toEqual({ permit: { at: at.now(), slot: 0 } })
  })

  it('is lost where the slot has gone to another, who keeps it', () => {
    const at = slots('other')
    expect(confirmed(at, 'me', granted(at))).toBe('unknown')
    expect(at.slots()).toEqual({ 0: 'other' })
  })

  it('is found where a lowered limit has moved it to, and no process passes it on then', () => {
    const at = slots('other', 'me')
    const seen = at.do((storage) => readSlot(storage, LIMIT, 1))
    expect(confirmed(at, 'me', granted(at))).toEqual({ permit: { at: at.now(), slot: 1 } })
    expect(at.do((storage) => passOn(storage, LIMIT, seen, at.entry('late')))).toBeUndefined()
  })

  it('of a rate alone needs no slot', () => {
    const at = new LimiterWorld()
    const permit = { at: at.now(), until: at.now() + 2_000 }
    expect(confirmed(at, 'me', { ...permit, by: 0 })).toEqual({ permit })
  })
})

describe('where a request stands', () => {
  const entry = (at: LimiterWorld, grant?: Grant | 'withdrawn') =>
    at.entry('run', { holder: 'run/a#1', ...(grant && { grant }) })
  const queue = (at: LimiterWorld, grant?: Grant | 'withdrawn') =>
    at.storage.documents.put(queueOf(LIMIT), entryKey(entry(at)), writeEntry(entry(at, grant)))
  const stands = (at: LimiterWorld, mayHaveSlot = false) =>
    at.do((storage) => standings(storage, LIMIT, [{ entry: entry(at), mayHaveSlot }]))[0]

  it('is in the queue, or granted there, or not known', () => {
    const at = slots('other')
    expect(stands(at)).toBe('unknown')
    queue(at)
    expect(stands(at)).toBe('queued')
    queue(at, 'withdrawn')
    expect(stands(at)).toBe('unknown')
    queue(at, granted(at))
    expect(stands(at)).toBe('unknown')
    put(at, 0, 'run/a#1', 1)
    expect(stands(at)).toEqual({ permit: { at: at.now(), slot: 0 } })
  })

  it('is in a slot without having queued, where a runner that died may have got one', () => {
    const at = slots('run/a#1')
    expect(stands(at)).toBe('unknown')
    expect(stands(at, true)).toEqual({ permit: { at: at.now(), slot: 0 } })
  })
})

describe('a run that is about to begin', () => {
  const begin = (at: LimiterWorld, id: string, mayHaveBegun = false, latest = at.now()) =>
    at.do((storage) => confirmRun(storage, at.storage.record(at.storage.find(id)!), mayHaveBegun, latest))

  it('goes on with the slot that it was granted', async () => {
    const at = new LimiterWorld()
    await at.create('a', at.admission({ concurrency: 1 }))
    expect(begin(at, 'a')).toEqual({})
    expect(at.slots()).toEqual({ 0: 'a' })
  })

  it('has to queue again at the limiter whose slot it has lost', async () => {
    const at = new LimiterWorld()
    await at.create('a', at.admission({ concurrency: 1 }))
    const slot = { holder: 'a', since: at.now(), index: 0, version: 1 }
    at.do((storage) => writeSlot(storage, LIMIT, slot, { holder: 'thief', since: at.now() }))
    at.clock.moveTo(at.now() + TRUSTED_MS + 1)
    expect(begin(at, 'a')).toEqual({ lost: 0 })
    expect(at.slots()).toEqual({ 0: 'thief' })
  })

  it('later than its part of a rate was for takes another, or queues again where there is none', async () => {
    const at = new LimiterWorld()
    const spec = { rate: 1, perMs: 60_000 }
    await at.create('a', at.admission(spec))
    expect(begin(at, 'a')).toEqual({})
    const used = () =>
      (at.storage.documents.get(limitersOf(LIMIT.limit), limiterKey(LIMIT))!.value as { used: [number, number][] }).used
    const before = used()
    at.clock.moveTo(at.now() + 10_000)
    // It gives back what it did not use.
    expect(begin(at, 'a')).toEqual({ renewed: { limiter: 0, at: at.now(), until: at.now() + 2_000 } })
    expect(used().map(([, amount]) => amount)).toEqual([1])
    expect(used()).not.toEqual(before)
    at.clock.moveTo(at.now() + 10_000)
    // What may have begun counts.
    expect(begin(at, 'a', true)).toEqual({ lost: 0 })
  })

  it('later than its part of a rate was for waits in its process for the next time, where that is soon', async () => {
    const at = new LimiterWorld()
    await at.create('a', at.admission({ rate: 1, perMs: 5_000 }))
    at.clock.moveTo(at.now() + 3_000)
    const next = at.now() + 2_200
    // It may have begun with its part, so that counts.
    expect(begin(at, 'a', true, next - 1)).toEqual({ lost: 0 })
    expect(begin(at, 'a', true, next)).toEqual({ renewed: { limiter: 0, at: next, until: next + 2_000 } })
  })
})

describe('where many requests of one run stand', () => {
  /** `others`: so many requests of other runs are between them in the queue. */
  const asked = (others: number) => {
    const at = slots('other')
    const entries = Array.from({ length: 20 }, (_, i) => at.entry('run', { holder: `run/${i}#1`, order: i * 10 }))
    const grant = { at: at.now(), by: at.now() }
    const put = (entry: QueueEntry) => at.storage.documents.put(queueOf(LIMIT), entryKey(entry), writeEntry(entry))
    for (const [i, entry] of entries.entries()) if (i !== 7) put(i === 3 ? { ...entry, grant } : entry)
    for (let i = 0; i < others; i++) put(at.entry(`other${i}`, { order: 55 }))
    const documents = at.storage.documents
    const reads: string[] = []
    const counted = new Proxy(documents, {
      get: (_, name: 'get' | 'list') => {
        reads.push(name)
        return documents[name].bind(documents)
      },
    })
    Object.defineProperty(at.storage, 'documents', { value: counted })
    const requests = entries.map((entry) => ({ entry, mayHaveSlot: false }))
    return { standings: at.do((storage) => standings(storage, LIMIT, requests)), reads, at }
  }

  it('is known by one read of the queue', () => {
    const { standings, reads, at } = asked(0)
    expect(standings[3]).toEqual({ permit: { at: at.now() } })
    expect(standings[7]).toBe('unknown')
    expect(standings.filter((each) => each === 'queued')).toHaveLength(18)
    expect(reads).toEqual(['list'])
  })

  it('is known also where other runs have more requests in between than one read takes', () => {
    const { standings } = asked(100)
    expect([standings[3], standings[7], standings[19]]).toEqual([expect.anything(), 'unknown', 'queued'])
  })
})

describe('a permit that is released', () => {
  const releasing = (at: LimiterWorld, holder: string, more = {}) =>
    at.do((storage) => release(storage, LIMIT, { holder, lane: '', order: at.now(), state: 'held', ...more }))

  it('is not another’s, whatever slot its holder says it has', () => {
    const at = slots('other')
    releasing(at, 'me', { slot: 0, state: 'queued' })
    expect(at.slots()).toEqual({ 0: 'other' })
  })

  it('returns the slot that was granted in the queue', () => {
    const at = slots('run/a#1')
    const entry = at.entry('run', { holder: 'run/a#1', grant: granted(at) })
    at.storage.documents.put(queueOf(LIMIT), entryKey(entry), writeEntry(entry))
    releasing(at, 'run/a#1', { state: 'queued' })
    expect([at.slots(), at.queue()]).toEqual([{}, []])
  })

  it('of a run takes every entry of it along, and no others', async () => {
    const at = slots('other')
    for (const nth of [0, 3, 7]) {
      const entry = at.entry('run', nth > 0 ? { nth } : {})
      at.storage.documents.put(queueOf(LIMIT), entryKey(entry), writeEntry(entry))
    }
    await at.create('run2', at.admission({ concurrency: 1 }))
    releasing(at, 'run', { state: 'queued' })
    expect(at.queue().map(({ holder }) => holder)).toEqual(['run2'])
  })

  it('twice does the same as once', async () => {
    const at = new LimiterWorld()
    for (const [i, id] of ['a', 'b', 'c'].entries()) await at.create(id, at.admission({ concurrency: 1 }, at.now() + i))
    releasing(at, 'a')
    releasing(at, 'a')
    expect([at.slots(), at.status('b'), at.status('c')]).toEqual([{ 0: 'b' }, 'pending', 'queued'])
    expect(at.storage.documents.get(LIMITS, LIMIT.limit)?.value).toEqual({ code: { concurrency: 1 } })
  })
})
