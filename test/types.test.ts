import * as v from 'valibot'
import { describe, expectTypeOf, it } from 'vitest'
import * as z from 'zod'
import { type Client, type Context, type MapOutcome, signal, type Workflow, workflow } from '../sdk/index.ts'

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

  it('results of steps, signals, callbacks and children', () => {
    const approved = signal('approved', v.object({ by: v.string() }))
    const body = async (ctx: Context) => {
      expectTypeOf(await ctx.step('a', () => 1)).toEqualTypeOf<number>()
      expectTypeOf(await ctx.step('b', async () => ({ x: 'y' }))).toEqualTypeOf<{ x: string }>()
      expectTypeOf(await ctx.waitFor(approved)).toEqualTypeOf<{ by: string }>()
      expectTypeOf(await ctx.waitFor(approved, { timeout: '1h' })).toEqualTypeOf<{ by: string } | undefined>()
      expectTypeOf(await ctx.until('u', () => 'x' as string | undefined, { every: '1m' })).toEqualTypeOf<string>()
      expectTypeOf(await ctx.until('u', async () => true as boolean, { every: '1m', timeout: '1h' })).toEqualTypeOf<true | undefined>()
      const first = await ctx.race('r', { paid: (c) => c.waitFor(approved), late: (c) => c.sleep('1d') })
      expectTypeOf(first.key).toEqualTypeOf<'paid' | 'late'>()
      if (first.key === 'paid') expectTypeOf(first.value).toEqualTypeOf<{ by: string }>()
      expectTypeOf(await ctx.race('r', { a: (c) => c.step('a', () => 1) }, { need: 1 })).toEqualTypeOf<{ key: 'a'; value: number }[]>()
      expectTypeOf(await ctx.callback('c', { schema: z.number() }).promise).toEqualTypeOf<number>()
      expectTypeOf(await ctx.run(order, { id: 'x' })).toEqualTypeOf<{ label: string }>()
      expectTypeOf(await ctx.run(order, { id: 'x' }, { detached: true })).toEqualTypeOf<{ runId: string }>()
      expectTypeOf(await ctx.map('m', [1, 2], async (_c, n) => String(n))).toEqualTypeOf<string[]>()
      expectTypeOf(await ctx.map('m', [1], async (_c, n) => n, { tolerate: '30%' })).toEqualTypeOf<MapOutcome<number>>()
      expectTypeOf(await ctx.map('m', [1], async (_c, n) => n, { need: 1 })).toEqualTypeOf<MapOutcome<number>>()
      expectTypeOf(await ctx.map('m', [1], async (_c, n) => n, { key: (n) => n.toFixed(1) })).toEqualTypeOf<number[]>()
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
})
