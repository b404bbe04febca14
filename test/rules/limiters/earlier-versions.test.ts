import { describe, expect, it } from 'vitest'
import type { Json } from '../../../sdk/base/json.ts'
import { CHECK_EVERY_MS } from '../../../sdk/flow/limiter/limiter.ts'
import { releasesOfRun } from '../../../sdk/flow/limiter/releases.ts'
import { Limits } from '../../../sdk/flow/operating/limits.ts'
import { listPauses, resume } from '../../../sdk/flow/pauses.ts'
import { repair } from '../../../sdk/rules/limiters/repair.ts'
import { LEASE, LIMIT, LimiterWorld, START } from './limiter-world.ts'

/**
 * What the version before slots had stored, byte for byte: who is inside in one document, tickets in line without a
 * grant, a pause that is known by its time, and runs that do not say which slot they have.
 */
const GATE = { holders: { a: START - 50_000, b: START - 40_000 }, heldMs: 30_000, checkedAt: START - 60_000 }
const TICKETS: Record<string, Json> = {
  '/001767225600001/c': { run: 'c', lane: '', order: START + 1 },
  '/001767225600002/d': { run: 'd', lane: '', order: START + 2 },
  '/001767225600003/e': { run: 'e', lane: '', order: START + 3 },
}

/** Two holders, and three in the queue. */
async function stored(): Promise<LimiterWorld> {
  const at = new LimiterWorld()
  const { documents } = at.storage
  at.setLimit({ concurrency: 2 })
  for (const [i, id] of ['a', 'b', 'c', 'd', 'e'].entries()) {
    const admission = { gates: [{ limit: 'api', holds: true as const }], order: START + i - 1, specs: {} }
    const run = { ...at.newRun(id), admission }
    at.storage.insert(i < 2 ? { ...run, passed: 1 } : { ...run, status: 'queued', passed: 0 })
  }
  documents.put('gates api', '\u0001', GATE)
  for (const [key, ticket] of Object.entries(TICKETS)) documents.put('line api', key, ticket)
  return at
}

async function end(at: LimiterWorld, id: string): Promise<void> {
  const { store } = at.world
  const { run } = (await store.claim(id, LEASE))!
  const event = { type: 'run.completed' as const }
  const frame = { seq: 1, at: at.now(), epoch: run.epoch, events: [event] }
  const outgoing = releasesOfRun(run)
  expect(
    await store.commit({ runId: id, epoch: run.epoch, frame, outgoing, next: { kind: 'end', event } }),
  ).toMatchObject({ ok: true })
}
const inside = (at: LimiterWorld) => Object.values(at.slots()).sort()
const states = (at: LimiterWorld) => ['a', 'b', 'c', 'd', 'e'].map((id) => at.status(id))
const holdersLeft = (at: LimiterWorld) => (at.state()!.value as { holders?: object }).holders

describe('records of the version before slots', () => {
  it('are shown as they are: the holders and the queue', async () => {
    const at = await stored()
    const [gate] = (await new Limits(at.world).get('api')).gates
    expect(gate).toMatchObject({ inside: 2, holders: ['a', 'b'], waiting: { count: 3 }, next: ['c', 'd', 'e'] })
  })

  it('are moved when one of them ends: its slot goes to the first in the queue', async () => {
    const at = await stored()
    await end(at, 'a')
    expect([inside(at), states(at), holdersLeft(at)]).toEqual([
      ['b', 'c'],
      ['completed', 'pending', 'pending', 'queued', 'queued'],
      undefined,
    ])
    await end(at, 'b')
    await end(at, 'c')
    expect([inside(at), states(at).slice(3)]).toEqual([
      ['d', 'e'],
      ['pending', 'pending'],
    ])
  })

  it('are moved when a new run comes, which queues behind them', async () => {
    const at = await stored()
    await at.create('f', at.admission({ concurrency: 2 }, START + 9))
    expect([inside(at), at.status('f'), holdersLeft(at)]).toEqual([['a', 'b'], 'queued', undefined])
    expect(at.queue().map(({ holder }) => holder)).toEqual(['c', 'd', 'e', 'f'])
  })

  it('are moved by a check, with the time since when they hold their slots', async () => {
    const at = await stored()
    at.do((storage) => repair(storage, LIMIT))
    expect([inside(at), states(at).slice(2), holdersLeft(at)]).toEqual([['a', 'b'], Array(3).fill('queued'), undefined])
    const [slot] = at.storage.documents.list('slots api\u00020')
    expect(slot!.value).toMatchObject({ holder: 'a', since: GATE.holders.a })
    expect(at.state()!.dueAt).toBe(at.now() + CHECK_EVERY_MS)
  })

  it('are moved when the limit is changed: the new one is not exceeded', async () => {
    const at = await stored()
    await new Limits(at.world).set('api', { concurrency: 3 })
    expect([inside(at), states(at).slice(2)]).toEqual([
      ['a', 'b', 'c'],
      ['pending', 'queued', 'queued'],
    ])
  })

  it('of more holders than a lowered limit allows are moved, too, and grant nothing until they are fewer', async () => {
    const at = await stored()
    at.setLimit({ concurrency: 1 })
    at.do((storage) => repair(storage, LIMIT))
    expect(inside(at)).toEqual(['a', 'b'])
    await end(at, 'a')
    expect([inside(at), states(at).slice(2)]).toEqual([['b'], Array(3).fill('queued')])
    await end(at, 'b')
    expect([inside(at), states(at).slice(2)]).toEqual([['c'], ['pending', 'queued', 'queued']])
  })

  it('are moved once, whichever process dies on the way', async () => {
    for (let nth = 1; nth < 200; nth++) {
      const at = await stored()
      const { world, calls } = at.process(nth, async () => {
        throw new Error('died')
      })
      await world.store.create(at.newRun('f', at.admission({ concurrency: 2 }, START + 9))).catch(() => {})
      at.do((storage) => repair(storage, LIMIT))
      expect({ nth, inside: inside(at), holders: holdersLeft(at) }).toEqual({
        nth,
        inside: ['a', 'b'],
        holders: undefined,
      })
      if (calls() < nth) return
    }
  })

  it('of a limiter whose holders are gone are freed by checks', async () => {
    const at = await stored()
    at.storage.erase(at.storage.find('a')!, [])
    at.do((storage) => repair(storage, LIMIT))
    at.clock.moveTo(at.now() + 60_000)
    at.do((storage) => repair(storage, LIMIT))
    expect(inside(at)).toEqual(['b', 'c'])
  })

  it('of a pause without a serial are known by its time: runs in its queue go on when it is resumed', async () => {
    const at = new LimiterWorld()
    const since = START - 5_000
    at.storage.documents.put('pauses', 'pause:workflow:held', { code: {}, paused: true, since, ends: true })
    const [name] = at.storage.documents.list('pauses').map(({ key }) => key)
    const gate = { limit: name!, key: String(since), round: 0 }
    const run = at.newRun('p')
    at.storage.insert({ ...run, status: 'queued', passed: 0, admission: { gates: [gate], order: START, specs: {} } })
    at.storage.documents.put(`line ${name}\u0001${since}`, '/001767225600000/p', {
      run: 'p',
      lane: '',
      order: START,
      holds: false,
    })
    expect(await listPauses(at.world)).toMatchObject([{ scope: { workflow: 'held' }, since, waiting: { count: 1 } }])
    await resume(at.world, { workflow: 'held' })
    expect(at.status('p')).toBe('pending')
    expect(at.queue(gate)).toEqual([])
  })
})
