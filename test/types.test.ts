import * as v from 'valibot'
import { describe, expect, expectTypeOf, it } from 'vitest'
import * as z from 'zod'
import type { OverwinterClient } from '../sdk/http-client/index.ts'
import {
  type Client,
  type Context,
  type Duration,
  type MapOutcome,
  type RunStatus,
  request,
  type StartedRun,
  schedule,
  signal,
  type Workflow,
  workflow,
} from '../sdk/index.ts'
import type { TestEnv } from '../sdk/testing/index.ts'
import '../sdk/testing/vitest.ts'

/** Checked by the compiler (`npm run check`); at run time there is nothing to see. */
describe('types are inferred end to end', () => {
  const order = workflow(
    'order',
    { input: z.object({ id: z.string(), cents: z.number().default(100) }), output: z.object({ label: z.string() }) },
    async (_ctx, input) => {
      expectTypeOf(input).toEqualTypeOf<{ id: string; cents: number }>()
      return { label: input.id }
    },
  )

  it('what a caller passes is the schema’s input, what the code gets is its output', () => {
    expectTypeOf(order).toMatchTypeOf<Workflow<{ id: string; cents?: number | undefined }, { label: string }>>()
  })

  const cents = z.object({ cents: z.string().transform(Number) })
  const price = request('price', {
    payload: z.object({ since: z.string().transform((text) => new Date(text)) }),
    reply: cents,
  })
  const plain = request<string, number>('plain')
  const ping = request<undefined, undefined>('ping')

  it('whoever asks gives what the schema takes, and gets what the other one makes of the reply', () => {
    const ask = async (client: Client, remote: OverwinterClient, run: StartedRun) => {
      expectTypeOf(await client.ask('r', price, { since: '2026' })).toEqualTypeOf<{ cents: number }>()
      expectTypeOf(await remote.ask('r', price, { since: '2026' }, { timeout: '1m' })).toEqualTypeOf<{
        cents: number
      }>()
      expectTypeOf(await run.ask(plain, 'x')).toEqualTypeOf<number>()
      expectTypeOf(await run.ask(ping)).toEqualTypeOf<undefined>()
      // @ts-expect-error a payload that does not fit does not compile
      await run.ask(price, { since: new Date() })
      // @ts-expect-error nor does one that is missing
      await run.ask(plain)
    }
    expectTypeOf(ask).toBeFunction()
    expectTypeOf(workflow('declares', { signals: [price, plain, signal('s')] }, async () => 1)).not.toBeAny()
  })

  it('results of steps, signals, callbacks and children', () => {
    const approved = signal('approved', v.object({ by: v.string() }))
    const body = async (ctx: Context) => {
      expectTypeOf(await ctx.step('a', () => 1)).toEqualTypeOf<number>()
      expectTypeOf(await ctx.step('b', async () => ({ x: 'y' }))).toEqualTypeOf<{ x: string }>()
      expectTypeOf(await ctx.waitFor(approved)).toEqualTypeOf<{ by: string }>()
      expectTypeOf(await ctx.waitFor(approved, { timeout: '1h' })).toEqualTypeOf<{ by: string } | undefined>()
      expectTypeOf(await ctx.waitFor(approved, { until: new Date() })).toEqualTypeOf<{ by: string } | undefined>()
      expectTypeOf(await ctx.until('u', () => 'x' as string | undefined, { every: '1m' })).toEqualTypeOf<string>()
      expectTypeOf(await ctx.until('u', async () => true as boolean, { every: '1m', timeout: '1h' })).toEqualTypeOf<
        true | undefined
      >()
      const first = await ctx.race('r', { paid: (c) => c.waitFor(approved), late: (c) => c.sleep('1d') })
      expectTypeOf(first.key).toEqualTypeOf<'paid' | 'late'>()
      if (first.key === 'paid') expectTypeOf(first.value).toEqualTypeOf<{ by: string }>()
      expectTypeOf(await ctx.race('r', { a: (c) => c.step('a', () => 1) }, { need: 1 })).toEqualTypeOf<
        { key: 'a'; value: number }[]
      >()
      expectTypeOf(await ctx.callback('c', { schema: z.number() }).promise).toEqualTypeOf<number>()
      expectTypeOf(await ctx.run(order, { id: 'x' })).toEqualTypeOf<{ label: string }>()
      expectTypeOf(await ctx.run(order, { id: 'x' }, { detached: true })).toEqualTypeOf<{ runId: string }>()
      expectTypeOf(await ctx.map('m', [1, 2], async (_c, n) => String(n))).toEqualTypeOf<string[]>()
      expectTypeOf(await ctx.map('m', [1], async (_c, n) => n, { tolerate: '30%' })).toEqualTypeOf<MapOutcome<number>>()
      expectTypeOf(await ctx.map('m', [1], async (_c, n) => n, { need: 1 })).toEqualTypeOf<MapOutcome<number>>()
      expectTypeOf(await ctx.map('m', [1], async (_c, n) => n, { key: (n) => n.toFixed(1) })).toEqualTypeOf<number[]>()
      const asked = await ctx.waitFor(price)
      expectTypeOf(asked.payload).toEqualTypeOf<{ since: Date }>()
      expectTypeOf(asked.reply).parameters.toEqualTypeOf<[value: { cents: string }]>()
      expectTypeOf(await ctx.waitFor(price, { timeout: '1h' })).toEqualTypeOf<typeof asked | undefined>()
      expectTypeOf(await ctx.waitFor(price, { until: 0 })).toEqualTypeOf<typeof asked | undefined>()
      expectTypeOf((await ctx.waitFor(plain)).payload).toEqualTypeOf<string>()
      ;(await ctx.waitFor(ping)).reply()
      // @ts-expect-error a reply that does not fit does not compile
      asked.reply({ cents: 5 })
      // @ts-expect-error an input that does not fit does not compile
      await ctx.run(order, { id: 5 })
    }
    expectTypeOf(body).toBeFunction()
  })

  it('the client knows what a workflow takes', () => {
    const use = (client: Client) => {
      void client.start(order, { id: 'x' })
      // @ts-expect-error a missing field does not compile
      void client.start(order, {})
    }
    expectTypeOf(use).toBeFunction()
  })

  it('a started run knows what its workflow returns, and says what it always said', () => {
    const use = async (client: Client | OverwinterClient) => {
      const run = await client.start(order, { id: 'x' })
      expectTypeOf(run).toEqualTypeOf<StartedRun<{ label: string }>>()
      expectTypeOf(run.runId).toEqualTypeOf<string>()
      expectTypeOf(run.status).toEqualTypeOf<RunStatus>()
      expectTypeOf(run.created).toEqualTypeOf<boolean>()
      expectTypeOf(await run.result({ timeout: '1m' })).toEqualTypeOf<{ label: string }>()
      expectTypeOf(await run.cancel('enough')).toEqualTypeOf<void>()
      expectTypeOf((await run.history())[0]!.at).toEqualTypeOf<number>()
    }
    expectTypeOf(use).toBeFunction()
  })

  it('the result of a run is that of the workflow it is asked for with', () => {
    const use = async (client: Client | OverwinterClient) => {
      expectTypeOf(await client.result(order, 'o-1')).toEqualTypeOf<{ label: string }>()
      expectTypeOf(await client.result(order, 'o-1', { timeout: '1m' })).toEqualTypeOf<{ label: string }>()
      expectTypeOf(await client.result('o-1')).toEqualTypeOf<unknown>()
      expectTypeOf(await client.result<number>('o-1')).toEqualTypeOf<number>()
      // @ts-expect-error which run?
      await client.result(order)
    }
    expectTypeOf(use).toBeFunction()
  })

  it('a run has a runId wherever it is shown', () => {
    const use = async (client: Client | OverwinterClient) => {
      expectTypeOf((await client.get('a')).runId).toEqualTypeOf<string>()
      expectTypeOf((await client.list()).runs[0]!.runId).toEqualTypeOf<string>()
      // @ts-expect-error one word for it
      void (await client.get('a')).id
    }
    expectTypeOf(use).toBeFunction()
  })
})

describe('durations', () => {
  it('are those that can be read', () => {
    const good: Duration[] = ['30s', '15m', '1.5h', '7 d', '2w', '10ms', '1h 30m', '1h30m', 5_000, { hours: 24 }]
    expect(good).toHaveLength(10)
    // @ts-expect-error not a unit
    const misspelt: Duration = '5 minuts'
    // @ts-expect-error not a number
    const wordy: Duration = 'an h'
    // @ts-expect-error no unit
    const bare: Duration = '5'
    // @ts-expect-error no such field
    const odd: Duration = { fortnights: 1 }
    expect([misspelt, wordy, bare, odd]).toHaveLength(4)
  })

  it('are checked where they are given', () => {
    const body = async (ctx: Context) => {
      await ctx.sleep('5m')
      await ctx.sleep('a name', '5m')
      // @ts-expect-error not a duration
      await ctx.sleep('a name', '5 minuts')
      // @ts-expect-error not a duration
      await ctx.step('a', () => 1, { timeout: 'soon' })
      // Text from elsewhere.
      await ctx.sleep('a name', ('5' + 'm') as Duration)
    }
    expectTypeOf(body).toBeFunction()
  })
})

describe('whoever sends sees what the schema takes, whoever receives what it makes', () => {
  const due = signal('due', z.object({ at: z.iso.datetime().transform((text) => new Date(text)) }))

  it('of signals, with every client', () => {
    const use = async (ctx: Context, client: Client | OverwinterClient, env: TestEnv) => {
      expectTypeOf(await ctx.waitFor(due)).toEqualTypeOf<{ at: Date }>()
      await client.signal('a', due, { at: '2026-01-01T00:00:00Z' })
      await client.signal('a', due, { at: '2026-01-01T00:00:00Z' }, { idempotencyKey: 'k' })
      await (await client.start('w')).signal(due, { at: '2026-01-01T00:00:00Z' })
      await env.handle('a').signal(due, { at: '2026-01-01T00:00:00Z' })
      // @ts-expect-error it is sent as text
      await client.signal('a', due, { at: new Date() })
      // @ts-expect-error it is sent as text
      await env.handle('a').signal(due, { at: new Date() })
      // @ts-expect-error it wants a payload
      await client.signal('a', due)
      // By name nobody knows.
      await client.signal('a', 'due', { at: 1 })
      await client.signal('a', 'due')
      await client.signal('a', signal('bare'))
      await client.signal('a', signal<{ n: number }>('typed'), { n: 1 })
    }
    expectTypeOf(use).toBeFunction()
  })

  it('of callbacks', () => {
    const use = async (ctx: Context) => {
      expectTypeOf(await ctx.callback('when', { schema: z.object({ at: z.coerce.date() }) }).promise).toEqualTypeOf<{
        at: Date
      }>()
    }
    expectTypeOf(use).toBeFunction()
  })

  it('of what a workflow returns, with or without a schema of its input', () => {
    const Day = z.object({ at: z.iso.datetime().transform((text) => new Date(text)) })
    const both = workflow('both', { input: z.string(), output: Day }, async (_ctx, at) => ({ at }))
    expectTypeOf(both).toEqualTypeOf<Workflow<string, { at: Date }>>()
    const alone = workflow('alone', { output: Day }, async (_ctx, at: string) => ({ at }))
    expectTypeOf(alone).toEqualTypeOf<Workflow<string, { at: Date }>>()
    // @ts-expect-error what it returns is not what the schema takes
    workflow('wrong', { output: Day }, async () => ({ at: 7 }))
    // @ts-expect-error what it returns is not what the schema takes
    workflow('wrong', { input: z.string(), output: Day }, async () => ({ at: 7 }))
  })
})

describe('inputs', () => {
  const none = workflow('none', async (ctx) => ctx.now())
  const named = workflow('named', async (_ctx, name: string) => name)
  const maybe = workflow('maybe', { input: z.string().optional() }, async (_ctx, name) => name ?? '')

  it('need not be given where there is none', () => {
    const use = async (client: Client | OverwinterClient, env: TestEnv, ctx: Context) => {
      await client.start(none)
      await client.start(maybe)
      await client.start('by-name')
      await client.startAndSettle(none)
      await env.start(none)
      expectTypeOf(await ctx.run(none)).toEqualTypeOf<number>()
      schedule('nightly', { cron: '0 0 * * *' }, none)
      // @ts-expect-error it wants a name
      await client.start(named)
      // @ts-expect-error it wants a name
      await env.start(named)
      // @ts-expect-error it wants a name
      await ctx.run(named)
      // @ts-expect-error it wants a name
      schedule('nightly', { cron: '0 0 * * *' }, named)
    }
    expectTypeOf(use).toBeFunction()
  })

  it('are checked when a run continues as new, in scopes too', () => {
    workflow('page', { input: z.object({ page: z.number(), size: z.number().default(10) }) }, async (ctx, { page }) => {
      if (page === 1) await ctx.continueAsNew({ page: 2 })
      if (page === 2) await ctx.scope('s', (inner) => inner.continueAsNew({ page: 3, size: 5 }))
      // @ts-expect-error a page is a number
      if (page === 3) await ctx.continueAsNew({ page: '4' })
      // @ts-expect-error a page is missing
      if (page === 4) await ctx.continueAsNew()
      // @ts-expect-error a page is a number
      return ctx.scope('s', (inner) => inner.continueAsNew({ page: '4' }))
    })
    workflow('count', async (ctx, n: number): Promise<number> => {
      // @ts-expect-error it counts with numbers
      if (n === 7) await ctx.continueAsNew('8')
      return n === 0 ? 0 : ctx.continueAsNew(n - 1)
    })
    // Whoever takes any context may say what they like.
    workflow('any', async (ctx: Context, n: number) => ctx.continueAsNew({ n }))
  })
})

describe('what cannot be stored', () => {
  class Cart {
    readonly items: string[] = []
    total(): number {
      return this.items.length
    }
  }
  interface Tree {
    name: string
    kids: Tree[]
  }

  it('is refused as the result of a step', () => {
    const body = async (ctx: Context) => {
      // @ts-expect-error a function
      await ctx.step('a', () => () => 1)
      // @ts-expect-error a symbol
      await ctx.step('a', async () => Symbol('x'))
      // @ts-expect-error a function inside
      await ctx.step('a', async () => ({ deep: { down: () => 1 } }))
      // @ts-expect-error functions in a list
      await ctx.step('a', async () => [() => 1])
      // @ts-expect-error an instance with methods
      await ctx.step('a', () => new Cart())
    }
    expectTypeOf(body).toBeFunction()
  })

  it('is refused as an input', () => {
    const handler = workflow('handler', async (_ctx, input: { done: () => void }) => typeof input.done)
    const use = async (client: Client, ctx: Context) => {
      // @ts-expect-error a function inside
      await client.start(handler, { done: () => {} })
      // @ts-expect-error a function inside
      await ctx.run(handler, { done: () => {} })
    }
    expectTypeOf(use).toBeFunction()
  })

  it('is nothing that can be, nor what nobody knows the type of', () => {
    // biome-ignore lint/suspicious/noExplicitAny: that is what is looked at
    const body = async <T, U extends object>(
      ctx: Context,
      something: unknown,
      anything: any,
      tree: Tree,
      t: T,
      make: () => Promise<U>,
    ) => {
      expectTypeOf(
        await ctx.step('a', () => ({ at: new Date(), seen: new Set(['x']), of: new Map([['a', 1n]]) })),
      ).toEqualTypeOf<{
        at: Date
        seen: Set<string>
        of: Map<string, bigint>
      }>()
      expectTypeOf(
        await ctx.step('a', () => [new Uint8Array(1), new URL('https://example.com'), new Error('x')]),
      ).toBeArray()
      expectTypeOf(await ctx.step('a', () => something)).toEqualTypeOf<unknown>()
      expectTypeOf(await ctx.step('a', () => anything)).toBeAny()
      expectTypeOf(await ctx.step('a', () => tree)).toEqualTypeOf<Tree>()
      expectTypeOf(await ctx.step('a', async () => {})).toEqualTypeOf<void>()
      expectTypeOf(await ctx.step('a', (): { n: number; done?: () => void } => ({ n: 1 }))).toHaveProperty('n')
      expectTypeOf(ctx.step('a', () => t)).toEqualTypeOf<Promise<T>>()
      expectTypeOf(ctx.step('a', make)).toEqualTypeOf<Promise<U>>()
      expectTypeOf(await ctx.step('a', ({ attempt }) => attempt)).toEqualTypeOf<number>()
    }
    expectTypeOf(body).toBeFunction()
  })
})

it('toMatchHistory is known to vitest', () => {
  expectTypeOf(expect([]).toMatchHistory).parameters.toEqualTypeOf<[file: string]>()
  expect(expect([]).toMatchHistory).toBeTypeOf('function')
})
