import { workflow } from 'overwinter'
import * as z from 'zod'

/** A step, a sleep, a step. A sleeping run, for a second or a year, is an item in a table and one wake-up. */
export const nap = workflow(
  'nap',
  { input: z.object({ name: z.string(), seconds: z.number() }) },
  async (ctx, { name, seconds }) => {
    const fellAsleep = await ctx.step('fall-asleep', () => `${name} closed their eyes`)
    await ctx.sleep('sleep', { seconds })
    const wokeUp = await ctx.step('wake-up', () => `and slept for ${seconds} s`)
    return { message: `${fellAsleep} ${wokeUp}` }
  },
)
