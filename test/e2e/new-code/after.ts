import { workflow } from 'overwinter'

export * from './before.ts'

export const greetAgain = workflow('greet', { version: 2 }, async (ctx) => {
  await ctx.sleep('night', '1h')
  return 'good morning'
})

export const farewell = workflow('farewell', async (ctx) => {
  await ctx.sleep('night', '1h')
  return 'goodbye'
})
