import { beforeAll, describe, expect, it } from 'vitest'
import { type Measured, measureCosts } from '../../bench/cost/measure.ts'

describe('what a run costs', () => {
  let runs: Record<string, Measured>

  beforeAll(async () => {
    runs = Object.fromEntries((await measureCosts()).map((run) => [run.name, run]))
  })

  it('is at most 20 write units for 10 steps, a quarter of Lambda durable functions, a fifteenth of Step Functions', () => {
    const { writeUnits, vsLambdaDurable, vsStepFunctions } = runs['10 steps']!
    expect(writeUnits).toBeLessThanOrEqual(20)
    expect(vsLambdaDurable).toBeLessThanOrEqual(1 / 4)
    expect(vsStepFunctions).toBeLessThanOrEqual(1 / 15)
  })

  it('grows by at most 6 write units and one call with a sleep, two calls with a long one', () => {
    const awake = runs['10 steps']!
    const calls = ({ sqs, scheduler }: Measured) => sqs + scheduler
    for (const [name, mostCalls] of [
      ['10 steps, sleep of 1 min', 1],
      ['10 steps, sleep of 1 h', 2],
    ] as const) {
      expect(runs[name]!.writeUnits - awake.writeUnits).toBeLessThanOrEqual(6)
      expect(calls(runs[name]!) - calls(awake)).toBeLessThanOrEqual(mostCalls)
    }
  })

  it('is at most 30 write units for 100 parallel steps', () => {
    expect(runs['100 parallel steps of 100 bytes']!.writeUnits).toBeLessThanOrEqual(30)
  })
})
