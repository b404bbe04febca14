import { afterEach, beforeEach, expect, it } from 'vitest'
import { testEnv } from '../../sdk/testing/index.ts'
import { lateRejections } from './examples/late-rejections.ts'

const unhandled: unknown[] = []
const note = (reason: unknown) => void unhandled.push(reason)
beforeEach(() => void process.on('unhandledRejection', note))
afterEach(() => void process.off('unhandledRejection', note))

it('late rejections: what failed before anybody looked harms neither the run nor the process, now or in a replay', async () => {
  const env = await testEnv({ workflows: [lateRejections] })
  let ran = 0
  for (const name of ['at once', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh']) {
    env.stub(name, () => {
      ran++
      throw new Error('no')
    })
  }
  const run = await env.start(lateRejections)
  for (let i = 0; i < 3; i++) {
    await env.advance('500ms')
    await env.restart()
    await env.advance('500ms')
  }
  expect(await run.result()).toEqual({ result: 'fine', failures: 7 })
  expect(ran).toBe(7)
  expect((await run.history()).filter(({ type }) => type === 'step.failed')).toHaveLength(7)
  expect(unhandled).toEqual([])
})
