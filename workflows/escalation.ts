import { type Duration, signal, workflow } from 'overwinter'
import * as z from 'zod'

export const acknowledged = signal('acknowledged', z.object({ by: z.string() }))

const Incident = z.object({
  incident: z.string(),
  people: z.array(z.string()).min(1),
  deadline: z.iso.datetime(),
  /** How long each person may take to react. */
  patience: z.string().default('10m'),
})

/** Notifies one person after the other until one reacts or the deadline passes. */
export const escalation = workflow(
  'escalation',
  { input: Incident, signals: [acknowledged] },
  async (ctx, { incident, people, deadline, patience }) => {
    const tooLate = ctx.sleepUntil('deadline', deadline).then(() => undefined)
    const reaction = ctx.waitFor(acknowledged)
    const told: string[] = []
    for (const person of people) {
      told.push(await ctx.step('page', () => `${person} about ${incident}`))
      const event = await Promise.race([
        reaction,
        tooLate.then(() => 'late' as const),
        ctx.sleep('patience', patience as Duration).then(() => 'next' as const),
      ])
      if (event === 'late') break
      if (event !== 'next') return { incident, told, acknowledgedBy: event.by }
    }
    const by = await Promise.race([reaction, tooLate])
    return { incident, told, acknowledgedBy: by?.by ?? 'nobody' }
  },
)
