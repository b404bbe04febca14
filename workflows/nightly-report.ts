import { schedule, workflow } from 'overwinter'
import * as z from 'zod'

/** One day's figures, gathered in parallel. */
export const nightlyReport = workflow(
  'nightly-report',
  { input: z.object({ regions: z.array(z.string()) }) },
  async (ctx, { regions }) => {
    const day = new Date(ctx.now()).toISOString().slice(0, 10)
    const totals = await ctx.map('region', regions, (region, name) => region.step('count', () => name.length * 100), {
      concurrency: 4,
    })
    const total = totals.reduce((sum, each) => sum + each, 0)
    await ctx.step('publish', () => `${day}: ${total}`)
    return { day, total }
  },
)

/** Every night at half past two, Berlin's time, summer and winter. */
export const everyNight = schedule('nightly-report', { cron: '30 2 * * *', timezone: 'Europe/Berlin' }, nightlyReport, {
  regions: ['eu', 'us', 'asia'],
})
