import { describe, expect, it } from 'vitest'
import { LIMITS } from '../../../sdk/flow/limiter/limit-record.ts'
import { blockOf, FREE_SLOT_KEPT_MS } from '../../../sdk/flow/limiter/slots.ts'
import { dispatch } from '../../../sdk/rules/limiters/dispatch.ts'
import { limitOf } from '../../../sdk/rules/limiters/record.ts'
import { free, hasSurplus, passOn, readSlot, slotOf, takeFree, writeSlot } from '../../../sdk/rules/limiters/slots.ts'
import { LIMIT, LimiterWorld } from './limiter-world.ts'

/** So many slots, of which the first are held by runs that are there. */
async function held(concurrency: number, holders: readonly string[], widest?: number): Promise<LimiterWorld> {
  const at = new LimiterWorld()
  at.setLimit({ concurrency }, widest === undefined ? {} : { widest })
  for (const [index, holder] of holders.entries()) {
    await at.create(holder)
    at.do((storage) =>
      writeSlot(storage, LIMIT, { holder: '', since: 0, index, version: 0 }, { holder, since: at.now() }),
    )
  }
  return at
}
const limitIn = (at: LimiterWorld) => at.do((storage) => limitOf(storage, LIMIT))
const take = (at: LimiterWorld, holder: string) =>
  at.do((storage) => takeFree(storage, LIMIT, limitIn(at), at.entry(holder)))

describe('a slot', () => {
  it('is taken once; the same request gets the same one again', async () => {
    const at = await held(2, [])
    const [first, again, second] = [take(at, 'a'), take(at, 'a'), take(at, 'b')]
    expect(again).toEqual({ slot: first!.slot, isNew: false })
    expect(new Set([first!.slot.index, second!.slot.index])).toEqual(new Set([0, 1]))
    expect(take(at, 'c')).toBeUndefined()
  })

  it('is written as it was read, or not at all: of two processes one gets it', async () => {
    const at = await held(1, [])
    const seen = at.do((storage) => readSlot(storage, LIMIT, 0))
    const write = (holder: string) => at.do((storage) => writeSlot(storage, LIMIT, seen, { holder, since: at.now() }))
    expect(write('a')).toMatchObject({ index: 0, holder: 'a' })
    expect(write('b')).toBeUndefined()
    expect(at.slots()).toEqual({ 0: 'a' })
  })

  it('that is free keeps its version, so that a write that is late is refused', async () => {
    const at = await held(1, ['a'])
    const stale = at.do((storage) => readSlot(storage, LIMIT, 0))
    expect(at.do((storage) => free(storage, LIMIT, stale))).toBe(true)
    at.clock.moveTo(at.now() + FREE_SLOT_KEPT_MS - 1)
    expect(at.do((storage) => passOn(storage, LIMIT, stale, at.entry('late')))).toBeUndefined()
    expect(take(at, 'b')!.slot.version).toBeGreaterThan(stale.version)
  })

  it('tells how long it is held, and keeps that for the next', async () => {
    const at = await held(1, ['a'])
    at.clock.moveTo(at.now() + 1_000)
    const slot = at.do((storage) => readSlot(storage, LIMIT, 0))
    expect(at.do((storage) => passOn(storage, LIMIT, slot, at.entry('b', { lane: 'l' })))).toMatchObject({
      holder: 'b',
      since: at.now(),
      lane: 'l',
      heldMs: 1_000,
    })
  })

  it('of a limit of 1,000 may be in any of ten blocks, and all of them can be taken', async () => {
    const at = await held(1_000, [])
    const blocks = new Set<number>()
    const indexes = new Set<number>()
    for (let i = 0; i < 1_000; i++) {
      const { index } = take(at, `run-${i}`)!.slot
      indexes.add(index)
      if (i < 100) blocks.add(blockOf(index))
    }
    expect(blocks.size).toBe(10)
    expect(indexes.size).toBe(1_000)
    expect(Math.max(...indexes)).toBe(999)
    expect(take(at, 'one more')).toBeUndefined()
    expect(at.do((storage) => slotOf(storage, LIMIT, 'run-777', 1_000))).toMatchObject({ holder: 'run-777' })
  })
})

describe('a limit that was lowered', () => {
  const five = ['a', 'b', 'c', 'd', 'e']

  it('grants nothing while there are holders beyond it', async () => {
    const at = await held(2, five, 5)
    expect(limitIn(at)).toMatchObject({ spec: { concurrency: 2 }, widest: 5 })
    expect(take(at, 'f')).toBeUndefined()
    expect(at.slots()).toEqual({ 0: 'a', 1: 'b', 2: 'c', 3: 'd', 4: 'e' })
  })

  it('has holders beyond it move into slots that become free, and only then grants again', async () => {
    const at = await held(2, five, 5)
    const releases = (index: number) => {
      const slot = at.do((storage) => readSlot(storage, LIMIT, index))
      at.do((storage) => dispatch(storage, LIMIT, slot))
    }
    await at.create('f', at.admission({ concurrency: 2 }))
    at.setLimit({ concurrency: 2 }, { widest: 5 })
    expect(at.status('f')).toBe('queued')
    releases(0)
    expect(Object.values(at.slots()).sort()).toEqual(['b', 'c', 'd', 'e'])
    expect([at.slots()[0], at.status('f')]).toEqual(['c', 'queued'])
    // Beyond the limit they are not granted.
    releases(4)
    releases(3)
    expect([at.slots(), at.status('f')]).toEqual([{ 0: 'c', 1: 'b' }, 'queued'])
    releases(1)
    expect([at.slots(), at.status('f')]).toEqual([{ 0: 'c', 1: 'f' }, 'pending'])
  })

  it('moves a holder as it is: since when, and with its fairness key', async () => {
    const at = await held(1, [], 3)
    const stay = { holder: 'x', since: 5, lane: 'l', heldMs: 7 }
    at.do((storage) => writeSlot(storage, LIMIT, { holder: '', since: 0, index: 2, version: 0 }, stay))
    expect(at.do((storage) => hasSurplus(storage, LIMIT, limitIn(at)))).toBe(false)
    expect(at.do((storage) => readSlot(storage, LIMIT, 0))).toMatchObject(stay)
    expect(at.slots()).toEqual({ 0: 'x' })
  })

  it('frees the old slot of a holder that was moved by a process that died before it did', async () => {
    const at = await held(2, ['x', 'y'], 5)
    at.do((storage) =>
      writeSlot(storage, LIMIT, { holder: '', since: 0, index: 4, version: 0 }, { holder: 'x', since: 5 }),
    )
    expect(at.do((storage) => hasSurplus(storage, LIMIT, limitIn(at)))).toBe(false)
    expect(at.slots()).toEqual({ 0: 'x', 1: 'y' })
  })

  it('remembers how many slots it had, whether code or an operator lowers it', async () => {
    const at = new LimiterWorld()
    await at.create('a', at.admission({ concurrency: 3 }))
    await at.create('b', at.admission({ concurrency: 1 }))
    expect(at.storage.documents.get(LIMITS, LIMIT.limit)?.value).toEqual({ code: { concurrency: 1 }, widest: 3 })
    expect(limitIn(at)).toMatchObject({ spec: { concurrency: 1 }, widest: 3 })
  })
})
