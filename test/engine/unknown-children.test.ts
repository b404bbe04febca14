import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'
import { testEnv } from '../../sdk/testing/index.ts'

describe('ctx.run of a workflow that the entry file does not export', () => {
  const child = workflow('child', async () => 'done')
  const advice =
    "ctx.run was given workflow 'child' (version 1), which the runner of this run does not know. " +
    'Export it from the entry file, or list it in `workflows`, deploy, and retry the run'

  it.each([{ detached: false }, { detached: true }])(
    'parks the run at once, undoes nothing and starts nothing (%o)',
    async ({ detached }) => {
      const undone: string[] = []
      const parent = workflow('parent', async (ctx) => {
        ctx.compensate('refund', () => void undone.push('refund'))
        return detached ? ctx.run(child, undefined, { detached }) : ctx.run(child)
      })
      const env = await testEnv({ workflows: [parent] })
      const run = await env.start(parent)
      await expect(run.result()).rejects.toThrow(`is stuck: ${advice}`)
      expect(undone).toEqual([])
      expect((await env.client.list()).runs).toHaveLength(1)
    },
  )

  it('goes on when it is exported, and runs no step again', async () => {
    let charged = 0
    const parent = workflow('parent', async (ctx) => {
      await ctx.step('charge', () => ++charged, { semantics: 'at-most-once' })
      return ctx.run(child)
    })
    const env = await testEnv({ workflows: [parent] })
    const run = await env.start(parent)
    expect(await run.status()).toBe('stuck')
    await env.restart([parent, child])
    expect(await run.result()).toBe('done')
    expect(charged).toBe(1)
  })

  it('is left to a program that has it where several share a file, and the log says so at once', async () => {
    const path = join(mkdtempSync(join(tmpdir(), 'overwinter-shared-')), 'shared.db')
    const parent = workflow('parent', async (ctx) => ctx.run(child))
    const said: string[] = []
    await using first = await Local.open({
      path,
      workflows: [parent],
      log: (_level, message) => void said.push(message),
    })
    await using _second = await Local.open({ path, workflows: [child], log: () => {} })
    expect(await (await first.start(parent)).result()).toBe('done')
    expect(said).toContain(advice)
  })

  it('that was started before is waited for all the same', async () => {
    const slow = workflow('slow', async (ctx) => ctx.sleep('nap', '1h').then(() => 'done'))
    const parent = workflow('parent', async (ctx) => ctx.run(slow))
    const env = await testEnv({ workflows: [parent, slow] })
    const run = await env.start(parent)
    await env.settle()
    await env.restart([parent])
    expect(await run.status()).toBe('waiting')
    await env.restart([parent, slow])
    expect(await run.result()).toBe('done')
  })
})

it('a test that waits for a stuck run gets the reason why it is stuck', async () => {
  const parent = workflow('parent', async (ctx) => {
    await ctx.sleep('nap', '1h')
    await fetchNothing()
  })
  const fetchNothing = () => new Promise(() => {})
  const env = await testEnv({ workflows: [parent] })
  await env.start(parent)
  await env.advance('2h')
  await expect(env.skipUntil(new Promise(() => {}))).rejects.toThrow(
    /is stuck \(workflow 'parent' awaits something that is not a ctx operation/,
  )
})
