import { expect, test } from 'vitest'
import { limit, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { timePasses } from './time-passes.ts'

test("a workflow with limits whose name begins with 'pause:' is refused: its limits would look like pauses", () => {
  for (const name of ['pause', 'pause:nightly'])
    expect(() => workflow(name, { concurrency: { limit: 1 } }, async () => {})).toThrow(
      `a workflow with limits cannot be named '${name}'`,
    )
  workflow('pause:nightly', async () => {})
})

test('keys may have unusual characters', async () => {
  const w = workflow('w', { concurrency: [{ limit: 1, key: (key: string) => key }, { limit: 100 }] }, async (ctx) =>
    ctx.sleep('1h'),
  )
  const env = await testEnv({ workflows: [w] })
  for (const key of [
    '__proto__',
    'constructor',
    ' ',
    '💥'.repeat(50),
    '0',
    'a/b',
    'a:b',
    'null',
    'É',
    'É'.normalize('NFD'),
  ]) {
    const first = await env.start(w, key)
    const second = await env.start(w, key)
    expect([key, await first.status(), await second.status()]).toEqual([key, 'sleeping', 'queued'])
    await first.result()
    expect(await second.status()).toBe('sleeping')
  }
})

test('steps with unusual names can hold slots', async () => {
  const one = limit('n-odd', { concurrency: 1 })
  const w = workflow('w', async (ctx, name: string) =>
    ctx.step(name, () => timePasses(env, 60_000), {
      limit: one,
    }),
  )
  const env = await testEnv({ workflows: [w] })
  const runs = []
  for (const name of ['constructor', '__proto__', 'a/b', '~', 'x'.repeat(100)])
    for (const id of ['', 'y'.repeat(190)]) runs.push(await env.start(w, name, id ? { id: `${id}${runs.length}` } : {}))
  await env.settle()
  const states = []
  for (const run of runs) states.push(await run.status())
  expect(states.filter((status) => status === 'running')).toHaveLength(1)
  for (const run of runs) await run.result()
})

test('a run with a long id that dies while it holds a slot is found to be gone', async () => {
  const one = limit('n-long', { concurrency: 1 })
  const w = workflow('w', async (ctx) =>
    ctx.scope('s'.repeat(90), async (c) =>
      c.step('t'.repeat(90), () => timePasses(env, 600_000), {
        limit: one,
      }),
    ),
  )
  const env = await testEnv({ workflows: [w] })
  const id = 'y'.repeat(180)
  const first = await env.start(w, undefined, { id })
  await env.settle()
  let most = 1
  for (let i = 0; i < 4; i++) {
    await env.advance('90s')
    const next = await env.start(w, undefined)
    await env.settle()
    const [view] = await env.client.limits.list()
    most = Math.max(most, (await first.status()) === 'running' && (await next.status()) === 'running' ? 2 : 1)
    void view
  }
  expect(most).toBe(1)
})

test('two versions of a workflow with different limits do not undo each other', async () => {
  const one = workflow('w', { version: 1, concurrency: { limit: 1 } }, async (ctx) => ctx.sleep('1h'))
  const two = workflow('w', { version: 2, concurrency: { limit: 3 } }, async (ctx) => ctx.sleep('1h'))
  const env = await testEnv({ workflows: [one, two] })
  for (let i = 0; i < 3; i++) {
    await env.start(two, undefined)
    await env.start(one, undefined)
  }
  await env.settle()
  const { runs } = await env.client.list({ workflow: 'w' })
  // Three at once by the newest code, whichever version was started last.
  expect(runs.filter(({ status }) => status === 'sleeping').length).toBe(3)
})
