import { type Duration, limit, RetryableError, workflow } from 'overwinter'
import * as z from 'zod'

/** What the API of all shops allows, whichever workflow calls it. */
export const shopApi = limit('shop-api', { rate: 120, per: '1m', concurrency: 5 })

const Shop = z.object({
  shop: z.string(),
  pages: z.int().min(1).max(1_000),
  /** The pause that the API asks for after too many requests. */
  rest: z.string().default('2m'),
})

/**
 * Imports a shop page by page. One import of a shop at a time, and all imports together within the API's
 * limit: the code needs no sleeps of guessed length.
 */
export const importShop = workflow(
  'import-shop',
  { input: Shop, concurrency: { limit: 1, key: ({ shop }) => shop } },
  async (ctx, { shop, pages, rest }) => {
    let products = 0
    for (let page = 1; page <= pages; page++) {
      products += await ctx.step('fetch page', ({ attempt }) => fetchPage(page, attempt, rest), {
        limit: shopApi,
        timeout: '10s',
      })
      ctx.progress({ page, pages, products })
    }
    return { shop, products }
  },
)

/** A stand-in for the API: the first request of every third page is one too many, and then all its callers pause. */
function fetchPage(page: number, attempt: number, rest: string): number {
  if (page % 3 === 0 && attempt === 1)
    throw new RetryableError('429: too many requests', { after: rest as Duration, limit: shopApi })
  return 100
}
