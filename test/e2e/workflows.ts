import { createHmac } from 'node:crypto'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient, GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb'
import { request, signal, workflow } from 'overwinter'
import { type QueueEvent, startOn } from 'overwinter/events'
import * as z from 'zod'

/** The examples, and some that get into trouble on purpose. */
export * from '../../workflows/index.ts'

/** Its first attempts take the whole runner with them, as running out of memory would. */
export const deadly = workflow('deadly', async (ctx, input: { deaths: number }) => {
  const before = await ctx.step('before', () => 'kept')
  const deaths = await ctx.step('dies', async ({ lastCheckpoint, checkpoint }) => {
    const died = (lastCheckpoint as number | undefined) ?? 0
    if (died >= input.deaths) return died
    await checkpoint(died + 1)
    process.exit(1)
  })
  return { before, deaths }
})

/** Kills every runner until somebody lets it live: its poison is in a signal's absence. */
export const healed = signal<{ by: string }>('healed')
export const poison = workflow('poison', async (ctx) => {
  const antidote = await Promise.race([ctx.waitFor(healed), ctx.step('poison', ({ attempt }) => bite(attempt))])
  return { antidote }
})

function bite(_attempt: number): never {
  process.exit(1)
}

/** Gives back what it gets, by way of a step and an output. */
export const echo = workflow('echo', async (ctx, input: { text: string }) => {
  const text = await ctx.step('repeat', () => input.text)
  return { text }
})

/** Notes when it woke up. */
export const punctual = workflow('punctual', async (ctx, input: { ms: number }) => {
  const asleepAt = ctx.now()
  await ctx.sleep('nap', input.ms)
  const wokeAt = await ctx.step('look-at-the-clock', () => Date.now())
  return { lateness: wokeAt - (asleepAt + input.ms) }
})

/** Has a worker outside do it. */
export const delegate = workflow('delegate', async (ctx, { type, input }: { type: string; input: unknown }) =>
  ctx.task(type, input, { heartbeatTimeout: '2s', retry: { attempts: 3, initial: 10 } }),
)

/** Somebody outside decides, by a link that the run shows as its progress. */
export const Decision = z.object({ approved: z.boolean(), note: z.string().optional() })
export const byLink = workflow('by-link', async (ctx) => {
  const { url, promise } = ctx.callback('decide', { timeout: '1h', schema: Decision, question: 'Shall we pay Ada?' })
  ctx.progress({ url })
  return promise
})

/** A service posts, and a step checks whether it was the right one. */
export const SHARED_SECRET = 'known to both'
export const webhook = workflow('webhook', async (ctx) => {
  const { url, promise } = ctx.callback('paid', { timeout: '1h', raw: true })
  ctx.progress({ url })
  const request = await promise
  return ctx.step('check', () => {
    const expected = createHmac('sha256', SHARED_SECRET).update(request.body).digest('hex')
    return { isGenuine: request.headers['x-signature'] === expected, body: request.body }
  })
})

/** A job outside that shows signs of life, or does not. */
export const watched = workflow('watched', async (ctx, input: { heartbeatMs: number }) => {
  const { url, promise } = ctx.callback<string>('job', { heartbeatTimeout: input.heartbeatMs })
  ctx.progress({ url })
  return promise.catch((error: Error) => error.message)
})

/** Replies to whoever asks, for as long as it lives. */
export const priceOf = request('price-of', {
  payload: z.object({ item: z.string() }),
  reply: z.object({ cents: z.number(), at: z.date() }),
})
export const pricing = workflow('pricing', { signals: [priceOf] }, async (ctx) => {
  for (;;) {
    const { payload, reply, refuse } = await ctx.waitFor(priceOf)
    if (payload.item === 'fish') refuse(new Error('sold out'))
    else reply({ cents: await ctx.step('look up', () => payload.item.length * 100), at: new Date(0) })
  }
})

/** Begun, told and called off by events from outside. */
export const arrived = signal('arrived', z.object({ id: z.string(), where: z.string() }))
export const parcel = workflow(
  'parcel',
  { input: z.object({ id: z.string(), via: z.string() }) },
  async (ctx, { via }) => {
    const { where } = await ctx.waitFor(arrived)
    return { via, where }
  },
)
export const parcelQueued = startOn('parcel-queued', {
  workflow: parcel,
  id: ({ body }: QueueEvent<{ id: string }>) => body.id,
  input: ({ body, queue }: QueueEvent<{ id: string }>) => ({ id: body.id, via: queue }),
})

/** As people write it: at the top of the module. */
const apiKeyWhenLoaded = process.env.API_KEY
const db = DynamoDBDocumentClient.from(new DynamoDBClient())

/** Uses what the construct was given for step code, and tries what it was not. */
export const ownResources = workflow('own-resources', async (ctx, { id }: { id: string }) => {
  await ctx.step('write', () =>
    db.send(new PutCommand({ TableName: process.env.ORDERS, Item: { id, total: 3 } })).then(() => null),
  )
  const total = await ctx.step(
    'read',
    async () => (await db.send(new GetCommand({ TableName: process.env.ORDERS, Key: { id } }))).Item?.total as number,
  )
  const secrets = await ctx.step('secrets', () => ({
    apiKeyWhenLoaded,
    password: process.env.DB_PASSWORD,
    feature: process.env.FEATURE,
  }))
  const trespass = await ctx.step('trespass', () =>
    db.send(new GetCommand({ TableName: process.env.STRANGERS, Key: { id } })).then(
      () => 'let in',
      (error: Error) => error.name,
    ),
  )
  return { total, secrets, trespass }
})
