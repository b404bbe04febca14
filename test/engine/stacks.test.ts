import { describe, expect, it } from 'vitest'
import { usersFrames } from '../../sdk/base/stacks.ts'
import { type Context, type RunFailedError, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

const sdk = new URL('../../sdk/', import.meta.url)

function breakDown(): never {
  throw new Error('it broke')
}
const helper = (ctx: Context) => ctx.step('pay', () => breakDown(), { retry: { attempts: 2, initial: '1m' } })

const failing = workflow('failing', async (ctx) => {
  await ctx.step('before', () => 1)
  await helper(ctx)
})

const framesIn = (stack: string | undefined) => (stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))

describe('the stack of a step that failed', () => {
  it('has the lines of its body, and those that called ctx.step, and none of the engine, on every attempt and after a restart', async () => {
    const env = await testEnv({ workflows: [failing] })
    const run = await env.start(failing)
    await env.settle()
    await env.restart()
    const failure = (await run.result().catch((error: unknown) => error)) as RunFailedError
    const errors = (await run.history()).flatMap((event) =>
      'error' in event && event.type.startsWith('step.') ? [event.error] : [],
    )
    expect(errors).toHaveLength(2)
    for (const { stack } of errors) {
      const frames = framesIn(stack)
      expect(frames[0]).toContain('breakDown')
      expect(frames.some((line) => line.includes('helper') && line.includes('stacks.test.ts'))).toBe(true)
      expect(frames.filter((line) => line.includes('/sdk/') || line.includes('node:'))).toEqual([])
    }
    expect(framesIn((failure.cause as Error).stack).filter((line) => line.includes('/sdk/'))).toEqual([])
  })
})

describe('frames', () => {
  it('of the package and of what Node does beside them are left out; those of others stay', () => {
    const stack = [
      'Error: two\n  lines at once',
      '    at pay (file:///home/ada/shop/pay.ts:3:9)',
      '    at charge (/home/ada/shop/node_modules/stripe/index.js:1:1)',
      '    at AsyncLocalStorage.run (node:internal/async_local_storage/async_context_frame:63:14)',
      `    at StepAttempt.start (${sdk.href}engine/step-attempt.ts:1:1)`,
      `    at Steps.startAll (${sdk.pathname}engine/steps.ts:1:1)`,
      '    at process.processTicksAndRejections (node:internal/process/task_queues:105:5)',
    ]
    expect(usersFrames(stack.join('\n'))).toBe(stack.slice(0, 3).join('\n'))
  })

  it('are all left where none is of the package', () => {
    const stack = 'Error: x\n    at a (file:///a.ts:1:1)\n    at node:internal/main:1:1'
    expect(usersFrames(stack)).toBe(stack)
  })
})
