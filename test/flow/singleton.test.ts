import { expect, test } from 'vitest'
import { workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { slowCloud } from '../outside/slow-cloud.ts'

const sync = (onConflict: 'skip' | 'cancel-running' | 'queue-latest') =>
  workflow('sync', { singleton: { key: (tenant: string) => tenant, onConflict } }, async (ctx, tenant: string) => {
    await ctx.sleep('1h')
    return tenant
  })

test('skip: beside a run that has not ended none is made, and that run is given', async () => {
  const it = sync('skip')
  const env = await testEnv({ workflows: [it] })
  const first = await env.client.start(it, 'a')
  const second = await env.client.start(it, 'a')
  expect(second).toMatchObject({ runId: first.runId, created: false })
  expect((await env.client.start(it, 'b')).created).toBe(true)
  await env.skipUntil(first.result())
  expect((await env.client.start(it, 'a')).created).toBe(true)
})

test('skip: while the limit is paused a start gives the queued run', async () => {
  const it = sync('skip')
  const env = await testEnv({ workflows: [it] })
  await env.skipUntil((await env.client.start(it, 'a')).result())
  await env.client.limits.pause('sync:singleton')
  const first = await env.client.start(it, 'a')
  expect(first).toMatchObject({ created: true, status: 'queued' })
  expect(await env.client.start(it, 'a')).toMatchObject({ runId: first.runId, created: false })
  await env.client.limits.resume('sync:singleton')
  expect(await env.skipUntil(first.result())).toBe('a')
})

test('cancel-running: the one that runs is cancelled, and the new one starts when it has ended', async () => {
  const it = sync('cancel-running')
  const env = await testEnv({ workflows: [it] })
  const first = await env.start(it, 'a')
  await env.settle()
  const second = await env.start(it, 'a')
  expect(await first.status()).toBe('cancelled')
  expect((await first.get()).error?.message).toContain(`run '${second.runId}' of the same key takes its place`)
  expect(await second.result()).toBe('a')
})

test('queue-latest: of those that come while one runs only the last is run', async () => {
  const it = sync('queue-latest')
  const env = await testEnv({ workflows: [it] })
  const runs = []
  for (let i = 0; i < 4; i++) {
    runs.push(await env.start(it, 'a'))
    await env.settle()
  }
  const states = []
  for (const run of runs) states.push(await run.status())
  expect(states).toEqual(['sleeping', 'cancelled', 'cancelled', 'queued'])
  expect(await runs[0]!.result()).toBe('a')
  expect(await runs[3]!.result()).toBe('a')
})

test('queue-latest: a repeated start of the run that has the key, and waits at another limit, does not cancel it', async () => {
  const sync = workflow(
    'sync',
    { singleton: { key: (k: string) => k, onConflict: 'queue-latest' }, concurrency: { limit: 1 } },
    async (ctx) => ctx.sleep('1h'),
  )
  const env = await testEnv({ workflows: [sync] })
  await env.start(sync, 'other')
  const first = await env.client.start(sync, 'k', { id: 'first' })
  await env.advance('1s')
  await env.client.start(sync, 'k', { id: 'second' })
  expect(await env.client.start(sync, 'k', { id: 'first' })).toMatchObject({ runId: first.runId })
  await env.advance('5h')
  expect((await env.client.get('first')).status).toBe('completed')
})

test('queue-latest: a repeated start of the run that is there, and is paused, does not cancel it', async () => {
  const sync = workflow('sync', { singleton: { key: (k: string) => k, onConflict: 'queue-latest' } }, async (ctx) => {
    await ctx.sleep('1h')
    await ctx.sleep('1h')
  })
  const env = await testEnv({ workflows: [sync] })
  await env.client.start(sync, 'k', { id: 'first' })
  await env.advance('1s')
  await env.client.pause({ run: 'first' })
  await env.advance('90m')
  expect((await env.client.get('first')).status).toBe('queued')
  await env.client.start(sync, 'k', { id: 'second' })
  await env.client.start(sync, 'k', { id: 'first' })
  await env.client.resume({ run: 'first' })
  await env.advance('5h')
  expect((await env.client.get('first')).status).toBe('completed')
})

test('cancel-running: the later start takes the place of the one that runs, though the clock of its process is two seconds behind', async () => {
  const w = workflow('w', { singleton: { key: () => 'k', onConflict: 'cancel-running' } }, async (ctx) =>
    ctx.sleep('1h'),
  )
  const { open, take, wait } = slowCloud([w])
  const client = open()
  const a = await client.start(w)
  await take(client, a.runId)
  await wait(500)
  const behind = open()
  const clock = behind.world.clock
  const now = clock.now.bind(clock)
  ;(behind.world as { clock: unknown }).clock = new Proxy(clock, {
    get: (t, p) => (p === 'now' ? () => now() - 2_000 : Reflect.get(t, p).bind(t)),
  })
  const b = await behind.start(w)
  for (let i = 0; i < 4; i++) {
    await take(client, a.runId)
    await take(client, b.runId)
    await wait(1_000)
  }
  expect({ a: (await client.get(a.runId)).status, b: (await client.get(b.runId)).status }).toEqual({
    a: 'cancelled',
    b: 'sleeping',
  })
})

test('skip: the id of a run of another workflow, or of one with another input, is a conflict and tells nothing of that run', async () => {
  const it = sync('skip')
  const payroll = workflow('payroll', async () => 'secret')
  const env = await testEnv({ workflows: [it, payroll] })
  await (await env.start(payroll, undefined, { id: 'salary' })).result()
  await expect(env.client.start(it, 'a', { id: 'salary' })).rejects.toThrow(
    "run 'salary' exists already, with another input or of another workflow",
  )
  await env.client.start(it, 'a', { idempotencyKey: 'k' })
  await expect(env.client.start(it, 'b', { idempotencyKey: 'k' })).rejects.toThrow('exists already, with another input')
  expect(await env.client.start(it, 'a', { idempotencyKey: 'k' })).toMatchObject({ created: false })
})

test('skip: who starts it and waits for the end waits for the run that is there', async () => {
  const it = workflow('sync', { singleton: { key: () => 'one', onConflict: 'skip' } }, async (ctx) => ctx.sleep('1h'))
  const env = await testEnv({ workflows: [it] })
  const first = await env.client.start(it)
  const second = await env.skipUntil(env.client.startAndSettle(it, undefined, { timeout: '3h' }))
  expect(second).toMatchObject({ created: false, run: { runId: first.runId, status: 'completed' } })
})
