import { expect, test } from 'vitest'
import { workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

test('keys that are not in use any more are forgotten: a run that queued at a paused limit was cancelled', async () => {
  const w = workflow('w', { concurrency: { limit: 1, key: (k: string) => k } }, async () => 1)
  const env = await testEnv({ workflows: [w] })
  await (await env.start(w, 'x')).result()
  await env.client.limits.pause('w:concurrency')
  for (let i = 0; i < 20; i++) await env.client.cancel((await env.start(w, `k${i}`)).runId)
  await env.client.limits.resume('w:concurrency')
  await env.advance('40d')
  expect(await env.client.world.documents.list('gates w:concurrency')).toHaveLength(0)
})

test('keys that are not in use any more are forgotten: a run that queued for a rate was cancelled', async () => {
  const w = workflow('w', { rateLimit: { limit: 1, per: '1m', key: (k: string) => k } }, async () => 1)
  const env = await testEnv({ workflows: [w] })
  for (let i = 0; i < 20; i++) {
    await env.start(w, `k${i}`)
    await env.start(w, `k${i}`)
    await env.client.cancel((await env.start(w, `k${i}`)).runId)
  }
  await env.advance('40d')
  expect((await env.client.list()).runs.every(({ status }) => status === 'completed' || status === 'cancelled')).toBe(
    true,
  )
  expect(await env.client.world.documents.list('gates w:rate')).toHaveLength(0)
})

test('the starts of a coalesced run that was cancelled do not stay in the table for ever', async () => {
  const w = workflow('w', { debounce: { key: (k: string) => k, wait: '1m' } }, async () => 1)
  const env = await testEnv({ workflows: [w] })
  const { runId } = await env.start(w, 'secret')
  await env.client.cancel(runId)
  await env.advance('1m')
  expect((await env.client.get(runId)).status).toBe('cancelled')
  await env.advance('300d')
  expect(await env.client.world.documents.list('starts w\u0001secret')).toHaveLength(0)
})
