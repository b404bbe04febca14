import { workflow } from 'overwinter'
import * as z from 'zod'

interface Findings {
  notes: { subject: string; fact: string }[]
  thoughts: number
}

/** An agent whose thoughts are had outside, in Python (workers/python/agent.py), each an iteration of one task. The run waits, and holds nothing. */
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
