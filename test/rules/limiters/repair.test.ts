import { describe, expect, it } from 'vitest'
import type { JournalEvent } from '../../../sdk/base/events.ts'
import { FORMAT, idempotencyKey } from '../../../sdk/base/names.ts'
import { LIMITS } from '../../../sdk/flow/limiter/limit-record.ts'
import { CHECK_EVERY_MS, queueOf } from '../../../sdk/flow/limiter/limiter.ts'
import { entryKey, holderOf, type QueueEntry, writeEntry } from '../../../sdk/flow/limiter/queue.ts'
import { readQueue } from '../../../sdk/rules/limiters/entries.ts'
import { repair } from '../../../sdk/rules/limiters/repair.ts'
import { passOn, readSlot, writeSlot } from '../../../sdk/rules/limiters/slots.ts'
import { checkBy } from '../../../sdk/rules/limiters/state.ts'
import { LEASE, LIMIT, LimiterWorld } from './limiter-world.ts'

const MINUTE = 60_000
const HOUR = 3_600_000

function limiter(concurrency = 1): LimiterWorld {
  const at = new LimiterWorld()
  at.setLimit({ concurrency })
  return at
}
const hold = (at: LimiterWorld, index: number, holder: string, since = at.now()) =>
  at.do((storage) => writeSlot(storage, LIMIT, { holder: '', since: 0, index, version: 0 }, { holder, since }))
const queue = (at: LimiterWorld, entry: QueueEntry) =>
  at.storage.documents.put(queueOf(LIMIT), entryKey(entry), writeEntry(entry))
const check = (at: LimiterWorld) => at.do((storage) => repair(storage, LIMIT))
const use = (at: LimiterWorld) => at.do((storage) => checkBy(storage, LIMIT, at.now() + MINUTE))
const wait = (at: LimiterWorld, ms: number) => at.clock.moveTo(at.now() + ms)

/** A run that waits, whose journal says this. */
async function waiting(at: LimiterWorld, id: string, ...events: JournalEvent[]): Promise<void> {
  await at.create(id)
  const { store } = at.world
  const { epoch, stimulus: seen } = (await store.claim(id, LEASE))!.run
  const frame = { seq: 1, at: at.now(), epoch, events }
  await store.commit({ runId: id, epoch, frame, next: { kind: 'suspend', status: 'waiting', waitingFor: [], seen } })
}
const asked = (id = 'go', nth = 1): JournalEvent => ({ type: 'step.queued', id, ...LIMIT, order: 5, nth })
const stepOf = (run: string, id = 'go', nth = 1) => {
  const of = { id: run, format: FORMAT, generation: 0 }
  return holderOf(of, idempotencyKey(of, id), nth)
}

describe('a check frees a slot', () => {
  it('of a run that was never made, once it cannot be about to be', async () => {
    const at = limiter()
    hold(at, 0, 'never')
    await at.create('next', at.admission({ concurrency: 1 }))
    wait(at, MINUTE - 1)
    expect([check(at), at.slots()]).toEqual([[], { 0: 'never' }])
    wait(at, 1)
    expect(check(at)).toEqual([{ runId: 'next', at: at.now() }])
    expect([at.slots(), at.status('next')]).toEqual([{ 0: 'next' }, 'pending'])
  })

  it('of a run that has ended or is stuck', async () => {
    const at = limiter(2)
    for (const id of ['ended', 'stuck']) await at.create(id)
    hold(at, 0, 'ended')
    hold(at, 1, stepOf('stuck'))
    await at.world.store.terminate('ended', 'x')
    await at.world.store.park('stuck', { name: 'Error', message: 'x' })
    check(at)
    expect(at.slots()).toEqual({})
  })

  it('of a step whose permit is not wanted any more, and none whose is, however long it takes', async () => {
    const at = limiter(3)
    await waiting(
      at,
      'run',
      asked('open'),
      asked('over'),
      asked('again'),
      { type: 'step.completed', id: 'over' },
      asked('again', 2),
    )
    hold(at, 0, stepOf('run', 'open'))
    hold(at, 1, stepOf('run', 'over'))
    hold(at, 2, stepOf('run', 'again'))
    use(at)
    check(at)
    expect(Object.keys(at.slots())).toHaveLength(3)
    wait(at, MINUTE)
    check(at)
    expect(at.slots()).toEqual({ 0: stepOf('run', 'open') })
    for (let i = 0; i < 20; i++) {
      wait(at, HOUR)
      check(at)
    }
    expect(at.slots()).toEqual({ 0: stepOf('run', 'open') })
  })

  it('of a run that has no such limiter among those that it has come to', async () => {
    const at = limiter(2)
    await at.create('plain')
    hold(at, 0, 'plain')
    wait(at, MINUTE)
    check(at)
    expect(at.slots()).toEqual({})
  })

  it('that its holder has a second time', async () => {
    const at = limiter(3)
    await at.create('run', at.admission({ concurrency: 3 }))
    const [first] = Object.keys(at.slots()).map(Number) as [number]
    const other = first === 2 ? 1 : 2
    hold(at, other, 'run')
    const kept = Math.min(first, other)
    const seen = at.do((storage) => readSlot(storage, LIMIT, kept))
    check(at)
    // Two processes may be about to grant one request: one of them will pass its slot on.
    expect(at.slots()).toEqual({ [first]: 'run', [other]: 'run' })
    wait(at, MINUTE)
    check(at)
    expect(at.slots()).toEqual({ [kept]: 'run' })
    // One that comes too late finds the slot written.
    const late = at.entry('late')
    expect(at.do((storage) => passOn(storage, LIMIT, seen, late))).toBeUndefined()
  })
})

describe('a check removes an entry', () => {
  it('of a run that is gone, and one that was withdrawn; others stay', async () => {
    const at = limiter()
    await at.create('holder', at.admission({ concurrency: 1 }))
    await at.create('waits', at.admission({ concurrency: 1 }, at.now() + 1))
    await waiting(at, 'run', asked())
    queue(at, at.entry('missing'))
    queue(at, at.entry('run', { holder: stepOf('run', 'other'), grant: 'withdrawn' }))
    queue(at, at.entry('run', { holder: stepOf('run') }))
    check(at)
    expect(
      at
        .queue()
        .map(({ holder }) => holder)
        .sort(),
    ).toEqual([stepOf('run'), 'waits'].sort())
  })

  it('that was granted and whose request the run has made anew since', async () => {
    const at = limiter(2)
    await waiting(at, 'run', asked('go', 1), asked('go', 2))
    hold(at, 0, stepOf('run', 'go', 1))
    queue(at, at.entry('run', { holder: stepOf('run', 'go', 1), grant: { at: at.now(), by: at.now(), slot: 0 } }))
    use(at)
    wait(at, 2 * MINUTE)
    check(at)
    wait(at, 2 * MINUTE)
    check(at)
    expect([at.queue(), at.slots()]).toEqual([[], {}])
  })
})

describe('a check of a run that does not begin what it was granted', () => {
  it('drops all its requests that its journal has released, and frees their slot at once', async () => {
    const at = limiter()
    await waiting(at, 'run', asked('go', 1), asked('on', 1), asked('go', 2))
    await at.create('next', at.admission({ concurrency: 1 }))
    hold(at, 0, stepOf('run', 'go', 1))
    queue(at, at.entry('run', { holder: stepOf('run', 'go', 1), grant: { at: at.now(), by: at.now(), slot: 0 } }))
    queue(at, at.entry('run', { holder: stepOf('run', 'gone', 1) }))
    queue(at, at.entry('run', { holder: stepOf('run', 'go', 2), order: Number.MAX_SAFE_INTEGER }))
    queue(at, at.entry('run', { holder: stepOf('run', 'on', 1), order: Number.MAX_SAFE_INTEGER }))
    wait(at, 9_999)
    check(at)
    expect(at.queue()).toHaveLength(4)
    wait(at, 1)
    check(at)
    const left = [stepOf('run', 'go', 2), stepOf('run', 'on', 1)].sort()
    expect(
      at
        .queue()
        .map(({ holder }) => holder)
        .sort(),
    ).toEqual(left)
    expect(Object.values(at.slots())).not.toContain(stepOf('run', 'go', 1))
  })
})

describe('a check tells again', () => {
  it('a step of its grant that its run may not have heard of', async () => {
    const at = limiter()
    await waiting(at, 'run', asked())
    hold(at, 0, stepOf('run'))
    queue(at, at.entry('run', { holder: stepOf('run'), grant: { at: at.now(), by: at.now(), slot: 0 } }))
    wait(at, 9_999)
    expect(check(at)).toEqual([])
    wait(at, 1)
    expect(check(at)).toEqual([{ runId: 'run', at: at.now() }])
    expect(at.slots()).toEqual({ 0: stepOf('run') })
  })

  it('a step that has a slot and waits for it, once no other process is about to', async () => {
    const at = limiter()
    await waiting(at, 'run', asked())
    hold(at, 0, stepOf('run'))
    queue(at, at.entry('run', { holder: stepOf('run') }))
    wait(at, 9_999)
    expect(check(at)).toEqual([])
    wait(at, 1)
    expect(check(at)).toEqual([{ runId: 'run', at: at.now() }])
    expect(at.queue()).toMatchObject([{ grant: { slot: 0 } }])
  })

  it('a run that has a slot and waits, in the queue or out of it', async () => {
    const at = limiter(2)
    at.setLimit({ concurrency: 2 }, { paused: true })
    for (const id of ['in', 'out']) await at.create(id, at.admission({ concurrency: 2 }))
    const [entry] = at.queue().filter(({ run }) => run === 'out')
    at.storage.documents.remove(queueOf(LIMIT), entryKey(entry!))
    at.setLimit({ concurrency: 2 })
    hold(at, 0, 'in')
    hold(at, 1, 'out')
    wait(at, MINUTE)
    const wakes = [...check(at), ...check(at)]
    expect(new Set(wakes.map(({ runId }) => runId))).toEqual(new Set(['in', 'out']))
    expect([at.status('in'), at.status('out'), at.slots()]).toEqual(['pending', 'pending', { 0: 'in', 1: 'out' }])
  })

  it('a start of a rate takes its part of it for now, not for the time at which a process died', async () => {
    const at = new LimiterWorld()
    at.setLimit({ concurrency: 2, rate: 1, perMs: HOUR })
    for (const id of ['first', 'second']) await waiting(at, id, asked())
    for (const id of ['first', 'second']) queue(at, at.entry(id, { holder: stepOf(id) }))
    hold(at, 0, stepOf('first'))
    hold(at, 1, stepOf('second'))
    use(at)
    wait(at, MINUTE)
    const woken = check(at)
    expect(woken.map(({ runId }) => runId)).toEqual(['first', 'second'])
    const entries = at.do((storage) => readQueue(storage, LIMIT, 10))
    const grants = entries.map(({ entry }) => entry.grant as { at: number })
    expect(grants.map(({ at: time }) => time - at.now())).toEqual([0, expect.closeTo(HOUR, -6)])
  })

  it('no owner while all goes well', async () => {
    const at = limiter()
    await at.create('a', at.admission({ concurrency: 1 }))
    await at.create('b', at.admission({ concurrency: 1 }, at.now() + 1))
    const before = at.do((storage) => readSlot(storage, LIMIT, 0))
    for (let i = 0; i < 5; i++) {
      wait(at, MINUTE)
      expect(check(at)).toEqual([])
    }
    expect(at.do((storage) => readSlot(storage, LIMIT, 0))).toEqual(before)
  })
})

describe('a limiter is due (I10)', () => {
  it('in a minute while requests wait, in an hour while it is in use, and not at all once it is unused', async () => {
    const at = limiter()
    await at.create('a', at.admission({ concurrency: 1 }))
    expect(at.state()!.dueAt).toBeGreaterThan(at.now())
    await at.create('b', at.admission({ concurrency: 1 }, at.now() + 1))
    expect(at.state()!.dueAt).toBe(at.now() + CHECK_EVERY_MS)
    wait(at, MINUTE)
    check(at)
    expect(at.state()!.dueAt).toBe(at.now() + CHECK_EVERY_MS)
    await at.world.store.terminate('b', 'x')
    check(at)
    expect(at.state()!.dueAt).toBe(at.now() + HOUR)
    await at.world.store.terminate('a', 'x')
    for (let i = 0; i < 2; i++) {
      check(at)
      wait(at, MINUTE)
    }
    expect(at.state()!.dueAt).toBeUndefined()
    expect(at.state()!.expiresAt).toBeGreaterThan(at.now())
    wait(at, 3 * HOUR)
    expect(at.state()).toBeUndefined()
  })

  it('again when it is used after that', async () => {
    const at = limiter()
    await at.create('a', at.admission({ concurrency: 1 }))
    await at.world.store.terminate('a', 'x')
    for (let i = 0; i < 2; i++) check(at)
    expect(at.state()!.dueAt).toBeUndefined()
    await at.create('b', at.admission({ concurrency: 1 }))
    expect(at.state()!.dueAt).toBeGreaterThan(at.now())
    expect(at.state()!.expiresAt).toBeUndefined()
  })

  it('and remembered for as long as its rate counts', async () => {
    const at = new LimiterWorld()
    await at.create('a', at.admission({ rate: 1, perMs: 24 * HOUR }))
    for (let i = 0; i < 3; i++) check(at)
    wait(at, 20 * HOUR)
    await at.create('b', at.admission({ rate: 1, perMs: 24 * HOUR }))
    expect(at.status('b')).toBe('pending')
    expect(at.storage.find('b')!.wakeAt).toBeGreaterThan(at.now() + 3 * HOUR)
  })

  it('again in a minute where it cannot be checked, and keeps no other from being checked', async () => {
    const at = limiter()
    hold(at, 0, 'never')
    await at.create('waits', at.admission({ concurrency: 1 }))
    const broken = { limit: 'broken' }
    at.storage.documents.put(LIMITS, broken.limit, { code: { concurrency: 1 } })
    at.storage.documents.put(queueOf(broken), 'x', null)
    at.do((storage) => checkBy(storage, broken, at.now() + MINUTE))
    wait(at, MINUTE)
    const { failures, checked, wakes } = await at.world.store.checkLimiters(at.now(), 10)
    expect([failures.map((each) => each.limiter), checked]).toEqual([[broken], 2])
    expect(wakes).toEqual([{ runId: 'waits', at: at.now() }])
    expect(at.state(broken)!.dueAt).toBe(at.now() + CHECK_EVERY_MS)
  })
})
