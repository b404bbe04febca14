import { workflow } from 'overwinter'
import * as z from 'zod'

/** Many items, a few at a time. Results that arrive together are written together. */
export const fanOut = workflow(
  'fan-out',
  { input: z.object({ items: z.int().min(0).max(10_000), concurrency: z.int().positive().default(10) }) },
  async (ctx, { items, concurrency }) => {
    const numbers = Array.from({ length: items }, (_, i) => i)
    const squares = await ctx.map('square', numbers, (scope, n) => scope.step('multiply', () => n * n), { concurrency })
    return { count: squares.length, sum: squares.reduce((sum, n) => sum + n, 0) }
  },
)
