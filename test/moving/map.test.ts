import { describe, expect, it } from 'vitest'
import { testEnv } from '../../sdk/testing/index.ts'
import { map } from './examples/map.ts'

describe('map with tolerance and minimum', () => {
  it('ends with the second that succeeds: the rest is withdrawn, or never begun', async () => {
    const env = await testEnv({ workflows: [map] })
    const begun = env.clock.now()
    const run = await env.start(map)
    const { done, bad, ...counts } = await run.result()
    expect(counts).toEqual({ reason: 'enough', succeeded: 2, failed: 0, withdrawn: 3, total: 5 })
    expect(done.map(({ id }) => id)).toEqual([1, 3])
    expect(bad).toEqual([])
    // The bad one would have been tried again after a second. Nobody waits for that.
    expect(env.clock.now()).toBe(begun)
    const history = await run.history()
    expect(history.find(({ type }) => type === 'decided')).toMatchObject({
      withdrawn: ['order/1/process', 'order/3/process'],
    })
    expect(JSON.stringify(history)).not.toContain('order/4/')
  })

  it('ends as soon as more have failed than are tolerated', async () => {
    const env = await testEnv({ workflows: [map] })
    env.stub('process', () => {
      throw new Error('the press is broken')
    })
    const run = await env.start(map)
    const { done, bad, ...counts } = await run.result()
    // Half of five, rounded down, may fail. The third is one too many.
    expect(counts).toEqual({ reason: 'too many failed', succeeded: 0, failed: 3, withdrawn: 2, total: 5 })
    expect(bad.map((item) => item.status === 'rejected' && (item.reason as Error).message)).toEqual(
      [1, 2, 3].map((_, i) => `step 'order/${i}/process' failed after 2 attempts: the press is broken`),
    )
  })

  it('gives the same outcome after a crash, and does nothing again', async () => {
    const env = await testEnv({ workflows: [map] })
    const ran: number[] = []
    // One good one at first; the others are good when they are tried again.
    env.stub('process', ({ attempt }) => {
      if (ran.push(attempt) !== 1 && attempt === 1) throw new Error('not now')
      return { id: 0, processed: true, note: '' }
    })
    const run = await env.start(map)
    await run.get()
    const before = ran.length
    await env.restart()
    expect(await run.result()).toMatchObject({ reason: 'enough', succeeded: 2 })
    expect(ran.slice(before)).toEqual([2])
  })
})
