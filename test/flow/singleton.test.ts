import { expect, test } from 'vitest'
import { workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

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

test('skip: while the limit is paused the one in line is given', async () => {
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
