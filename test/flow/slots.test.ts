import { describe, expect, it } from 'vitest'
import { averageHeld, blockOf, blocksOf, SLOTS_PER_BLOCK, slotKey, spread } from '../../sdk/flow/limiter/slots.ts'

describe('slots', () => {
  it('are in blocks of 100, so that a limit of 1,000 has ten', () => {
    expect([1, 100, 101, 1_000].map(blocksOf)).toEqual([1, 1, 2, 10])
    expect([0, 99, 100, 999].map(blockOf)).toEqual([0, 0, 1, 9])
    expect(SLOTS_PER_BLOCK).toBe(100)
  })

  it('are sorted by their numbers', () => {
    const keys = Array.from({ length: 10_000 }, (_, i) => slotKey(i))
    expect(keys.toSorted()).toEqual(keys)
    expect(keys.map(Number)).toEqual(keys.map((_, i) => i))
  })

  it('are spread evenly over blocks', () => {
    const counts = Array<number>(10).fill(0)
    for (let i = 0; i < 10_000; i++) counts[spread(`run-${i}`) % 10]!++
    for (const count of counts) expect(Math.abs(count - 1_000)).toBeLessThan(200)
    expect(spread('run')).toBe(spread('run'))
  })

  it('say how long they are held, the last stays most', () => {
    expect(averageHeld(undefined, 100, 600)).toBe(500)
    expect(averageHeld(1_000, 100, 600)).toBe(900)
    // Clocks may disagree.
    expect(averageHeld(undefined, 600, 100)).toBe(0)
  })
})
