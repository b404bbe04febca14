import { expect, test } from 'vitest'
import { limit, signal, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

test('a pause does not make an until forget how often it has asked, nor ask before its time', async () => {
  const rounds: [number, number][] = []
  const w = workflow('w', async (ctx) =>
    ctx.until(
      'ready',
      ({ round }) => {
        rounds.push([round, (env.clock.now() - begun) / 60_000])
        return round >= 6
      },
      { every: '1h' } as never,
    ),
  )
  const env = await testEnv({ workflows: [w] })
  const begun = env.clock.now()
  const run = await env.start(w, undefined)
  await env.advance('2h')
  await env.client.pause({ all: true })
  await env.client.signal(run.runId, 'look')
  await env.advance('1m')
  await env.client.resume({ all: true })
  await env.advance('3h')
  expect(rounds).toEqual([
    [1, 0],
    [2, 60],
    [3, 120],
    [4, 180],
    [5, 240],
    [6, 300],
  ])
})

test('a step leaves the queue of its former limit when its run is paused, deployed with another limit and resumed', async () => {
  const one = limit('i-one', { concurrency: 1 })
  const other = limit('i-other', { concurrency: 1 })
  const hold = workflow('hold', async (ctx) => ctx.task('render', 1, { limit: one }))
  const of = (it: typeof one) =>
    workflow('moves', async (ctx) => {
      await ctx.step('ask', () => 1, { limit: it })
      await ctx.sleep('30d')
    })
  const next = workflow('next', async (ctx) => ctx.step('go', () => 1, { limit: one }))
  const env = await testEnv({ workflows: [hold, of(one), next] })
  await env.start(hold, undefined)
  await env.settle()
  const moves = await env.client.start('moves', undefined)
  await env.settle()
  await env.client.pause({ all: true })
  await env.client.signal(moves.runId, 'look')
  await env.settle()
  await env.restart([hold, of(other), next])
  await env.client.resume({ all: true })
  await env.advance('1m')
  expect((await env.client.get(moves.runId)).status).toBe('sleeping')
  const behind = await env.start(next, undefined)
  env.worker('render', () => 1)
  await env.advance('1d')
  expect(await behind.status()).toBe('completed')
})

test('two thousand runs are resumed at 500 a second', async () => {
  const times: number[] = []
  const w = workflow('w', async (ctx) => ctx.step('go', () => void times.push(env.clock.now())))
  const env = await testEnv({ workflows: [w] })
  await env.client.pause({ all: true })
  for (let i = 0; i < 2_000; i++) await env.client.start(w, undefined)
  await env.settle()
  const at = env.clock.now()
  await env.client.resume({ all: true }, { perSecond: 500 })
  await env.advance('10s')
  expect(times).toHaveLength(2_000)
  expect(times.at(-1)! - at).toBeGreaterThan(2_700)
  expect(times.at(-1)! - at).toBeLessThan(4_400)
})

test('pauses of all, the workflow and the run at once; resumed in any order, it goes on', async () => {
  const go = signal('go')
  const w = workflow('w', { concurrency: { limit: 1 } }, async (ctx) => {
    await ctx.step('a', () => 1)
    await ctx.waitFor(go)
    return ctx.step('b', () => 'done')
  })
  for (const order of [
    [0, 1, 2],
    [2, 1, 0],
    [1, 0, 2],
  ]) {
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await env.settle()
    const scopes = [{ all: true as const }, { workflow: 'w' }, { run: run.runId }]
    for (const scope of scopes) await env.client.pause(scope)
    await run.signal(go)
    const behind = await env.start(w, undefined)
    await env.advance('1h')
    expect(await run.status()).toBe('queued')
    for (const i of order) {
      await env.client.resume(scopes[i]!)
      await env.advance('1m')
    }
    expect(await run.status()).toBe('completed')
    await behind.signal(go)
    await env.advance('1m')
    expect(await behind.status()).toBe('completed')
    expect(await env.client.pauses()).toEqual([])
  }
})
