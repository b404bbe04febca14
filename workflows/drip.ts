import { signal, workflow } from 'overwinter'
import * as z from 'zod'

export const unsubscribed = signal('unsubscribed')

const LETTERS = [
  { template: 'welcome', wait: '2d' },
  { template: 'follow-up', wait: '5d' },
  { template: 'last call', wait: '14d' },
] as const

/** Letters over three weeks, until the person unsubscribes. Between two letters the run uses no compute. */
export const drip = workflow(
  'drip',
  { input: z.object({ email: z.string() }), signals: [unsubscribed] },
  async (ctx, { email }) => {
    const sent: string[] = []
    // One wait for the whole campaign: with a wait in every round, the earlier ones would take the signal.
    const enough = ctx.waitFor(unsubscribed).then(() => true)
    for (const { template, wait } of LETTERS) {
      sent.push(await ctx.step('send', ({ idempotencyKey }) => send(email, template, idempotencyKey)))
      if (await Promise.race([enough, ctx.sleep('pause', wait).then(() => false)])) return { sent, unsubscribed: true }
    }
    return { sent, unsubscribed: false }
  },
)

/** A stand-in for a mail service, which recognises a repeated request by its key. */
function send(email: string, template: string, idempotencyKey: string): string {
  return `${template} to ${email} (${idempotencyKey.split('/').at(-1)})`
}
