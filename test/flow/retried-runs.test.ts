import { expect, test } from 'vitest'
import { limit, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { timePasses } from './time-passes.ts'

/** Which steps run at once. */
const watch = () => {
  const seen = { inside: 0, most: 0 }
  const during = async (work: Promise<unknown>): Promise<void> => {
    seen.most = Math.max(seen.most, ++seen.inside)
    await work
    seen.inside--
  }
  return { seen, during }
}

test('a step of a failed run that is retried is queued at the limit', async () => {
  const one = limit('retry-step', { concurrency: 1 })
  const { seen, during } = watch()
  const later = (ms: number) => timePasses(env, ms)
  let broken = true
  const fails = workflow('fails', async (ctx) =>
    ctx.step(
      'ask',
      async () => {
        if (broken) throw new Error('no')
        await during(later(60_000))
      },
      { limit: one, retry: { attempts: 1 } },
    ),
  )
  const hold = workflow('hold', async (ctx) => ctx.step('hold', () => during(later(600_000)), { limit: one }))
  const env = await testEnv({ workflows: [fails, hold] })
  const failed = await env.start(fails, undefined)
  expect(await failed.status()).toBe('failed')
  await env.start(hold, undefined)
  await env.settle()
  broken = false
  await env.client.retry(failed.runId)
  await env.advance('30m')
  expect(await failed.status()).toBe('completed')
  expect(seen.most).toBe(1)
})

test('a task of a failed run that is retried is queued at the limit', async () => {
  const one = limit('retry-task', { concurrency: 1 })
  const render = workflow('render', async (ctx, n: number) =>
    ctx.task<number>('render', n, { limit: one, retry: { attempts: 1 } }),
  )
  let inside = 0
  let most = 0
  let broken = true
  const env = await testEnv({ workflows: [render] })
  env.worker('render', async () => {
    if (broken) throw new Error('no')
    most = Math.max(most, ++inside)
    await timePasses(env, 20_000)
    inside--
    return 1
  })
  const failed = await env.start(render, 1)
  await env.advance('1m')
  expect(await failed.status()).toBe('failed')
  broken = false
  const other = await env.start(render, 2)
  await env.settle()
  await env.client.retry(failed.runId)
  await other.result()
  await failed.result()
  expect(most).toBe(1)
})

test('a step beside the one that failed is not granted twice when the run is retried', async () => {
  const one = limit('retry-beside', { concurrency: 1 })
  const { seen, during } = watch()
  const later = (ms: number) => timePasses(env, ms)
  let broken = true
  const fails = workflow('fails', async (ctx) =>
    Promise.all([
      ctx.step(
        'ask',
        async ({ signal }) => {
          if (broken) return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
          await during(later(60_000))
        },
        { limit: one },
      ),
      ctx.step(
        'break',
        async () => {
          if (broken) {
            await later(1_000)
            throw new Error('no')
          }
        },
        { retry: { attempts: 1 } },
      ),
    ]),
  )
  const hold = workflow('hold', async (ctx) => ctx.step('hold', () => during(later(600_000)), { limit: one }))
  const env = await testEnv({ workflows: [fails, hold] })
  const failed = await env.start(fails, undefined)
  await env.advance('10s')
  expect(await failed.status()).toBe('failed')
  await env.start(hold, undefined)
  await env.settle()
  broken = false
  await env.client.retry(failed.runId)
  await env.advance('30m')
  expect(await failed.status()).toBe('completed')
  expect(seen.most).toBe(1)
})
