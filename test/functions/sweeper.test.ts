import { afterEach, describe, expect, it, vi } from 'vitest'
import type { AwsWorld } from '../../sdk/worlds/aws/world.ts'
import { aTroubledWorld, spoilLimiter } from './emitted-metrics.ts'

const MINUTE = 60_000

/** The sweeper as it is deployed, on AWS in memory. Each sweep gives what it wrote of its metrics. */
async function sweeperOn(world: AwsWorld) {
  vi.resetModules()
  const log = vi.fn()
  vi.doMock('../../functions/environment.ts', () => ({ awsWorld: () => world, log }))
  const { handler } = await import('../../functions/sweeper.ts')
  const sweep = async (): Promise<Record<string, unknown>> => {
    const lines: string[] = []
    const write = vi.spyOn(process.stdout, 'write').mockImplementation((line) => lines.push(String(line)) > 0)
    await handler().finally(() => write.mockRestore())
    return Object.assign({}, ...lines.map((line) => JSON.parse(line) as object))
  }
  return { sweep, log }
}

afterEach(() => vi.doUnmock('../../functions/environment.ts'))

describe('the gauges of the sweeper', () => {
  it('tell of runs that are stuck, overdue and past their retention, each for as long as there are any', async () => {
    const { world, clock } = await aTroubledWorld()
    const { sweep } = await sweeperOn(world)
    expect(await sweep()).toMatchObject({
      Rescues: 1,
      StuckRuns: 1,
      OldestOverdueRun: 3 * 3_600,
      OldestOverdueRemoval: 2 * 3_600,
    })
    await world.store.terminate('stuck', 'not worth it')
    await world.store.terminate('overdue', 'not worth it')
    clock.moveTo(clock.now() + 10 * MINUTE)
    const { _aws, service, ...counted } = await sweep()
    expect(counted).toEqual({ Rescues: 0 })
  })

  it('tell of limiters that cannot be checked in every minute, until they can be', async () => {
    const { world, clock } = await aTroubledWorld()
    const { sweep } = await sweeperOn(world)
    expect(await sweep()).not.toHaveProperty('UncheckedLimiters')
    await spoilLimiter(world, clock.now())
    for (let minute = 0; minute < 3; minute++) {
      expect(await sweep()).toMatchObject({ UncheckedLimiters: 1 })
      clock.moveTo(clock.now() + MINUTE)
    }
    await world.documents.put('gates broken', 'tenant', {}, { dueAt: clock.now() })
    expect(await sweep()).not.toHaveProperty('UncheckedLimiters')
  })

  it('take 20 queries every ten minutes, and none in between', async () => {
    let calls = 0
    const { world, clock } = await aTroubledWorld(() => calls++)
    const { sweep } = await sweeperOn(world)
    await world.store.terminate('overdue', 'not worth it')
    await world.sweep(100)
    const perSweep: number[] = []
    for (let minute = 0; minute <= 10; minute++) {
      const before = calls
      await sweep()
      perSweep.push(calls - before)
      clock.moveTo(clock.now() + MINUTE)
    }
    const [first, second, ...others] = perSweep
    expect(first! - second!).toBe(20)
    expect(others.slice(0, -1).every((count) => count === second)).toBe(true)
    expect(others.at(-1)).toBe(first)
  })

  it('do not keep the sweep from waking runs when they cannot be read, and are looked at again', async () => {
    const { world, clock } = await aTroubledWorld()
    const { sweep, log } = await sweeperOn(world)
    const gauges = vi.spyOn(world, 'gauges').mockRejectedValueOnce(new Error('throttled'))
    const counted = await sweep()
    expect(counted).toMatchObject({ Rescues: 1 })
    expect(counted).not.toHaveProperty('StuckRuns')
    expect(log).toHaveBeenCalledWith('error', expect.stringContaining('throttled'), {})
    clock.moveTo(clock.now() + MINUTE)
    expect(await sweep()).toMatchObject({ StuckRuns: 1 })
    expect(gauges).toHaveBeenCalledTimes(2)
  })
})
