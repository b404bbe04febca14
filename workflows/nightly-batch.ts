import { limit, schedule, workflow } from 'overwinter'
import * as z from 'zod'

/** The database of the books, which takes at most two writers, by day and by night. */
const ledger = limit('ledger', { concurrency: 2 })

const Usage = z.object({ tenant: z.string().min(1), units: z.number() })

/**
 * By day: started once for each use of the product. Ten uses of a tenant are written at once, or as many as
 * came within a minute.
 */
export const usage = workflow(
  'usage',
  { input: Usage, batch: { size: 10, wait: '1m', key: ({ tenant }) => tenant } },
  async (ctx, uses) => {
    const units = uses.reduce((sum, use) => sum + use.units, 0)
    await ctx.step('write down', () => `${uses.length} uses, ${units} units`, { limit: ledger })
    return { uses: uses.length, units }
  },
)

/** By night: the bill of every tenant. All are started at once, and the ledger takes two at a time. */
export const billing = workflow(
  'billing',
  { input: z.object({ tenants: z.array(z.string()) }) },
  async (ctx, { tenants }) => {
    const bills = await ctx.map('tenant', tenants, (one, tenant) =>
      one.step('bill', () => `bill for ${tenant}`, { limit: ledger }),
    )
    return { bills }
  },
)

export const everyNightBilling = schedule('billing', { cron: '0 1 * * *', timezone: 'Europe/Berlin' }, billing, {
  tenants: ['acme', 'globex', 'initech'],
})
