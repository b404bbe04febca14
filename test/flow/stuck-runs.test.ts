import { expect, test } from 'vitest'
import { limit, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

test('a run that is stuck in the middle of a limited step releases the limit', async () => {
  const one = limit('s-stuck', { concurrency: 1 })
  const bad = workflow('bad', async (ctx) => {
    const held = ctx.step('hold', () => new Promise(() => {}), { limit: one })
    await ctx.sleep('1m')
    // Two operations of one name at once: not allowed.
    ctx.step('same', () => 1)
    await Promise.all([held, gone ? ctx.sleep('other', '1d') : ctx.sleep('one', '1d')])
  })
  let gone = false
  const next = workflow('next', async (ctx) => ctx.step('go', () => 'gone', { limit: one }))
  const env = await testEnv({ workflows: [bad, next] })
  const first = await env.start(bad, undefined)
  await env.settle()
  const behind = await env.start(next, undefined)
  expect(await behind.status()).toBe('waiting')
  await env.advance('5m')
  gone = true
  await env.restart([bad, next])
  await env.advance('2d')
  expect(await first.status()).toBe('stuck')
  expect(await behind.status()).toBe('completed')
})

test.each([
  { rate: 1, per: '1m' },
  { concurrency: 1, rate: 1, per: '1m' },
])('a step that was promised its turn and whose code is gone keeps nobody waiting for ever: %o', async (numbers) => {
  const api = limit(`s-gone-${Object.keys(numbers).length}`, numbers as never)
  const first = workflow('first', async (ctx) => ctx.step('go', () => 1, { limit: api }))
  const second = workflow('second', async (ctx) => ctx.step('go', () => 2, { limit: api }))
  const env = await testEnv({ workflows: [first, second] })
  await (await env.start(first, undefined)).result()
  await env.start(second, undefined)
  await env.settle()
  const behind = await env.start(first, undefined)
  await env.settle()
  await env.restart([first])
  await env.advance('3d')
  expect(await behind.status()).toBe('completed')
})

test.each([
  { rate: 1, per: '1m' },
  { concurrency: 1, rate: 1, per: '1m' },
])('a step that was promised its turn and whose workflow is paused keeps no others waiting: %o', async (numbers) => {
  const api = limit(`s-paused-${Object.keys(numbers).length}`, numbers as never)
  const first = workflow('first', async (ctx) => ctx.step('go', () => 1, { limit: api }))
  const second = workflow('second', async (ctx) => ctx.step('go', () => 2, { limit: api }))
  const env = await testEnv({ workflows: [first, second] })
  await (await env.start(first, undefined)).result()
  await env.start(second, undefined)
  await env.settle()
  const behind = await env.start(first, undefined)
  await env.settle()
  await env.client.pause({ workflow: 'second' })
  await env.advance('1d')
  expect(await behind.status()).toBe('completed')
})

test('a stuck run that is retried does not go over the limit', async () => {
  const one = limit('s-revive', { concurrency: 1 })
  const ran: string[] = []
  let isFirst = true
  const held = workflow('held', async (ctx) =>
    ctx.step('go', () => (isFirst ? new Promise<void>(() => {}) : void ran.push('held')), { limit: one }),
  )
  const next = workflow('next', async (ctx) => ctx.task('render', 1, { limit: one }))
  const env = await testEnv({ workflows: [held, next] })
  const run = await env.start(held, undefined)
  await env.settle()
  await env.restart([next])
  await env.advance('1h')
  expect(await run.status()).toBe('stuck')
  isFirst = false
  const other = await env.start(next, undefined)
  await env.advance('2m')
  expect((await other.get()).waitingFor).toMatchObject([{ kind: 'task' }])
  await env.restart([held, next])
  if ((await run.status()) === 'stuck') await env.client.retry(run.runId)
  await env.advance('10m')
  // The task has the only slot.
  expect((await other.get()).waitingFor).toMatchObject([{ kind: 'task' }])
  expect(ran).toEqual([])
})

test('a run that was once paused, is retried during the next pause and resumed with the others goes on', async () => {
  let broken = true
  const w = workflow('w', { retry: { attempts: 1 } } as never, async (ctx) =>
    ctx.step(
      'go',
      () => {
        if (broken) throw new Error('no')
      },
      { retry: { attempts: 1 } },
    ),
  )
  const env = await testEnv({ workflows: [w] })
  await env.client.pause({ all: true })
  const run = await env.start(w, undefined)
  expect(await run.status()).toBe('queued')
  await env.client.resume({ all: true })
  await env.advance('1m')
  expect(await run.status()).toBe('failed')
  broken = false
  await env.client.pause({ all: true })
  await env.client.retry(run.runId)
  const other = await env.start(w, undefined)
  await env.settle()
  await env.client.resume({ all: true })
  await env.advance('10m')
  expect([await other.status(), await run.status()]).toEqual(['completed', 'completed'])
})
