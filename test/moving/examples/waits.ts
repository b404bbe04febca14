import { workflow } from 'overwinter'

export const waits = workflow('waits', async (ctx) => {
  await ctx.sleep('first', '5s')
  await ctx.sleep('second', '5s')
  return { waited: 2, last: 'second' }
})
