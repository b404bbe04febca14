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
  const entries = (await client.world.documents.list('starts bill\u0001')).length
  stop()
  return { last, entries }
}

test('a busy log: what a run writes to take its starts does not grow with how many runs there were before', async () => {
  const early = await busy(2)
  const late = await busy(40)
  expect(late.last).toBeLessThan(early.last * 2)
})

test('a busy log does not grow for ever: places are forgotten after an hour', async () => {
  // 5 starts each 5 minutes: 60 an hour.
  const { entries } = await busy(40)
  expect(entries).toBeLessThan(90)
})

const bills = (size: number | undefined) => workflow('bill', size === undefined ? {} : { batch: { size, wait: '1m' } }, async (_, inputs: number[]) => inputs)

test.each([
  ['raised', 10],
  ['removed', undefined],
] as const)('a full batch behind which another has begun starts also when its size is %s by a deployment', async (_, size) => {
  const old = bills(2)
  const { open, take, wait } = slowCloud([old])
  const client = open()
  const { runId } = await client.start(old, 1 as never)
  await client.start(old, 2 as never)
  await client.start(old, 3 as never)
  await wait(120_000)
  await Promise.race([take(client, runId, { workflows: new Registry([bills(size)]) }), wait(600_000)])
  expect(await client.get(runId)).toMatchObject({ status: 'completed', output: [1, 2] })
})

test.each([
  ['fills a batch has it begin', { size: 2, wait: '30d' }, [0]],
  ['is the only one is started', { size: 10, wait: '10s' }, []],
] as const)('a gathered start that is repeated under its key and %s, whenever its first sender died', async (_, batch, before) => {
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
})

test('a debounced run whose first sender died passes the limit of the key that it has in the end', async () => {
  const bad: number[] = []
  for (let n = 1; n <= 8; n++) {
    const save = workflow(
      'save',
      { debounce: { key: () => 'doc', wait: '10s' }, concurrency: { limit: 1, key: ({ tenant }: { tenant: string }) => tenant } },
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

test('a start whose sender was frozen for more than a minute between its place and its run comes to an end', async () => {
  const bill = workflow('bill', { batch: { size: 10, wait: '1m' } }, async (_, inputs: number[]) => inputs)
  const { open, take, wait } = slowCloud([bill])
  const frozen = open()
  const create = frozen.world.store.create.bind(frozen.world.store)
  frozen.world.store.create = async (run) => {
    await wait(70_000)
    return create(run)
  }
  const starting = frozen.start(bill, 1)
  await wait(65_000)
  const client = open()
  await client.start(bill, 2)
  const { runId } = await starting
  await wait(120_000)
  await Promise.race([take(client, runId), wait(300_000)])
  expect(await client.get(runId)).toMatchObject({ status: 'completed', output: [1] })
})
