import * as z from 'zod'
import type { AppOptions } from '../../functions/http/app.ts'
import { localRoutes } from '../../functions/local/routes.ts'
import { cancelOn, signalOn, startOn } from '../../sdk/events/index.ts'
import { type RunStatus, signal, workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'
import type { LogSink } from '../../sdk/ports/world.ts'
import { createApp } from './by-the-document.ts'

export const approved = signal('approved', z.object({ by: z.string() }))

export const order = workflow(
  'order',
  { input: z.object({ id: z.string(), cents: z.number() }), tags: ['shop'] },
  async (ctx, input) => (await ctx.step('charge', async () => input.cents)) + 1,
)
export const orderV2 = workflow('order', { version: 2 }, async () => 'two')
export const approval = workflow('approval', async (ctx) => {
  const answer = await ctx.waitFor(approved)
  return `by ${answer.by}`
})
const kid = workflow('kid', async (ctx) => ctx.info.runId)
const parent = workflow('parent', async (ctx) => ctx.run(kid))
const bell = workflow('bell', async (ctx) => ({ rang: await ctx.waitFor(signal('ring'), { timeout: '1d' }) }))
export const sleeper = workflow('sleeper', async (ctx) => {
  await ctx.sleep('first', '1h')
  await ctx.sleep('second', '1h')
  return 'awake'
})
/** Fails until it is allowed to work. */
export const flaky = workflow('flaky', async (ctx) => {
  const before = await ctx.step('before', async () => ++ran.before)
  return ctx.step(
    'work',
    async () => {
      if (ran.isBroken) throw new Error('broken')
      return before
    },
    { retry: { attempts: 1 } },
  )
})
export const ran = { before: 0, isBroken: true }
export const tokens = new Map<string, string>()
export const asker = workflow('asker', async (ctx) => {
  const { token, promise } = ctx.callback<string>('answer')
  await ctx.step('hand-out', async () => void tokens.set(ctx.info.runId, token))
  return promise
})
export const oddName = workflow('a/b %é?', async () => 'odd')

const MAPPINGS = [
  startOn('order-placed', { workflow: order, id: 'detail.id', input: 'detail' }),
  signalOn('order-approved', { signal: approved, runId: 'detail.id', payload: 'detail.{ "by": by }' }),
  cancelOn('order-withdrawn', { runId: 'detail.id' }),
]

const WORKFLOWS = [order, approval, sleeper, flaky, asker, oddName, bell, kid, parent]
const silent: LogSink = () => {}

export class Api {
  readonly local: Local
  readonly app: ReturnType<typeof createApp>

  constructor(local: Local, options: Omit<AppOptions, 'client'>) {
    this.local = local
    // As the local server has it.
    this.app = createApp({
      log: silent,
      local: { routes: localRoutes(local), mappings: MAPPINGS },
      ...options,
      client: local,
    })
  }

  static async open(options: Omit<AppOptions, 'client'> = {}, workflows = WORKFLOWS): Promise<Api> {
    return new Api(await Local.open({ path: ':memory:', workflows, log: silent }), options)
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
    return read(await this.app.request(path, { headers }))
  }

  async post(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const text = body === undefined ? {} : { body: JSON.stringify(body) }
    return read(
      await this.app.request(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        ...text,
      }),
    )
  }

  /** Until the run is in this state; each look lets the runner go on. */
  async reaches(runId: string, status: RunStatus): Promise<void> {
    while ((await this.local.get(runId)).status !== status) await new Promise((resolve) => setImmediate(resolve))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.local.close(100)
  }
}

export interface Answer {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came back
  body: any
}

export async function read(response: Response): Promise<Answer> {
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
}
