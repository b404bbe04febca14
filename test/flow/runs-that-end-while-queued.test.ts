import { expect, test } from 'vitest'
import { limit, RetryableError, signal, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { slowCloud } from '../outside/slow-cloud.ts'
import { timePasses } from './time-passes.ts'

test('a signal to a queued run is there when it starts', async () => {
  const go = signal<number>('go')
  const w = workflow('w', { concurrency: { limit: 1 } }, async (ctx, n: number) =>
    n === 0 ? void (await ctx.sleep('1h')) : ctx.waitFor(go),
  )
  const env = await testEnv({ workflows: [w] })
  await env.start(w, 0)
  const second = await env.start(w, 1)
  await second.signal(go, 5)
  expect(await second.result()).toBe(5)
})

test('a running limited step that is cancelled gives its slot to its own undo', async () => {
  const one = limit('m-undo', { concurrency: 1 })
  const undone: string[] = []
  const w = workflow('w', async (ctx) => {
    ctx.compensate('undo', () => void undone.push('x'), { limit: one })
    await ctx.step(
      'go',
      ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      { limit: one },
    )
  })
  const env = await testEnv({ workflows: [w] })
  const run = await env.start(w, undefined)
  await env.settle()
  await run.cancel()
  await env.advance('1h')
  expect([await run.status(), undone]).toEqual(['cancelled', ['x']])
})

test('a run whose timeout comes while its task is out: the undo has the slot', async () => {
  const one = limit('m-timeout', { concurrency: 1 })
  const undone: string[] = []
  const w = workflow('w', { timeout: '10m' }, async (ctx) => {
    ctx.compensate('undo', () => void undone.push('x'), { limit: one })
    await ctx.task('render', 1, { limit: one })
  })
  const env = await testEnv({ workflows: [w] })
  const run = await env.start(w, undefined)
  await env.advance('3h')
  expect([await run.status(), undone]).toEqual(['failed', ['x']])
})

test('429 with a limit, in a map, with at-most-once retries and a lowered limit', async () => {
  const api = limit('m-429', { concurrency: 3 })
  let inside = 0
  let most = 0
  const times: number[] = []
  const w = workflow('w', async (ctx) =>
    ctx.map(
      'each',
      [...Array(12).keys()],
      (c, n) =>
        c.step(
          'call',
          async ({ attempt }) => {
            most = Math.max(most, ++inside)
            await timePasses(env, 1_000)
            inside--
            times.push(env.clock.now() - begun)
            if (n === 4 && attempt === 1) throw new RetryableError('429', { after: '10m', limit: api })
            return n
          },
          { limit: api, semantics: 'at-most-once', retry: { attempts: 3 } },
        ),
      { concurrency: 20 },
    ),
  )
  const env = await testEnv({ workflows: [w] })
  const begun = env.clock.now()
  const run = await env.start(w, undefined)
  await env.advance('5s')
  await env.client.limits.set('m-429', { concurrency: 2 })
  await run.result()
  expect(most).toBeLessThanOrEqual(3)
})

test('a queued child is cancelled with its parent, and a queued parent with a queued child goes on', async () => {
  const child = workflow('child', { concurrency: { limit: 1 } }, async (ctx) => ctx.sleep('1d'))
  const parent = workflow('parent', async (ctx) => ctx.run(child, undefined))
  const env = await testEnv({ workflows: [child, parent] })
  const first = await env.start(parent, undefined)
  const second = await env.start(parent, undefined)
  const third = await env.start(parent, undefined)
  await env.settle()
  await second.cancel()
  await env.settle()
  expect(await second.status()).toBe('cancelled')
  await first.result()
  await third.result()
})

test('a run that fails while its limited step is queued leaves the queue, and completes when it is retried', async () => {
  const one = limit('m-line-fail', { concurrency: 1 })
  const later = (ms: number) => timePasses(env, ms)
  let broken = true
  const hold = workflow('hold', async (ctx) => ctx.step('hold', () => later(3_600_000), { limit: one }))
  const w = workflow('w', async (ctx) =>
    Promise.all([
      ctx.step('ask', () => 'asked', { limit: one }),
      ctx.step(
        'break',
        async () => {
          if (broken) throw new Error('no')
        },
        { retry: { attempts: 1 } },
      ),
    ]),
  )
  const env = await testEnv({ workflows: [hold, w] })
  await env.start(hold, undefined)
  await env.settle()
  const run = await env.start(w, undefined)
  expect(await run.status()).toBe('failed')
  const [view] = await env.client.limits.list()
  expect(view!.gates[0]!.waiting.count).toBe(0)
  broken = false
  await env.client.retry(run.runId)
  expect(await run.status()).toBe('waiting')
  await run.result()
})

test('a run with a reserved start can be cancelled, also if its limit is paused before a runner takes it', async () => {
  const mail = workflow('mail', { rateLimit: { limit: 1, per: '1h' } }, async () => 1)
  const { open, take, wait } = slowCloud([mail])
  const client = open()
  await client.start(mail)
  const b = await client.start(mail)
  expect((await client.get(b.runId)).status).toBe('pending')
  await client.cancel(b.runId)
  await client.limits.pause('mail:rate')
  for (let i = 0; i < 10; i++) {
    await take(client, b.runId)
    await wait(60_000)
  }
  expect((await client.get(b.runId)).status).toBe('cancelled')
})

test('a queued run that is cancelled ends at once, also if it is granted a later start before a runner takes it', async () => {
  const mail = workflow('mail', { rateLimit: { limit: 1, per: '1h' } }, async () => 1)
  const { open, take, wait } = slowCloud([mail])
  const client = open()
  await client.start(mail)
  const b = await client.start(mail)
  const c = await client.start(mail)
  expect((await client.get(c.runId)).status).toBe('queued')
  await client.cancel(c.runId)
  await client.terminate(b.runId)
  for (let i = 0; i < 5; i++) {
    await take(client, c.runId)
    await wait(60_000)
  }
  expect((await client.get(c.runId)).status).toBe('cancelled')
})
