import { expect, test } from 'vitest'
import { workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { timePasses } from './time-passes.ts'

test('an at-most-once step whose retry is due during a pause is run after it', async () => {
  const ran: number[] = []
  const w = workflow('w', async (ctx) => {
    const [, paid] = await Promise.all([
      ctx.step('long', () => timePasses(env, 600_000)),
      ctx.step(
        'pay',
        ({ attempt }) => {
          ran.push(attempt)
          if (attempt === 1) throw new Error('busy')
          return 'paid'
        },
        { semantics: 'at-most-once', retry: { attempts: 3, initial: '1m', jitter: false } as never },
      ),
    ])
    return paid
  })
  const env = await testEnv({ workflows: [w] })
  const run = await env.start(w, undefined)
  await env.advance('10s')
  await env.client.pause({ all: true })
  await env.advance('20m')
  expect(await run.status()).toBe('queued')
  await env.client.resume({ all: true })
  expect(await run.result()).toBe('paid')
  expect(ran).toEqual([1, 2])
})

test('a new run that waited out a pause longer than its timeout has its time', async () => {
  const w = workflow('w', { timeout: '1h' }, async (ctx) => ctx.step('go', () => 'gone'))
  const env = await testEnv({ workflows: [w] })
  await env.client.pause({ all: true })
  const run = await env.start(w, undefined)
  await env.advance('2h')
  await env.client.resume({ all: true })
  expect(await run.result()).toBe('gone')
})

test('a delayed run that is queued for longer than its timeout still has its full timeout, as one without a delay has', async () => {
  const w = workflow('w', { timeout: '1h', concurrency: { limit: 1 } }, async (ctx, ms: number) => ctx.sleep(ms))
  const env = await testEnv({ workflows: [w] })
  const all = []
  for (let i = 0; i < 3; i++) all.push(await env.start(w, 50 * 60_000))
  const delayed = await env.start(w, 1_000, { delay: '1s' })
  for (const run of all) await run.result()
  await delayed.result()
})

test('a debounced run has its timeout from when it begins', async () => {
  const w = workflow('w', { timeout: '1m', debounce: { key: () => 'k', wait: '40s' } }, async (ctx, n: number) => {
    await ctx.sleep('10s')
    return n
  })
  const env = await testEnv({ workflows: [w] })
  let run = await env.start(w, 0)
  for (let i = 1; i < 10; i++) {
    await env.advance('30s')
    run = await env.start(w, i)
  }
  expect(await run.result()).toBe(9)
})

test('a paused run that is cancelled cleans up to its end', async () => {
  const cleaned: string[] = []
  const w = workflow('w', async (ctx) => {
    await ctx.step('first', () => 1)
    ctx.compensate(
      'undo',
      ({ attempt }) => {
        if (attempt === 1) throw new Error('busy')
        cleaned.push('undo')
      },
      { retry: { attempts: 3, initial: '1m' } as never },
    )
    await ctx.sleep('1h')
  })
  const env = await testEnv({ workflows: [w] })
  const run = await env.start(w, undefined)
  await env.settle()
  await env.client.pause({ all: true })
  await env.advance('2h')
  expect(await run.status()).toBe('queued')
  await run.cancel('enough')
  await env.advance('1h')
  expect(cleaned).toEqual(['undo'])
  expect(await run.status()).toBe('cancelled')
})
