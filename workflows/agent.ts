import { workflow } from 'overwinter'
import * as z from 'zod'

interface Thought {
  notes: string[]
  isDone: boolean
}

/**
 * A loop of thinking and acting. Each thought is a step with checkpoints, so a crash loses a token or two,
 * not the whole thought.
 */
export const agent = workflow(
  'agent',
  { input: z.object({ goal: z.string(), most: z.int().min(1).max(50).default(10) }) },
  async (ctx, { goal, most }) => {
    let notes: string[] = []
    for (let turn = 1; turn <= most; turn++) {
      const thought = await ctx.step(
        'think',
        async ({ checkpoint, lastCheckpoint, heartbeat }) => {
          const draft = (lastCheckpoint as string[] | undefined) ?? []
          while (draft.length < 3) {
            draft.push(`${goal}: turn ${turn}, part ${draft.length + 1}`)
            heartbeat({ turn, parts: draft.length })
            await checkpoint(draft)
          }
          return { notes: draft, isDone: turn === 3 } satisfies Thought
        },
        { timeout: '5m' },
      )
      notes = [...notes, ...thought.notes]
      ctx.progress({ turn, notes: notes.length })
      if (thought.isDone) return { turns: turn, notes }
      await ctx.step('act', () => `acted on ${thought.notes.at(-1)}`)
    }
    return { turns: most, notes }
  },
)
