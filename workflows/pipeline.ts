import { type Duration, RetryableError, workflow } from 'overwinter'
import * as z from 'zod'

const Work = z.object({
  pages: z.int().min(1).max(1_000),
  /** The pause between two pages, and after the API has refused one. */
  distance: z.string().default('30s'),
  coolDown: z.string().default('2m'),
})

/** Calls an API that allows one page every half minute, and pauses when the API asks for it. */
export const pipeline = workflow('pipeline', { input: Work }, async (ctx, { pages, distance, coolDown }) => {
  let records = 0
  for (let page = 1; page <= pages; page++) {
    if (page > 1) await ctx.sleep('cool-down', distance as Duration)
    records += await ctx.step('fetch page', ({ attempt }) => fetchPage(page, attempt, coolDown), { timeout: '10s' })
    ctx.progress({ page, pages, records })
  }
  return { records }
})

/** A stand-in for the API: the first request of every third page comes too soon. */
function fetchPage(page: number, attempt: number, coolDown: string): number {
  if (page % 3 === 0 && attempt === 1)
    throw new RetryableError('429: too many requests', { after: coolDown as Duration })
  return 100
}
