import { type Duration, signal, workflow } from 'overwinter'
import * as z from 'zod'

export const decided = signal('decided', z.object({ by: z.string(), approve: z.boolean() }))

const Request = z.object({
  document: z.string(),
  /** How long a person may take to decide. */
  patience: z.string().default('30m'),
})

/** Half an hour for a person to decide. Silence is no error: it is an answer of its own. */
export const approval = workflow(
  'approval',
  { input: Request, signals: [decided] },
  async (ctx, { document, patience }) => {
    await ctx.step('ask', () => `asked for a decision about ${document}`)
    const decision = await ctx.waitFor(decided, { timeout: patience as Duration })
    if (!decision) return { document, outcome: 'expired' }
    await ctx.step('tell the author', () => `${decision.by} has decided`)
    return { document, outcome: decision.approve ? 'approved' : 'rejected', by: decision.by }
  },
)
