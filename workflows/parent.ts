import { workflow } from 'overwinter'
import * as z from 'zod'

export const child = workflow('child', { input: z.object({ city: z.string() }) }, async (ctx, { city }) => {
  const letters = await ctx.step('count', () => city.length)
  await ctx.sleep('rest', '1s')
  return { city, letters }
})

/** Runs that start runs: each child has a history of its own, and the waiting parent uses no compute. */
export const parent = workflow(
  'parent',
  { input: z.object({ cities: z.array(z.string()) }) },
  async (ctx, { cities }) => {
    const visits = await Promise.all(cities.map((city) => ctx.run(child, { city })))
    return { letters: visits.reduce((sum, { letters }) => sum + letters, 0) }
  },
)
