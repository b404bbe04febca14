import { describe, expect, it } from 'vitest'
import { VirtualClock } from '../../../sdk/testing/virtual-clock.ts'
import { AwsInMemory } from './aws-in-memory.ts'
import { passTime } from './pass-time.ts'
import type { EventSourceOptions } from './sqs/event-source.ts'

function setUp(options: Partial<EventSourceOptions> & Pick<EventSourceOptions, 'handler'>, seed = 'event source') {
  const clock = new VirtualClock(0)
  const aws = new AwsInMemory({ seed, clock })
  const dead = aws.sqs.createQueue('dead')
  const queue = aws.sqs.createQueue('queue', { visibilityTimeoutS: 30, maxReceiveCount: 3, deadLetters: dead })
  const source = aws.eventSource(queue, { batchSize: 10, maxConcurrency: 2, timeoutMs: 20_000, ...options })
  return { clock, aws, queue, dead, source }
}

const never = () => new Promise<never>(() => {})

describe('the event source', () => {
  it('hands over what is there, in batches, and deletes what was done', async () => {
    const batches: number[] = []
    const { clock, queue } = setUp({
      batchSize: 4,
      handler: async (messages) => {
        batches.push(messages.length)
        return []
      },
    })
    for (let i = 0; i < 10; i++) queue.send(`${i}`)
    await passTime(clock, 0)
    expect(batches).toEqual([4, 4, 2])
    expect(queue.contents).toEqual([])
  })

  it('comes for delayed messages at their time', async () => {
    const at: number[] = []
    const { clock, queue } = setUp({
      handler: async () => {
        at.push(clock.now())
        return []
      },
    })
    queue.send('late', 60)
    queue.send('soon', 5)
    await passTime(clock, 100_000)
    expect(at).toEqual([5_000, 60_000])
  })

  it('runs no more at once than it may', async () => {
    let [running, most, done] = [0, 0, 0]
    const { clock, queue } = setUp({
      batchSize: 1,
      maxConcurrency: 3,
      handler: async () => {
        most = Math.max(most, ++running)
        await new Promise<void>((resolve) => clock.at(clock.now() + 1_000, resolve))
        running--
        done++
        return []
      },
    })
    for (let i = 0; i < 9; i++) queue.send(`${i}`)
    await passTime(clock, 2_999)
    expect(done).toBe(6)
    await passTime(clock, 1)
    expect({ most, done }).toEqual({ most: 3, done: 9 })
  })

  it('gives back only those that failed, after the visibility timeout, and at last to the dead letters', async () => {
    const seen: [number, string[]][] = []
    const { clock, queue, dead } = setUp({
      handler: async (messages) => {
        seen.push([clock.now(), messages.map(({ body }) => body).sort()])
        return messages.filter(({ body }) => body === 'bad').map(({ id }) => id)
      },
    })
    queue.send('good')
    queue.send('bad')
    await passTime(clock, 200_000)
    expect(seen).toEqual([
      [0, ['bad', 'good']],
      [30_000, ['bad']],
      [60_000, ['bad']],
    ])
    expect(dead.contents.map(({ body }) => body)).toEqual(['bad'])
    expect(queue.contents).toEqual([])
  })

  it('takes an error for the failure of the whole batch', async () => {
    let calls = 0
    const { clock, queue } = setUp({
      handler: async () => {
        if (++calls === 1) throw new Error('no')
        return []
      },
    })
    queue.send('a')
    queue.send('b')
    await passTime(clock, 29_999)
    expect(queue.contents).toHaveLength(2)
    await passTime(clock, 1)
    expect(queue.contents).toEqual([])
  })

  it('ends an invocation that never ends, and its place is free again', async () => {
    let calls = 0
    const { clock, queue } = setUp({ maxConcurrency: 1, handler: async () => (++calls === 1 ? never() : []) })
    queue.send('a')
    await passTime(clock, 0)
    queue.send('b')
    await passTime(clock, 19_999)
    expect(calls).toBe(1)
    await passTime(clock, 10_001)
    expect(calls).toBe(3)
    expect(queue.contents).toEqual([])
  })

  it('counts a throttled invocation as a receive', async () => {
    const { clock, queue, dead } = setUp({ throttled: 1, handler: async () => [] })
    queue.send('a')
    await passTime(clock, 200_000)
    expect(dead.contents).toHaveLength(1)
  })

  it('can be stopped', async () => {
    let calls = 0
    const { clock, queue, source } = setUp({
      handler: async () => {
        calls++
        return []
      },
    })
    queue.send('a', 5)
    await passTime(clock, 0)
    queue.send('b')
    source.stop()
    queue.send('c')
    await passTime(clock, 10_000)
    expect(calls).toBe(0)
  })
})
