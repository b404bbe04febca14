import { workflow } from 'overwinter'

export const nap = workflow('nap', async (ctx) => {
  await ctx.sleep('rest', '1d')
  return 'slept'
})
