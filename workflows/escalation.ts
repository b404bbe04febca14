import { signal, workflow } from 'overwinter'
import * as z from 'zod'

export const acknowledged = signal('acknowledged', z.object({ by: z.string() }))

/** Goes from one person to the next until somebody reacts or the deadline has come. */
export const escalation = workflow(
  'escalation',
  { input: z.object({ incident: z.string(), people: z.array(z.string()).min(1), deadline: z.iso.datetime() }) },
  async (ctx, { incident, people, deadline }) => {
    const tooLate = ctx.sleepUntil('deadline', deadline).then(() => undefined)
    const reaction = ctx.waitFor(acknowledged)
    const told: string[] = []
    for (const person of people) {
      told.push(await ctx.step('page', () => `${person} about ${incident}`))
      const event = await Promise.race([reaction, tooLate.then(() => 'late' as const), ctx.sleep('patience', '10m').then(() => 'next' as const)])
      if (event === 'late') break
      if (event !== 'next') return { incident, told, acknowledgedBy: event.by }
    }
    const by = await Promise.race([reaction, tooLate])
    return { incident, told, acknowledgedBy: by?.by ?? 'nobody' }
  },
)
