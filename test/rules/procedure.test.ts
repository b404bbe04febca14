import { describe, expect, it } from 'vitest'
import { ask, callByCall, inOneGo, inParallel, type Procedure, together } from '../../sdk/rules/procedure.ts'

const later = async <T>(value: T): Promise<T> => value
function* sum(a: number | Promise<number>, b: number | Promise<number>): Procedure<number> {
  return (yield* ask(a)) + (yield* ask(b))
}
function* sums(count: number, wrap: (n: number) => number | Promise<number>): Procedure<number[]> {
  return yield* together(Array.from({ length: count }, (_, i) => sum(wrap(i), wrap(10))))
}

describe('a procedure', () => {
  it('has the same outcome in one go and call by call', async () => {
    expect(inOneGo(sum(1, 2))).toBe(3)
    expect(await callByCall(sum(later(1), later(2)))).toBe(3)
    expect(await callByCall(sum(1, 2))).toBe(3)
  })

  it('keeps the order of what is done together, be it nothing, one or many', async () => {
    for (const count of [0, 1, 3]) {
      const expected = Array.from({ length: count }, (_, i) => i + 10)
      expect(inOneGo(sums(count, (n) => n))).toEqual(expected)
      expect(await callByCall(sums(count, later))).toEqual(expected)
    }
  })

  it('does not yield for nothing', () => {
    expect(together([]).next()).toEqual({ done: true, value: [] })
    expect(together([sum(1, 2)]).next()).toEqual({ done: false, value: 1 })
  })

  it('meets an answer that fails where it asked for it, and may go on', async () => {
    function* careful(): Procedure<string> {
      try {
        yield* ask(Promise.reject(new Error('throttled')))
      } catch (error) {
        return `${(error as Error).message}, then ${yield* ask(later('fine'))}`
      }
      return 'never'
    }
    expect(await callByCall(careful())).toBe('throttled, then fine')
  })

  it('fails with an answer that was not expected to fail', async () => {
    await expect(callByCall(sum(later(1), Promise.reject(new Error('gone'))))).rejects.toThrow('gone')
  })
})

describe('many at once', () => {
  it('are done once each, keep their order, and never more than 25 are under way', async () => {
    let underWay = 0
    let most = 0
    const started: number[] = []
    const results = await inParallel(
      Array.from({ length: 60 }, (_, i) => i),
      async (i) => {
        started.push(i)
        most = Math.max(most, ++underWay)
        await later(undefined)
        underWay--
        return i * 2
      },
    )
    expect(results).toEqual(Array.from({ length: 60 }, (_, i) => i * 2))
    expect(started).toHaveLength(60)
    expect(most).toBe(25)
  })

  it('may be fewer than that, or none', async () => {
    expect(await inParallel([1, 2], later)).toEqual([1, 2])
    expect(await inParallel([], later)).toEqual([])
  })
})
