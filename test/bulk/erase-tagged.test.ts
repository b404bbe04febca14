import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { StoredWorkflows } from '../../sdk/definitions/stored-workflows.ts'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import { type AnyWorkflow, Client, Registry, UnknownWorkflowError, workflow } from '../../sdk/index.ts'
import { testEnv, VirtualClock } from '../../sdk/testing/index.ts'
import { LocalWorld } from '../../sdk/worlds/local/world.ts'
import { openAwsInMemory } from '../sim/aws/open-world.ts'

const order = workflow(
  'order',
  { tags: ({ customer }) => [`customer:${customer}`] },
  async (ctx, { customer }: { customer: number }) => {
    return ctx.step('greet', () => `hello ${customer}`)
  },
)
const visit = workflow(
  'visit',
  { tags: ({ customer }) => [`customer:${customer}`] },
  async (ctx, _: { customer: number }) => ctx.sleep('stay', '30d'),
)

/** The AWS world in memory with these workflows, whose runs go on when somebody takes them. */
function onAws(seed: string, ...workflows: AnyWorkflow[]) {
  const opened = openAwsInMemory({ seed })
  const registry = new Registry(workflows)
  const source = new StoredWorkflows(opened.world, registry)
  const take = async (id: string) => {
    opened.clock.moveTo(opened.clock.now() + 1_000)
    await runOnce(opened.world, source, id, { lease: { owner: 'o', ms: 500 } })
  }
  return { ...opened, client: new Client(opened.world, registry), take }
}

const open = () => testEnv({ workflows: [order, visit] })

describe('erasing all runs with a tag', () => {
  it('takes those that have ended, leaves those that have not, and says how many there were of each', async () => {
    const env = await open()
    for (let i = 0; i < 250; i++) await env.start(order, { customer: i % 2 })
    const staying = await env.start(visit, { customer: 1 })
    await env.settle()
    const { runId } = await env.client.eraseTagged('customer:1')
    expect(await env.handle(runId).result()).toEqual({ erased: 125, open: 1, openRuns: [staying.runId] })
    const left = await env.client.list({ limit: 1_000 })
    expect(left.runs.filter(({ tags }) => tags.includes('customer:1')).map(({ runId }) => runId)).toEqual([
      staying.runId,
    ])
    expect(left.runs.filter(({ tags }) => tags.includes('customer:0'))).toHaveLength(125)
  })

  it('ends open ones first where that was asked for, and waits until no runner has them', async () => {
    const env = await open()
    const staying = await env.start(visit, { customer: 1 })
    await env.settle()
    const { runId } = await env.client.eraseTagged('customer:1', { terminate: true })
    await env.advance('14m')
    expect(await staying.status()).toBe('terminated')
    expect(await env.handle(runId).result()).toEqual({ erased: 1, open: 0, openRuns: [] })
    expect(await env.store.get(staying.runId)).toBeUndefined()
  })

  it('keeps to one workflow where one is named', async () => {
    const env = await open()
    const kept = await env.start(order, { customer: 1 })
    await kept.result()
    const { runId } = await env.client.eraseTagged('customer:1', { workflow: 'visit' })
    expect(await env.handle(runId).result()).toEqual({ erased: 0, open: 0, openRuns: [] })
    expect(await kept.status()).toBe('completed')
  })

  it('goes on where it was when its process is killed', async () => {
    const env = await open()
    for (let i = 0; i < 350; i++) await env.start(order, { customer: 1 })
    await env.settle()
    const { runId } = await env.client.eraseTagged('customer:1')
    for (let i = 0; i < 5; i++) {
      for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
      await env.restart()
    }
    await env.handle(runId).result()
    expect((await env.client.list({ tag: 'customer:1' })).runs).toEqual([])
  })

  it('cannot be had by the name of the workflow: who may start runs may not erase them', async () => {
    const env = await open()
    await expect(env.client.start('overwinter erase', { tag: 'customer:1' })).rejects.toThrow(UnknownWorkflowError)
  })

  it('leaves no item in the table', async () => {
    const { client, take, table } = onAws('erase', order)
    for (let i = 0; i < 30; i++) await take((await client.start(order, { customer: 1 })).runId)
    const { runId } = await client.eraseTagged('customer:1')
    for (let i = 0; i < 3; i++) await take(runId)
    expect(await client.result(runId)).toMatchObject({ erased: 30 })
    const others = [...table.items()]
      .map(({ item }) => item.pk!.S)
      .filter((pk) => pk !== `RUN#${runId}` && pk !== 'LISTED')
    expect(others).toEqual([])
  })
})

describe('what is past its retention and in no list any more', () => {
  const DAY = 86_400_000
  const brief = workflow(
    'brief',
    { tags: ({ customer }) => [`customer:${customer}`], retention: '30d' },
    async (ctx, { customer }: { customer: number }) => {
      return ctx.step('greet', () => `hello ${customer}`)
    },
  )
  const ended = async () => {
    const opened = onAws('former', brief)
    const { client, take } = opened
    const { runId } = await client.start(brief, { customer: 7 })
    await take(runId)
    opened.clock.moveTo(opened.clock.now() + 31 * DAY)
    const left = () =>
      JSON.stringify([...opened.table.items()].map(({ item }) => item).filter(({ pk }) => pk!.S !== 'LISTED'))
    expect(left()).toContain('hello 7')
    return { ...opened, runId, left }
  }

  it('goes with its tag', async () => {
    const { client, take, left, clock } = await ended()
    const { runId } = await client.eraseTagged('customer:7')
    for (let i = 0; i < 3; i++) await take(runId)
    expect(await client.result(runId)).toMatchObject({ erased: 1 })
    clock.moveTo(clock.now() + 1)
    expect(left()).not.toContain('hello 7')
    expect(left()).not.toContain('TAG#')
  })

  it('goes by its id', async () => {
    const { client, runId, left } = await ended()
    await client.erase(runId)
    expect(left()).not.toContain('hello 7')
    await expect(client.erase(runId)).rejects.toThrow(`no run '${runId}'`)
  })

  it('leaves a later run of that id alone', async () => {
    const { client, take, runId, world } = await ended()
    await client.start(brief, { customer: 7 }, { id: runId })
    await take(runId)
    const { runId: eraser } = await client.eraseTagged('customer:7', { workflow: 'other' })
    await take(eraser)
    await world.store.eraseFormer('customer:7')
    expect(await client.result(runId)).toBe('hello 7')
  })
})

it('in the local world, too, what is past its retention goes by its tag and by its id, before it is cleared away', async () => {
  const clock = new VirtualClock(Date.parse('2026-01-01T00:00:00Z'))
  const world = new LocalWorld({ path: ':memory:', clock })
  const client = new Client(world, new Registry([order]))
  for (const id of ['a', 'b', 'c']) {
    await client.start(order, { customer: id === 'c' ? 2 : 1 }, { id })
    await client.terminate(id)
  }
  expect(await world.store.eraseFormer('customer:1')).toEqual({ erased: 0 })
  clock.moveTo(clock.now() + 31 * 86_400_000)
  expect(await world.store.eraseFormer('customer:1')).toMatchObject({ erased: 2 })
  expect(await world.store.eraseFormer('customer:1')).toEqual({ erased: 0 })
  expect([await world.store.erase('a'), await world.store.erase('c'), await world.store.erase('c')]).toEqual([
    'missing',
    'erased',
    'missing',
  ])
  world.close()
})

it('an erase that is broken off can be done again, and one run that cannot be erased does not keep the others', async () => {
  const large = workflow(
    'large',
    { tags: ({ customer }) => [`customer:${customer}`] },
    async (ctx, _: { customer: number }) => ctx.step('big', () => randomBytes(600_000).toString('hex')),
  )
  const { client, take, aws } = onAws('broken off', large)
  const ids: string[] = []
  for (let i = 0; i < 3; i++) {
    const { runId } = await client.start(large, { customer: 1 })
    await take(runId)
    ids.push(runId)
  }
  const { list } = aws.objects
  aws.objects.list = (prefix) => {
    if (prefix?.includes(ids[1]!)) throw new Error('S3 is down')
    return list.call(aws.objects, prefix)
  }
  const { runId } = await client.eraseTagged('customer:1')
  for (let i = 0; i < 3; i++) await take(runId)
  expect(await client.result(runId)).toMatchObject({
    erased: 2,
    failed: 1,
    failure: expect.stringContaining('S3 is down'),
  })
  aws.objects.list = list
  await client.erase(ids[1]!)
  expect(aws.objects.list()).toEqual([])
})
