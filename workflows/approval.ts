import { signal, workflow } from 'overwinter'
import * as z from 'zod'

export const decided = signal('decided', z.object({ by: z.string(), approve: z.boolean() }))

/** Half an hour for a person to decide. Nobody's silence is an error: it is an answer of its own. */
export const approval = workflow('approval', { input: z.object({ document: z.string() }) }, async (ctx, { document }) => {
  await ctx.step('ask', () => `asked for a decision about ${document}`)
  const decision = await ctx.waitFor(decided, { timeout: '30m' })
  if (!decision) return { document, outcome: 'expired' }
  await ctx.step('tell the author', () => `${decision.by} has decided`)
  return { document, outcome: decision.approve ? 'approved' : 'rejected', by: decision.by }
})
