import { expect, test } from 'vitest'
import { runEnd } from '../../cli/run-text.ts'
import { workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

const before = workflow('order', async (ctx) => {
  await ctx.step('charge', () => 1)
  await ctx.sleep('night', '8h')
  return 'done'
})

/** The run `r` of the workflow above, under code of today. */
async function deploy(after: ReturnType<typeof workflow>, duration: '1m' | '1d') {
  const env = await testEnv({ workflows: [before] })
  const run = await env.start(before, undefined, { id: 'r' })
  await env.settle()
  await env.restart([after])
  await env.advance('9h')
  await env.advance(duration)
  return { env, run, view: await run.get() }
}

test('a step renamed under a sleeping run', async () => {
  const after = workflow('order', async (ctx) => {
    await ctx.step('charge-card', () => 1)
    await ctx.sleep('night', '8h')
  })
  const { env, run, view } = await deploy(after, '1d')
  const message =
    "the code of workflow 'order' (version 1) does not fit the history of run 'r': after its start, its history goes on with step 'charge', but the code waits for step 'charge-card'. " +
    "To go on, a run's code is run again from its start and must ask for the same as before. The run is stuck, and nothing is lost. " +
    'If the code was changed, put back the old order for runs under way (give the changed code a new version, or guard it with ctx.patched). ' +
    'If it was not, it asks for something else each time: take the time from ctx.now() instead of Date.now, chance from ctx.random() or ctx.uuid() ' +
    'instead of Math.random, and read everything else that may differ in a ctx.step. Then deploy and retry the run'
  expect({ status: view.status, message: view.error?.message }).toEqual({ status: 'stuck', message })
  expect(plain(runEnd(view, await run.history(), env.clock.now()))).toBe(
    `stuck\n  NonDeterminismError: ${message}\nOnce the code is fixed: overwinter retry r`,
  )
  await env.restart([before])
  expect(await run.result()).toBe('done')
})

test('a workflow removed under a sleeping run', async () => {
  const other = workflow('invoice', async () => 1)
  const { env, run, view } = await deploy(other, '1d')
  expect({ status: view.status, message: view.error?.message }).toEqual({
    status: 'stuck',
    message:
      "no workflow is named 'order'; known: invoice. Does the entry file export it? Runs need the code they began with until they end: once it is deployed again, retry those that are stuck",
  })
  await env.restart([before])
  expect(await run.result()).toBe('done')
})

test('a version removed under a sleeping run', async () => {
  const { view } = await deploy(
    workflow('order', { version: 2 }, async () => 2),
    '1d',
  )
  expect({ status: view.status, message: view.error?.message }).toEqual({
    status: 'stuck',
    message:
      "workflow 'order' has no version 1; known versions: 2. Does the entry file export it? Runs need the code they began with until they end: once it is deployed again, retry those that are stuck",
  })
})

test('for some minutes after its removal, the run waits for a runner that has the code', async () => {
  const other = workflow('invoice', async () => 1)
  const env = await testEnv({ workflows: [before] })
  const run = await env.start(before, undefined, { id: 'r' })
  await env.settle()
  await env.restart([other])
  await env.advance('481m')
  expect(plain(runEnd(await run.get(), await run.history(), env.clock.now()))).toBe(
    "pending: waits for a runner that knows workflow 'order' (version 1)",
  )
})

/** Without colours. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what colours are
const plain = (text: string) => text.replace(/\u001b\[\d+m/g, '')
