import { expect, test } from 'vitest'
import { Registry, workflow } from '../../sdk/index.ts'
import { slowCloud } from '../outside/slow-cloud.ts'

/** Another start always comes before the full batch has been taken, as it does where many come. */
async function busy(batches: number) {
  const bill = workflow('bill', { batch: { size: 5, wait: '1m' } }, async (_, inputs: number[]) => inputs)
  const { open, take, wait, writes, stop } = slowCloud([bill])
  const client = open()
  let due = (await client.start(bill, 0)).runId
  for (let i = 1; i < 5; i++) await client.start(bill, i)
  let last = 0
  for (let batch = 1; batch <= batches; batch++) {
    const next = (await client.start(bill, batch * 5)).runId
    for (let i = 1; i < 5; i++) await client.start(bill, batch * 5 + i)
    const before = writes.count
    await take(client, due)
    last = writes.count - before
    due = next
    await wait(60_000 * 5)
  }
  stop()
  return last
}

test('a busy series: what a run writes to take its starts does not grow with how many runs there were before', async () => {
  expect(await busy(40)).toBe(await busy(2))
})

const bills = (size: number | undefined) =>
  workflow('bill', size === undefined ? {} : { batch: { size, wait: '1m' } }, async (_, inputs: number[]) => inputs)

test.each([
  ['raised', 10],
  ['removed', undefined],
] as const)(
  'a full batch behind which another has begun starts also when its size is %s by a deployment',
  async (_, size) => {
    const old = bills(2)
    const { open, take, wait } = slowCloud([old])
    const client = open()
    const { runId } = await client.start(old, 1 as never)
    await client.start(old, 2 as never)
    await client.start(old, 3 as never)
    await wait(120_000)
    await Promise.race([take(client, runId, { workflows: new Registry([bills(size)]) }), wait(600_000)])
    expect(await client.get(runId)).toMatchObject({ status: 'completed', output: [1, 2] })
  },
)

test.each([
  ['fills a batch has it begin', { size: 2, wait: '30d' }, [0]],
  ['is the only one is started', { size: 10, wait: '10s' }, []],
] as const)(
  'a start that is repeated under its key and %s, whenever its first sender died',
  async (_, batch, before) => {
    const bad: number[] = []
    for (let n = 1; n <= 8; n++) {
      const bill = workflow('bill', { batch }, async (_, inputs: number[]) => inputs)
      const { open, take, wait, stop } = slowCloud([bill], `${n}`)
      const client = open()
      for (const input of before) await client.start(bill, input)
      void open((nth) => nth === n)
        .start(bill, 1, { idempotencyKey: 'k' })
        .catch(() => {})
      await wait(5_000)
      const { runId } = await client.start(bill, 1, { idempotencyKey: 'k' })
      await wait(30_000)
      await take(client, runId)
      const run = await client.get(runId).catch(() => undefined)
      if (run?.status !== 'completed') bad.push(n)
      stop()
    }
    expect(bad).toEqual([])
  },
)

test('a debounced run whose first sender died passes the limit of the key that it has in the end', async () => {
  const bad: number[] = []
  for (let n = 1; n <= 8; n++) {
    const save = workflow(
      'save',
      {
        debounce: { key: () => 'doc', wait: '10s' },
        concurrency: { limit: 1, key: ({ tenant }: { tenant: string }) => tenant },
      },
      async (ctx, _: { tenant: string }) => ctx.sleep('1d'),
    )
    const { open, take, wait, stop } = slowCloud([save], `${n}`)
    const client = open()
    // Tenant b has its one run.
    const one = await client.start(save, { tenant: 'b' })
    await wait(11_000)
    await take(client, one.runId)
    await take(client, one.runId)
    expect((await client.get(one.runId)).status).toBe('sleeping')
    void open((nth) => nth === n)
      .start(save, { tenant: 'a' })
      .catch(() => {})
    await wait(15_000)
    const two = await client.start(save, { tenant: 'a' })
    await take(client, two.runId)
    await wait(5_000)
    const three = await client.start(save, { tenant: 'b' })
    for (let i = 0; i < 5; i++) {
      await wait(12_000)
      await take(client, three.runId)
    }
    const { status } = await client.get(three.runId)
    if (status !== 'queued') bad.push(n)
    stop()
  }
  expect(bad).toEqual([])
})

test('a start whose sender was frozen for more than a minute between its slot and its run comes to an end', async () => {
  const bill = workflow('bill', { batch: { size: 10, wait: '1m' } }, async (_, inputs: number[]) => inputs)
  const { open, take, wait } = slowCloud([bill])
  const frozen = open()
  const { store } = frozen.world
  const coalesce = store.coalesce.bind(store)
  store.coalesce = (start) =>
    coalesce(start, async (run) => {
      await wait(70_000)
      return run
    })
  const starting = frozen.start(bill, 1)
  await wait(65_000)
  const client = open()
  const two = await client.start(bill, 2)
  const one = await starting
  await wait(120_000)
  for (const { runId } of [one, two]) await Promise.race([take(client, runId), wait(300_000)])
  const outputs = await Promise.all(
    [...new Set([one.runId, two.runId])].map(async (id) => (await client.get(id)).output as number[]),
  )
  expect(outputs.flat().sort()).toEqual([1, 2])
})

test.each([
  ['batched', { batch: { size: 7, wait: '1m' } }],
  ['debounced', { debounce: { key: () => 'k', wait: '10s' } }],
] as const)(
  '%s starts from many processes, some of which die, are each in one run or in none',
  async (_, options) => {
    const isBatch = 'batch' in options
    const bad: unknown[] = []
    for (let seed = 0; seed < 12; seed++) {
      const got: unknown[] = []
      const w = workflow(
        'w',
        options as object,
        async (_, input: unknown) => void (Array.isArray(input) ? got.push(...input) : got.push(input)),
      )
      const { open, take, wait, stop, random } = slowCloud([w], `many ${seed}`)
      const accepted = new Map<number, string>()
      const starting = Array.from({ length: 40 }, async (_, n) => {
        await wait(Math.floor(random.next() * 300))
        const dies = random.next() < 0.3 ? 1 + Math.floor(random.next() * 6) : 0
        const start = open((nth) => nth === dies).start(w as never, n as never)
        const started = await Promise.race([start, wait(20_000)])
        if (started) accepted.set(n, started.runId)
      })
      const client = open()
      const taking = (async () => {
        for (let i = 0; i < 40; i++) {
          await wait(5_000)
          for (const id of (await client.list({ workflow: 'w' })).runs.map(({ runId }) => runId)) {
            const dies = random.next() < 0.2 ? 1 + Math.floor(random.next() * 8) : 0
            await Promise.race([
              take(
                open((nth) => nth === dies),
                id,
                { lease: { owner: 'r', ms: 10_000 } },
              ),
              wait(9_000),
            ])
          }
        }
      })()
      await Promise.all([...starting, taking])
      const runs = (await client.list({ workflow: 'w' })).runs
      const isDone = runs.every(({ status }) => status === 'completed')
      const counts = new Map<unknown, number>()
      // A body may run again after a death: what counts is the input that each run has.
      for (const { runId } of runs) {
        const { input } = await client.get(runId)
        for (const one of Array.isArray(input) ? input : [input]) counts.set(one, (counts.get(one) ?? 0) + 1)
      }
      const isOnce = [...counts.values()].every((count) => count === 1)
      const isThere = !isBatch || [...accepted.keys()].every((n) => counts.get(n) === 1)
      const isKnown = [...accepted.values()].every((id) => runs.some(({ runId }) => runId === id))
      if (!isDone || !isOnce || !isThere || !isKnown) bad.push({ seed, isDone, isOnce, isThere, isKnown })
      stop()
    }
    expect(bad).toEqual([])
  },
  120_000,
)

test('a start whose sender died is counted anew when it is repeated, also after its batch has begun without it', async () => {
  const bad: number[] = []
  for (let n = 1; n <= 8; n++) {
    const inputs: string[][] = []
    const bill = workflow('bill', { batch: { size: 2, wait: '1h' } }, (ctx, all: string[]) =>
      ctx.step('go', () => void inputs.push(all)),
    )
    const { open, take, wait, stop } = slowCloud([bill], `${n}`)
    const client = open()
    const { runId } = await client.start(bill, 'a', { idempotencyKey: 'a' })
    void open((nth) => nth === n)
      .start(bill, 'x', { idempotencyKey: 'x' })
      .catch(() => {})
    await wait(6_000)
    const other = await client.start(bill, 'b', { idempotencyKey: 'b' })
    await take(client, runId)
    const again = await client.start(bill, 'x', { idempotencyKey: 'x' })
    await wait(3_600_000)
    for (const each of new Set([other.runId, again.runId])) await take(client, each)
    if (inputs.flat().sort().join() !== 'a,b,x') bad.push(n)
    stop()
  }
  expect(bad).toEqual([])
})
