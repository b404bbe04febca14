import { type Duration, FatalError, signal, workflow } from 'overwinter'
import * as z from 'zod'

export const approved = signal('approved', z.object({ by: z.string() }))

const Order = z.object({
  id: z.string(),
  cents: z.int().positive(),
  /** How long a person may take to approve it. */
  patience: z.string().default('30m'),
  address: z.string(),
})

/** Payment, a person's approval, delivery. If one part fails, completed parts are undone, last first. */
export const order = workflow(
  'order',
  { input: Order, signals: [approved] },
  async (ctx, { id, cents, patience, address }) => {
    const payment = await ctx.step('charge', ({ idempotencyKey }) => charge(id, cents, idempotencyKey))
    ctx.compensate('refund', () => refund(payment))
    ctx.progress({ state: 'charged', payment })

    const approval = await ctx.waitFor(approved, { timeout: patience as Duration })
    if (!approval) throw new FatalError(`nobody approved order '${id}' in time`)
    ctx.progress({ state: 'approved', by: approval.by })

    const parcel = await ctx.step('ship', () => ship(id, address), { retry: { attempts: 2, initial: '1s' } })
    return { payment, parcel, approvedBy: approval.by }
  },
)

/** Stand-ins for a payment provider and a carrier, which recognise a repeated request by its key. */
function charge(order: string, cents: number, idempotencyKey: string): string {
  return `payment-${order}-${cents}-${idempotencyKey.length > 0 ? 'once' : 'twice'}`
}

function refund(payment: string): string {
  return `refunded ${payment}`
}

function ship(order: string, address: string): string {
  if (address === '') throw new FatalError(`order '${order}' has no address`)
  return `parcel-${order}`
}
