import { afterEach, describe, expect, it, vi } from 'vitest'
import { testEnv } from '../../sdk/testing/index.ts'
import { eventsOf } from './events.ts'
import { retries } from './examples/retries.ts'

const FAILS = 0.1
const WORKS = 0.9

describe('retries', () => {
  afterEach(() => void vi.restoreAllMocks())

  it('tries again after one and two seconds, and not in the memory of a process: a crash in between is no attempt', async () => {
    const random = vi.spyOn(Math, 'random').mockReturnValueOnce(FAILS).mockReturnValueOnce(FAILS).mockReturnValue(WORKS)
    const env = await testEnv({ workflows: [retries] })
    const begun = env.clock.now()
    const run = await env.start(retries)
    await env.advance('500ms')
    await env.restart()
    await env.advance('1s')
    await env.restart()
    expect(await run.result()).toBe('charged')
    expect(random).toHaveBeenCalledTimes(3)
    expect(env.clock.now() - begun).toBe(3_000)
    expect(await eventsOf(run)).toEqual([
      'run.started',
      ...['step.started', 'step.retrying'],
      ...['step.started', 'step.retrying'],
      ...['step.started', 'step.completed'],
      'run.completed',
    ])
  })

  it('gives up after the third, with the error of that one', async () => {
    const random = vi.spyOn(Math, 'random').mockReturnValue(FAILS)
    const env = await testEnv({ workflows: [retries] })
    const failure = await (await env.start(retries)).result().catch((error: unknown) => error)
    expect(failure).toMatchObject({ cause: { name: 'StepError', attempts: 3, cause: { message: 'the bank hung up' } } })
    expect(random).toHaveBeenCalledTimes(3)
  })

  it('at most once: an attempt that a crash cut short is not repeated, and the run hears of it', async () => {
    const env = await testEnv({ workflows: [retries] })
    let charged = 0
    env.stub('charge', () => {
      charged++
      return new Promise(() => {})
    })
    const run = await env.start(retries)
    await run.get()
    await env.restart()
    const failure = await run.result().catch((error: unknown) => error)
    expect(failure).toMatchObject({ cause: { cause: { name: 'StepInterruptedError' } } })
    expect(charged).toBe(1)
  })
})
