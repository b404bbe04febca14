import { workflow } from 'overwinter'
import * as z from 'zod'
import { handOut } from './outside.ts'

/** What the sender sends, and what becomes of it: a text becomes a date. */
export const Message = z.object({
  id: z.number(),
  text: z.string(),
  at: z.coerce.date(),
  meta: z.object({
    version: z.string(),
    isRead: z.boolean().transform(() => true),
  }),
})
type Linked = z.infer<typeof Message> & { self?: Linked }

export const serdes = workflow('serdes', async (ctx) => {
  const asked = ctx.callback('message', { schema: Message, timeout: '5m' })
  await ctx.step('submit', () => handOut(asked.token))
  // What cannot be stored, a circle or a class of one's own, is made by ordinary code: it runs again at every replay.
  const message: Linked = await asked.promise
  message.self = message
  const readBefore = await ctx.step('read?', () => message.meta.isRead)
  const dateBefore = await ctx.step('date?', () => message.at instanceof Date)
  await ctx.sleep('1s')
  const hasCircle = message.self === message
  delete message.self
  return {
    message,
    hasCircle,
    dateBefore,
    dateAfter: message.at instanceof Date,
    readBefore,
    readAfter: message.meta.isRead,
  }
})
