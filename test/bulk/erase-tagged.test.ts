import { describe, expect, it } from 'vitest'
import { StoredWorkflows } from '../../sdk/definitions/stored-workflows.ts'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import { Client, Registry, UnknownWorkflowError, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { openAwsInMemory } from '../sim/aws/open-world.ts'

const order = workflow('order', { tags: ({ customer }) => [`customer:${customer}`] }, async (ctx, { customer }: { customer: number }) => {
  return ctx.step('greet', () => `hello ${customer}`)
})
const visit = workflow('visit', { tags: ({ customer }) => [`customer:${customer}`] }, async (ctx, _: { customer: number }) => ctx.sleep('stay', '30d'))

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
    expect(left.runs.filter(({ tags }) => tags.includes('customer:1')).map(({ runId }) => runId)).toEqual([staying.runId])
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
    const { world, clock, table } = openAwsInMemory({ seed: 'erase' })
    const registry = new Registry([order])
    const source = new StoredWorkflows(world, registry)
    const client = new Client(world, registry)
    const take = async (id: string) => {
      clock.moveTo(clock.now() + 1_000)
      await runOnce(world, source, id, { lease: { owner: 'o', ms: 500 } })
    }
    for (let i = 0; i < 30; i++) await take((await client.start(order, { customer: 1 })).runId)
    const { runId } = await client.eraseTagged('customer:1')
    await take(runId)
    expect(await client.result(runId)).toMatchObject({ erased: 30 })
    const others = [...table.items()].map(({ item }) => item.pk!.S).filter((pk) => pk !== `RUN#${runId}` && pk !== 'WORKFLOWS')
    expect(others).toEqual([])
  })
})
