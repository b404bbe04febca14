import { expect, test } from 'vitest'
import * as z from 'zod'
import { REPEATS, seriesOf } from '../../sdk/flow/coalescing/coalescing.ts'
import { workflow } from '../../sdk/index.ts'
import type { RunStore } from '../../sdk/ports/run-store.ts'
import { testEnv } from '../../sdk/testing/index.ts'

test('a thousand starts with one key become one run, with the last input, once it is quiet', async () => {
  const seen: unknown[] = []
  const save = workflow(
    'save',
    { debounce: { key: ({ doc }: { doc: string }) => doc, wait: '10s' } },
    async (ctx, input: { doc: string; n: number }) => {
      await ctx.step('save', () => void seen.push(input.n))
      return input.n
    },
  )
  const env = await testEnv({ workflows: [save] })
  const ids = new Set<string>()
  let last: Awaited<ReturnType<typeof env.start>> | undefined
  for (let n = 0; n < 1_000; n++) {
    last = await env.start(save, { doc: 'a', n })
    ids.add(last.runId)
    if (n % 100 === 0) await env.advance('9s')
  }
  expect(ids.size).toBe(1)
  expect(await last!.result()).toBe(999)
  expect(seen).toEqual([999])
  const next = await env.start(save, { doc: 'a', n: 1_000 })
  expect(ids.has(next.runId)).toBe(false)
  expect(await next.result()).toBe(1_000)
})

test('a debounce that never gets quiet starts at the latest after its max', async () => {
  const save = workflow('save', { debounce: { key: () => 'one', wait: '10s', max: '1m' } }, async (_, n: number) => n)
  const env = await testEnv({ workflows: [save] })
  const first = await env.start(save, 0)
  const begun = env.clock.now()
  for (let n = 1; n < 20; n++) {
    await env.advance('5s')
    await env.start(save, n)
  }
  const run = await first.get()
  expect(run.status).toBe('completed')
  expect(run.endedAt! - begun).toBe(60_000)
})

test('a thousand starts become ten runs of a hundred, each input once', async () => {
  const got: number[][] = []
  const bill = workflow(
    'bill',
    { input: z.object({ n: z.number() }), batch: { size: 100, wait: '1m' } },
    async (ctx, inputs) => {
      await ctx.step('note', () => void got.push(inputs.map(({ n }) => n)))
    },
  )
  const env = await testEnv({ workflows: [bill] })
  const ids = new Set<string>()
  for (let n = 0; n < 1_000; n++) ids.add((await env.start(bill, { n })).runId)
  await env.advance('2m')
  expect(ids.size).toBe(10)
  expect(got.map((one) => one.length)).toEqual(Array(10).fill(100))
  expect(got.flat().sort((a, b) => a - b)).toEqual([...Array(1_000).keys()])
})

test('a batch that does not fill up starts when its time has come, and each key has its own', async () => {
  const bill = workflow(
    'bill',
    { batch: { size: 10, wait: '1m', key: ({ tenant }) => tenant } },
    async (_, inputs: { tenant: string; n: number }[]) => inputs.map(({ n }) => n),
  )
  const env = await testEnv({ workflows: [bill] })
  const a = await env.start(bill, { tenant: 'a', n: 1 })
  const b = await env.start(bill, { tenant: 'b', n: 2 })
  await env.advance('30s')
  const again = await env.start(bill, { tenant: 'a', n: 3 })
  expect(again.runId).toBe(a.runId)
  expect(await a.result()).toEqual([1, 3])
  expect(await b.result()).toEqual([2])
})

test('a process that dies while the starts are taken loses none of them', async () => {
  const bill = workflow('bill', { batch: { size: 3, wait: '1m' } }, async (_, inputs: number[]) => inputs)
  const env = await testEnv({ workflows: [bill] })
  const run = await env.start(bill, 1)
  await env.start(bill, 2)
  await env.advance('59s')
  await env.restart()
  expect(await run.result()).toEqual([1, 2])
})

test('a coalesced start with an id, a time of its own or an invalid key is refused, and nothing is written', async () => {
  const bill = workflow(
    'bill',
    { batch: { size: 3, wait: '1m', key: ({ tenant }) => tenant } },
    async (_, inputs: { tenant: string }[]) => inputs,
  )
  const env = await testEnv({ workflows: [bill] })
  await expect(env.client.start(bill, { tenant: 'a' }, { id: 'mine' })).rejects.toThrow(
    'none of them can choose its id',
  )
  await expect(env.client.start(bill, {} as never)).rejects.toThrow(
    "the key of workflow 'bill' must be a string, got undefined",
  )
  await expect(env.client.start(bill, null as never)).rejects.toThrow(
    "the key of workflow 'bill' could not be made of this input",
  )
  expect((await env.client.list()).runs).toEqual([])
})

test('a start that is repeated under its key counts once, and one with another input under the same key is refused', async () => {
  const batched = workflow('batched', { batch: { size: 10, wait: '1m' } }, async (_, list: number[]) => list)
  const env = await testEnv({ workflows: [batched] })
  const { runId } = await env.client.start(batched, 1, { idempotencyKey: 'k' })
  expect((await env.client.start(batched, 1, { idempotencyKey: 'k' })).runId).toBe(runId)
  await expect(env.client.start(batched, 2, { idempotencyKey: 'k' })).rejects.toThrow(
    'another input was started under this idempotency key',
  )
  await env.advance('2m')
  expect((await env.client.get(runId)).output).toEqual([1])
  expect((await env.client.start(batched, 1, { idempotencyKey: 'k' })).runId).toBe(runId)
})

/** The next start stops between its slot and its place in the run until it is let go on; or dies there. */
function holdNextStart(store: RunStore): { isHeld: Promise<void>; goesOn: (dies?: Error) => void } {
  const held = Promise.withResolvers<void>()
  const goesOn = Promise.withResolvers<void>()
  const coalesce = store.coalesce.bind(store)
  store.coalesce = (start) => {
    store.coalesce = coalesce
    return coalesce(start, async (run) => {
      held.resolve()
      await goesOn.promise
      return run
    })
  }
  return { isHeld: held.promise, goesOn: (dies) => (dies ? goesOn.reject(dies) : goesOn.resolve()) }
}

test('a start whose sender died before it was stored counts once when it is repeated after the run has begun', async () => {
  const bill = workflow('bill', { batch: { size: 10, wait: '1m' } }, async (_, inputs: number[]) => inputs)
  const env = await testEnv({ workflows: [bill] })
  const { isHeld, goesOn } = holdNextStart(env.client.world.store)
  const died = env.client.start(bill, 1, { idempotencyKey: 'k' })
  await isHeld
  goesOn(new Error('killed'))
  await expect(died).rejects.toThrow('killed')
  const run = await env.start(bill, 2)
  expect(await run.result()).toEqual([2])
  const again = await env.start(bill, 1, { idempotencyKey: 'k' })
  expect(await again.result()).toEqual([1])
  expect((await env.client.start(bill, 1, { idempotencyKey: 'k' })).runId).toBe(again.runId)
  await env.advance('1h')
  expect((await env.client.list()).runs).toHaveLength(2)
})

test.each([
  ['batched', { batch: { size: 3, wait: '1m' } }, [[1, 2], [9]]],
  ['debounced', { debounce: { key: () => 'k', wait: '1m' } }, [2, 9]],
] as const)(
  'a %s start that was long on its way is in a run of its own, and its first run did not wait for it',
  async (_, options, outputs) => {
    const bill = workflow('bill', options as object, async (_, input: unknown) => input)
    const env = await testEnv({ workflows: [bill] })
    await env.client.start(bill, 1)
    const first = await env.start(bill, 2)
    // It has a slot in the first run.
    const { isHeld, goesOn } = holdNextStart(env.client.world.store)
    const slow = env.client.start(bill, 9)
    await isHeld
    expect(await first.result()).toEqual(outputs[0])
    goesOn()
    expect(await env.skipUntil((await slow).result())).toEqual(outputs[1])
  },
)

test('a debounced start that comes to its slot after a later one is passed over, and leaves nothing', async () => {
  const save = workflow('save', { debounce: { key: () => 'k', wait: '1m' } }, async (ctx, n: number) => {
    await ctx.sleep('1h')
    return n
  })
  const env = await testEnv({ workflows: [save] })
  await env.client.start(save, 1)
  const { isHeld, goesOn } = holdNextStart(env.client.world.store)
  const slow = env.client.start(save, 2)
  await isHeld
  const run = await env.start(save, 3)
  goesOn()
  expect((await slow).runId).toBe(run.runId)
  expect(await run.result()).toBe(3)
})

test('nothing of a series is left a day after its last start', async () => {
  const bill = workflow('bill', { batch: { size: 2, wait: '1m' } }, async (_, inputs: number[]) => inputs)
  const env = await testEnv({ workflows: [bill] })
  for (let hour = 0; hour < 50; hour++) {
    await env.start(bill, hour, { idempotencyKey: `h${hour}` })
    await env.advance('1h')
  }
  const { documents } = env.client.world
  expect((await documents.list(REPEATS)).length).toBeLessThanOrEqual(25)
  await env.advance('25h')
  expect(await documents.list(REPEATS)).toEqual([])
  expect(await documents.list(seriesOf('bill', ''))).toEqual([])
})

test('a workflow with another batch size takes the starts that came before, each once', async () => {
  const of = (options: object) => workflow('w', options, async (_, list: number[]) => list)
  const env = await testEnv({ workflows: [of({ batch: { size: 4, wait: '1m' } })] })
  for (let n = 0; n < 6; n++) await env.client.start('w', n)
  await env.restart([of({ batch: { size: 2, wait: '1m' } })])
  for (let n = 6; n < 9; n++) await env.client.start('w', n)
  await env.advance('5m')
  const { runs } = await env.client.list()
  const got = await Promise.all(runs.map(async ({ runId }) => (await env.client.get(runId)).output as number[]))
  expect(got.flat().sort((a, b) => a - b)).toEqual([...Array(9).keys()])
})

test('a start after its batch was terminated before it began is in another run', async () => {
  const bill = workflow('bill', { batch: { size: 10, wait: '1m' } }, async (_, inputs: number[]) => inputs)
  const env = await testEnv({ workflows: [bill] })
  const first = await env.start(bill, 1)
  await env.client.terminate(first.runId)
  const second = await env.start(bill, 2)
  expect(second.runId).not.toBe(first.runId)
  expect(await second.result()).toEqual([2])
})

test('who starts a batched run and waits for it has its result once it has ended', async () => {
  const bill = workflow('bill', { batch: { size: 2, wait: '1m' } }, async (_, inputs: number[]) => inputs)
  const env = await testEnv({ workflows: [bill] })
  const waiting = Promise.all([1, 2].map((n) => env.client.startAndSettle(bill, n, { timeout: '1h' })))
  const settled = await env.skipUntil(waiting)
  expect(settled.map(({ run }) => run.output)).toEqual([
    [1, 2],
    [1, 2],
  ])
  expect(env.clock.now() - settled[0]!.run.createdAt).toBeLessThan(60_000)
})
