import { RetryableError, workflow } from 'overwinter'
import * as z from 'zod'

/** Calls an API that allows one page every half minute, and cools down when it is told to. */
export const pipeline = workflow('pipeline', { input: z.object({ pages: z.int().min(1).max(1_000) }) }, async (ctx, { pages }) => {
  let records = 0
  for (let page = 1; page <= pages; page++) {
    if (page > 1) await ctx.sleep('cool-down', '30s')
    records += await ctx.step('fetch page', ({ attempt }) => fetchPage(page, attempt), { timeout: '10s' })
    ctx.progress({ page, pages, records })
  }
  return { records }
})

/** A stand-in for the API: the first request of every third page comes too soon. */
function fetchPage(page: number, attempt: number): number {
  if (page % 3 === 0 && attempt === 1) throw new RetryableError('429: too many requests', { after: '2m' })
  return 100
}
