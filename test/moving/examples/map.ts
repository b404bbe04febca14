import { workflow } from 'overwinter'

/** Two good ones are enough, and up to half may fail. */
export const map = workflow('map', async (ctx) => {
  const orders = [
    { id: 1, isBad: false },
    { id: 2, isBad: true },
    { id: 3, isBad: false },
    { id: 4, isBad: true },
    { id: 5, isBad: false },
  ]
  const { results, ...counts } = await ctx.map(
    'order',
    orders,
    (c, { id, isBad }) =>
      c.step(
        'process',
        () => {
          if (isBad) throw new Error(`order ${id} is bad`)
          return { id, processed: true, note: `order ${id} is done` }
        },
        { retry: { attempts: 2 } },
      ),
    { concurrency: 3, need: 2, tolerate: '50%' },
  )
  const withIds = results.map((result, i) => ({ ...result, id: orders[i]!.id }))
  return {
    ...counts,
    total: orders.length,
    done: withIds.filter(({ status }) => status === 'fulfilled'),
    bad: withIds.filter(({ status }) => status === 'rejected'),
  }
})
