import { setTimeout as taking } from 'node:timers/promises'
import { FatalError, request, schedule, signal, workflow } from 'overwinter'
import { dag } from 'overwinter/definitions'
import * as z from 'zod'

/** What the scenarios of the dashboard play with. */

const approved = signal('approved', z.object({ by: z.string().min(1), note: z.string().optional() }))
const status = request('status', { reply: z.string() })

const Order = z.object({
  customer: z.string().min(2).describe('Who pays'),
  amount: z.number().positive().max(10_000),
  quantity: z.int().min(1).default(1),
  kind: z.enum(['book', 'film', 'record']),
  isGift: z.boolean().optional(),
  deliverOn: z.iso.date().optional(),
  address: z.object({ street: z.string().min(1), city: z.string().min(1) }).optional(),
  notes: z.array(z.string()).optional(),
})

/** Retries, parallel steps, a wait for a person, and a child. */
export const order = workflow(
  'order',
  { input: Order, signals: [approved], tags: ['shop'] },
  async (ctx, { customer, amount }) => {
    await ctx.step('reserve', () => taking(12, { customer, shelf: 'A7' }))
    await Promise.all([
      ctx.step(
        'charge',
        async ({ attempt }) => {
          await taking(25)
          if (attempt === 1) throw new Error('the card terminal is busy')
          return { charged: amount }
        },
        { retry: { attempts: 3, initial: 20 } },
      ),
      ctx.step('pack', () => taking(40, 'packed')),
    ])
    const { by } = await ctx.waitFor(approved)
    const parcel = await ctx.run(parcels, { to: customer })
    return { customer, by, parcel }
  },
)

export const parcels = workflow('parcels', async (ctx, { to }: { to: string }) =>
  ctx.step('send', () => `parcel for ${to}`),
)

export const nap = workflow('nap', async (ctx, { name = 'Ada' }: { name?: string }) => {
  await ctx.step('lie down', () => `${name} lies down`)
  await ctx.sleep('winter', '90d')
  await ctx.step('get up', () => `${name} gets up`)
  return `${name} has slept`
})

/** Whether what the payments depend on is mended. */
export const gateway = { isDown: true }

/** Where they are deployed, an item of a table says so. */
async function isGatewayDown(): Promise<boolean> {
  const { GATEWAY_TABLE: TableName } = process.env
  if (!TableName) return gateway.isDown
  const { DynamoDBClient, GetItemCommand } = await import('@aws-sdk/client-dynamodb')
  const { Item } = await new DynamoDBClient().send(
    new GetItemCommand({ TableName, Key: { id: { S: 'gateway' } }, ConsistentRead: true }),
  )
  return Item?.isDown?.BOOL ?? true
}

export const payment = workflow('payment', async (ctx, { order }: { order: string }) => {
  const price = await ctx.step('price', () => taking(8, 12))
  await ctx.step('charge', async () => {
    if (await isGatewayDown()) throw new FatalError(`order ${order}: the gateway answered 503`)
    return { charged: price }
  })
  return { order, price }
})

/** Undoes its booking where it cannot be paid. */
export const trip = workflow('trip', { tags: ({ to }) => [`to:${to}`] }, async (ctx, { to }: { to: string }) => {
  await ctx.step('book', () => `a seat to ${to}`)
  ctx.compensate('unbook', () => `no seat to ${to}`)
  return ctx.step('pay', async () => {
    if (await isGatewayDown()) throw Object.assign(new FatalError(`no money for ${to}`), { code: 'declined' })
    return 'paid'
  })
})

/** Awaits what is no operation of ctx, and is stuck. */
export const strays = workflow('strays', async () => new Promise<void>(() => {}))

export const batch = workflow('batch', async (ctx, { items = 40 }: { items?: number }) => {
  const list = Array.from({ length: items }, (_, i) => i)
  await ctx.map('items', list, (each, item) => each.step('work', () => taking(5 + (item % 7) * 3, item * 2)))
  return { items }
})

/** Gives back what it got. */
export const echo = workflow('echo', async (ctx, input: unknown) => ctx.step('echo', () => input as string))

export const review = workflow('review', async (ctx, { document }: { document: string }) => {
  const { promise } = ctx.callback<{ isFine: boolean }>('reviewer', { timeout: '7d' })
  return { document, ...(await promise) }
})

export const talk = workflow('talk', { signals: [status, approved] }, async (ctx) => {
  const asked = await ctx.waitFor(status)
  asked.reply('all is well')
  await ctx.waitFor(approved)
})

/** One at a time for each warehouse, until somebody says that it is packed. */
const packed = signal('packed')
export const packing = workflow(
  'packing',
  { concurrency: { limit: 1, key: ({ warehouse }) => warehouse } },
  async (ctx, { warehouse }: { warehouse: string }) => {
    await ctx.waitFor(packed)
    return warehouse
  },
)

export const diamond = dag<{ cents: number }>('diamond')
  .task('fetch', ({ input }) => input.cents)
  .task('tax', ({ parents }) => parents.fetch * 0.2, { after: 'fetch' })
  .task('discount', ({ parents }) => parents.fetch * 0.1, { after: 'fetch' })
  .task('bill', ({ parents }) => parents.tax - parents.discount, { after: ['tax', 'discount'] })
  .build()

export const nightly = schedule('nightly', { cron: '0 3 * * *', timezone: 'Europe/Berlin' }, nap, { name: 'Bo' })

export const workflows = [order, parcels, nap, payment, batch, echo, review, talk, packing, diamond, trip, strays]
export const schedules = [nightly]
