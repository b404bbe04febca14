import { expect, test } from 'vitest'
import { limit, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { timePasses } from './time-passes.ts'

test('a task that loses its race releases its limit', async () => {
  const gpu = limit('t-race', { concurrency: 1 })
  const racing = workflow('racing', async (ctx) => {
    await ctx.race('which', { task: (c) => c.task('render', 1, { limit: gpu }), time: (c) => c.sleep('1m') })
    await ctx.sleep('30d')
  })
  const next = workflow('next', async (ctx) => ctx.step('go', () => 'gone', { limit: gpu }))
  const env = await testEnv({ workflows: [racing, next] })
  await env.start(racing, undefined)
  await env.settle()
  const behind = await env.start(next, undefined)
  await env.advance('1h')
  expect(await behind.status()).toBe('completed')
})

test('a step with a reserved start that loses its race releases its limit', async () => {
  const api = limit('t-race-promised', { concurrency: 1, rate: 1, per: '10m' })
  const racing = workflow('racing', async (ctx) => {
    await ctx.race('which', { step: (c) => c.step('ask', () => 1, { limit: api }), time: (c) => c.sleep('1m') })
    await ctx.sleep('30d')
  })
  const next = workflow('next', async (ctx) => ctx.step('go', () => 'gone', { limit: api }))
  const env = await testEnv({ workflows: [racing, next] })
  await (await env.start(next, undefined)).result()
  await env.start(racing, undefined)
  await env.settle()
  const behind = await env.start(next, undefined)
  await env.advance('2h')
  expect(await behind.status()).toBe('completed')
})

test('the undoing of a cancelled task gets the slot that the task had', async () => {
  const gpu = limit('t-undo', { concurrency: 1 })
  const undone: string[] = []
  const render = workflow('render', async (ctx) => {
    ctx.compensate('unrender', () => void undone.push('unrender'), { limit: gpu })
    await ctx.task('render', 1, { limit: gpu })
  })
  const env = await testEnv({ workflows: [render] })
  const run = await env.start(render, undefined)
  expect((await run.get()).waitingFor).toMatchObject([{ kind: 'task' }])
  await run.cancel()
  await env.advance('2h')
  expect(undone).toEqual(['unrender'])
  expect(await run.status()).toBe('cancelled')
})

test('a queued task whose run is cancelled holds no slot while the run cleans up, nor afterwards', async () => {
  const gpu = limit('t-line-cancel', { concurrency: 1 })
  const hold = workflow('hold', async (ctx) =>
    ctx.step('hold', () => timePasses(env, 600_000), {
      limit: gpu,
    }),
  )
  const render = workflow('render', async (ctx) => {
    try {
      await ctx.task('render', 1, { limit: gpu })
    } finally {
      await ctx.sleep('2d')
    }
  })
  const env = await testEnv({ workflows: [hold, render] })
  await env.start(hold, undefined)
  await env.settle()
  const run = await env.start(render, undefined)
  expect((await run.get()).waitingFor).toMatchObject([{ kind: 'limit' }])
  await run.cancel()
  await env.settle()
  expect(await run.status()).toBe('sleeping')
  const behind = await env.start(hold, undefined)
  await env.advance('1d')
  const during = await behind.status()
  await env.advance('10d')
  expect([during, await behind.status()]).toEqual(['completed', 'completed'])
})

test('a task that ends while its run is paused releases its slot to runs that are not paused', async () => {
  const gpu = limit('t-paused', { concurrency: 1 })
  const render = workflow('render', async (ctx) => ctx.task<string>('render', 1, { limit: gpu }))
  const other = workflow('other', async (ctx) => ctx.step('go', () => 'gone', { limit: gpu }))
  const env = await testEnv({ workflows: [render, other] })
  const first = await env.start(render, undefined)
  await env.settle()
  const second = await env.start(other, undefined)
  expect(await second.status()).toBe('waiting')
  await env.client.pause({ workflow: 'render' })
  await env.advance('1m')
  env.worker('render', () => 'rendered')
  await env.advance('1m')
  expect(await second.status()).toBe('completed')
  await env.client.resume({ workflow: 'render' })
  expect(await first.result()).toBe('rendered')
})
