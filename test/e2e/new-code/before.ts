import { workflow } from 'overwinter'

export const greet = workflow('greet', async (ctx) => {
  await ctx.sleep('night', '1h')
  return 'good evening'
})

/**
 * Goes through the queue again and again. Lambda counts how often, in the trace header that comes with a message; the stand-in does not, so a step does:
 * what is in this variable is what Lambda has put there.
 */
export const hops = workflow('hops', async (ctx, { most }: { most: number }) => {
  for (let hop = 1; hop <= most; hop++) {
    await ctx.step('arrive', () => {
      process.env._X_AMZN_TRACE_ID = `Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=0;Lineage=1:a87bd80c:${hop}`
    })
    // Less than a second would be waited for on the spot.
    await ctx.sleep('hop', 1_100)
  }
  return most
})
