import { appendFileSync } from 'node:fs'
import { workflow } from 'overwinter'
import * as z from 'zod'

const Order = z.object({ item: z.string(), cents: z.int() })

/** The workflow that the demo interrupts. Its effects are lines in this file, so that they can be counted. */
const EFFECTS = process.argv[3] ?? ''

export const order = workflow('order', { input: Order }, async (ctx, { item, cents }) => {
  await ctx.step('charge', does(`charged ${cents / 100} €`))
  await ctx.step('pack', does(`packed ${item}`))
  await ctx.sleep('cool-off', '4s')
  await Promise.all([ctx.step('ship', does(`shipped ${item}`)), ctx.step('mail', does('sent a mail'))])
  return { status: 'shipped' }
})

function does(what: string): () => Promise<string> {
  return async () => {
    await new Promise((resolve) => setTimeout(resolve, 350))
    appendFileSync(EFFECTS, `${JSON.stringify({ what, pid: process.pid })}\n`)
    return what
  }
}
