import { workflow } from 'overwinter'
import * as z from 'zod'

interface Findings {
  notes: { subject: string; fact: string }[]
  thoughts: number
}

/**
 * An agent whose thinking runs in an external worker, in Python (workers/python/agent.py): each thought is an
 * iteration of one task. The waiting run uses no compute.
 */
export const research = workflow(
  'research',
  { input: z.object({ topic: z.string(), most: z.int().min(1).max(50).default(10) }) },
  async (ctx, { topic, most }) => {
    const { notes, thoughts } = await ctx.task<Findings>(
      'research',
      { topic },
      { maxIterations: most, heartbeatTimeout: '1m' },
    )
    const report = await ctx.step('write-up', () => notes.map(({ subject, fact }) => `${subject}: ${fact}`).join('; '))
    return { thoughts, report }
  },
)
