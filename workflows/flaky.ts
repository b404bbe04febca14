import { workflow } from 'overwinter'
import * as z from 'zod'

/** A step that fails a few times. Any runner retries it later; between attempts the run uses no compute. */
export const flaky = workflow('flaky', { input: z.object({ failures: z.int().min(0) }) }, async (ctx, { failures }) => {
  const attempts = await ctx.step(
    'call-a-shaky-service',
    ({ attempt }) => {
      if (attempt <= failures) throw new Error(`no luck the ${attempt}. time`)
      return attempt
    },
    { retry: { attempts: 5, initial: '2s', factor: 1, jitter: false } },
  )
  return { attempts }
})
