import { expect, test } from 'vitest'
import { signal, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

test('a test that waits for a run behind a limit that is never released is told so', async () => {
  const go = signal('go')
  const hold = workflow('hold', { concurrency: { limit: 1 } }, async (ctx) => ctx.waitFor(go))
  const env = await testEnv({ workflows: [hold] })
  await env.start(hold)
  const second = await env.start(hold)
  await expect(second.result()).rejects.toThrow('nothing will ever wake what the test waits for')
})
