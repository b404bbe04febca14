import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Running } from '../../sdk/engine/running.ts'

type Strays = typeof import('../../sdk/engine/running.ts')

/** A stand-in for what node tells a process of; the one that the tests run in has listeners of its own. */
let node: EventEmitter
let strays: Strays
let copies = 0
const logged: unknown[][] = []
const whose: Running = { runId: 'r', workflow: 'w', log: (...line) => void logged.push(line) }

beforeEach(async () => {
  logged.length = 0
  node = new EventEmitter()
  // Watching begins once in a process, so each test has a copy of its own that has not begun.
  const file = new URL('../../sdk/engine/running.ts', import.meta.url).pathname
  strays = (await import(`${file}?copy=${++copies}`)) as Strays
  for (const name of ['on', 'off', 'listenerCount'] as const)
    vi.spyOn(process, name).mockImplementation(node[name].bind(node) as never)
  strays.watchStrays()
})
afterEach(() => void vi.restoreAllMocks())

const left = (reason: unknown, by?: Running) => strays.running.run(by, () => node.emit('unhandledRejection', reason))
const threw = (error: unknown, by?: Running) => strays.running.run(by, () => node.emit('uncaughtException', error))

describe('a rejected promise that is not handled', () => {
  it('is logged for the run whose code left it, and ends nothing', () => {
    left(new Error('early'), whose)
    const message = "the code of workflow 'w' left a rejected promise that was not awaited so far: early"
    expect(logged).toStrictEqual([['warn', message, { runId: 'r', workflow: 'w' }]])
  })

  it('is logged with the step whose body left it', () => {
    left(new Error('early'), { ...whose, step: 's', attempt: 1 })
    const message = "step 's' left a rejected promise that was not awaited so far: early"
    expect(logged).toStrictEqual([['warn', message, { runId: 'r', workflow: 'w', step: 's', attempt: 1 }]])
  })

  it('does not end the step that left it', () => {
    const fail = vi.fn()
    left(new Error('early'), { ...whose, step: 's', fail })
    expect(fail).not.toHaveBeenCalled()
  })

  it('ends the process if it does not come from a run and there is no other listener', () => {
    expect(() => left(new Error('not ours'))).toThrow('not ours')
    expect(logged).toEqual([])
  })

  it('is left to others who listen if it does not come from a run', () => {
    const other = vi.fn()
    node.on('unhandledRejection', other)
    left('not ours')
    expect(other).toHaveBeenCalledExactlyOnceWith('not ours')
    expect(logged).toEqual([])
  })

  it('is the affair of its run also where others listen', () => {
    node.on('unhandledRejection', () => {})
    left('ours', whose)
    expect(logged).toHaveLength(1)
  })
})

describe('an error thrown where no code can catch it', () => {
  it('is logged, and ends the step it came from', () => {
    const fail = vi.fn()
    const error = new Error('from a timer')
    threw(error, { ...whose, step: 's', attempt: 1, fail })
    const message = "step 's' threw an error where no code could catch it: from a timer"
    expect(logged).toStrictEqual([['warn', message, { runId: 'r', workflow: 'w', step: 's', attempt: 1 }]])
    expect(fail).toHaveBeenCalledExactlyOnceWith(error)
  })

  it('is only logged where there is no step to end', () => {
    threw(new Error('from a timer'), whose)
    const message = "the code of workflow 'w' threw an error where no code could catch it: from a timer"
    expect(logged).toStrictEqual([['warn', message, { runId: 'r', workflow: 'w' }]])
    expect(node.listenerCount('uncaughtException')).toBe(1)
  })

  it('ends the process if it does not come from a run and there is no other listener', () => {
    expect(() => threw(new Error('not ours'))).toThrow('not ours')
    expect(logged).toEqual([])
    // Thrown again with the listener still there, it would come back to the listener.
    expect(node.listenerCount('uncaughtException')).toBe(0)
  })

  it('is left to others who listen if it does not come from a run', () => {
    const other = vi.fn()
    node.on('uncaughtException', other)
    threw('not ours')
    expect(other).toHaveBeenCalledExactlyOnceWith('not ours')
    expect(node.listenerCount('uncaughtException')).toBe(2)
    expect(logged).toEqual([])
  })
})

describe('strays', () => {
  it('are watched for once, however many runs there are', () => {
    strays.watchStrays()
    expect([node.listenerCount('unhandledRejection'), node.listenerCount('uncaughtException')]).toEqual([1, 1])
  })

  it('are described whatever they are', () => {
    const hostile = {
      toString: () => {
        throw new Error('no')
      },
    }
    for (const reason of ['a text', 7, undefined, { message: 'no error' }, hostile]) left(reason, whose)
    expect(logged.map(([, message]) => String(message).split(': ')[1])).toEqual([
      'a text',
      '7',
      'undefined',
      '[object Object]',
      'something that cannot be shown',
    ])
  })
})
