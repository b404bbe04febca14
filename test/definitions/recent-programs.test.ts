import { expect, it, vi } from 'vitest'
import { boundedJsonata } from '../../sdk/jsonata/bounded-jsonata.ts'
import { evaluate, syntaxProblem } from '../../sdk/jsonata/evaluate.ts'
import { RecentPrograms } from '../../sdk/jsonata/recent-programs.ts'

vi.mock(import('../../sdk/jsonata/bounded-jsonata.ts'), async (original) => {
  const real = await original()
  return { ...real, boundedJsonata: vi.fn(real.boundedJsonata) }
})

const chance = { now: () => 0, random: () => 0 }

it('an expression that is used again is parsed once', async () => {
  for (let i = 0; i < 3; i++) expect(await evaluate('a + 1', { a: i }, chance)).toBe(i + 1)
  expect(vi.mocked(boundedJsonata).mock.calls).toEqual([['a + 1']])
})

it('an expression that is only checked is not kept', async () => {
  vi.mocked(boundedJsonata).mockClear()
  expect(syntaxProblem('a + 2')).toBeUndefined()
  await evaluate('a + 2', { a: 1 }, chance)
  expect(boundedJsonata).toHaveBeenCalledTimes(2)
})

it('of many expressions the most recent are kept, up to so many characters', () => {
  const parse = vi.fn((expression: string) => ({ evaluate: () => Promise.resolve(expression) }))
  const recent = new RecentPrograms(parse)
  const first = '"first"'
  for (let i = 0; i < 3_000; i++) {
    recent.programOf(`"${i}${'x'.repeat(2_000)}"`)
    recent.programOf(first)
  }
  recent.programOf(`"${'x'.repeat(499_990)}"`)
  expect(recent.size).toBeLessThanOrEqual(500_000)
  expect(recent.size).toBeGreaterThan(400_000)
  expect(parse.mock.calls.filter(([expression]) => expression === first)).toHaveLength(1)
})
