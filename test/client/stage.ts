import * as z from 'zod'
import type { WorkflowClient } from '../../sdk/client/workflow-client.ts'
import { OverwinterClient } from '../../sdk/http-client/index.ts'
import { limit, request, schedule, signal, workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'
import { createApp } from '../http/by-the-document.ts'

export const go = signal('go', z.object({ by: z.string() }))
export const price = request('price', { payload: z.object({ item: z.string() }), reply: z.object({ cents: z.int() }) })
export const api = limit('api', { concurrency: 2 })

export const add = workflow(
  'add',
  { input: z.object({ a: z.int(), b: z.int() }), tags: ['sum'] },
  async (ctx, { a, b }) => ctx.step('add', () => a + b),
)
export const nap = workflow('nap', async (ctx) => {
  await ctx.sleep('nap', '1h')
  return 'rested'
})
export const waits = workflow('waits', { signals: [go, price] }, async (ctx) => {
  const { by } = await ctx.waitFor(go)
  return by
})
export const shop = workflow('shop', { signals: [price, go] }, async (ctx) => {
  for (;;) {
    const { payload, reply, refuse } = await ctx.waitFor(price)
    if (payload.item === 'fish') refuse(new Error('sold out'))
    else reply({ cents: 250 })
  }
})
export const broken = { isBroken: true }
export const flaky = workflow('flaky', async (ctx) => {
  await ctx.step('first', () => 1)
  return ctx.step(
    'second',
    () => {
      if (broken.isBroken) throw new Error('out of order')
      return 'well'
    },
    { retry: { attempts: 1 } },
  )
})
export const asks = workflow('asks', async (ctx) => {
  const { promise } = ctx.callback<{ ok: boolean }>('decide', {
    schema: z.object({ ok: z.boolean() }),
    question: 'Is it well?',
  })
  return promise
})
export const limited = workflow('limited', async (ctx) => ctx.step('call', () => 'called', { limit: api }))

const nightly = schedule('nightly', { cron: '0 2 * * *' }, nap, undefined)

export interface Stage extends AsyncDisposable {
  client: WorkflowClient
}

/** The same world, looked at by either client. */
async function world(): Promise<Local> {
  broken.isBroken = true
  const workflows = [add, nap, waits, shop, flaky, asks, limited]
  return Local.open({ path: ':memory:', workflows, schedules: [nightly], log: () => {} })
}

export const CLIENTS: Record<string, () => Promise<Stage>> = {
  async 'the client in process'() {
    const local = await world()
    return { client: local, [Symbol.asyncDispose]: () => local.close(0) }
  },
  async 'the client over HTTP'() {
    const local = await world()
    const app = createApp({ client: local, log: () => {} })
    const client = new OverwinterClient({
      url: 'http://here',
      fetch: async (input, init) => app.request(new Request(input, init)),
    })
    return { client, [Symbol.asyncDispose]: () => local.close(0) }
  },
}
