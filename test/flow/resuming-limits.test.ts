import { expect, test } from 'vitest'
import { workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

test('a run with a key that was first used while the limit was paused is granted when it is resumed', async () => {
  const w = workflow('w', { concurrency: { limit: 1, key: (k: string) => k } }, async (_ctx, k: string) => k)
  const env = await testEnv({ workflows: [w] })
  await (await env.start(w, 'a')).result()
  await env.client.limits.pause('w:concurrency')
  const run = await env.start(w, 'b')
  await env.settle()
  await env.client.limits.resume('w:concurrency')
  await env.advance('1d')
  expect(await run.status()).toBe('completed')
})
