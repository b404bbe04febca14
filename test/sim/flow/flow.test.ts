import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { WORLDS, type WorldName } from '../simulate.ts'
import { FLOW_MUTANTS } from './mutants.ts'
import { findPlantedFlow } from './planted.ts'
import { simulateFlow } from './simulate-flow.ts'

const failedOnce = JSON.parse(readFileSync(new URL('./failed-seeds.json', import.meta.url), 'utf8')) as {
  world: WorldName
  seed: string
  finds: string
}[]
/** As many as take a second or two: `flow.long.test.ts` has many more seeds, and every planted bug. */
const SEEDS = 12
const FOUND_SOON = ['a queue entry is dropped', 'a permit is forgotten']

describe.each(WORLDS)('flow control in the simulator, on the %s world,', (world) => {
  it.each(Array.from({ length: SEEDS }, (_, i) => `suite-${i}`))('finds nothing wrong in seed %s', async (seed) => {
    const { failures } = await simulateFlow(seed, world)
    expect(failures, `replay it with: npm run sim -- --world ${world} --only flow --seed ${seed}`).toEqual([])
  })

  it('does exactly the same with the same seed', async () => {
    expect(await simulateFlow('same-1', world)).toEqual(await simulateFlow('same-1', world))
  })

  it.each(FOUND_SOON)('finds the planted bug "%s"', async (name) => {
    expect(await findPlantedFlow(FLOW_MUTANTS[name]!, world)).toBeTruthy()
  })
})

describe('flow control in the simulator', () => {
  it.todo('finds nothing wrong in failed-seeds.json: each of them fails as long as the defect is there that it is listed for')

  it('knows seeds for every defect that it has to find', () => {
    expect(failedOnce.map(({ finds }) => finds)).toEqual(expect.arrayContaining(['96', '97', '98', '100', '102', '103', '104']))
  })
})
