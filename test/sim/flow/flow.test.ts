import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { WORLDS, type WorldName } from '../simulate.ts'
import { FLOW_MUTANTS } from './mutants.ts'
import { findPlantedFlow } from './planted.ts'
import { simulateFlow } from './simulate-flow.ts'

/** Seeds that found a defect once. */
const FAILED_URL = new URL('./failed-seeds.json', import.meta.url)
const failed = JSON.parse(readFileSync(FAILED_URL, 'utf8')) as { world: WorldName; seed: string }[]
/** As many as take a second or two: `flow.long.test.ts` has many more seeds, and every planted bug. */
const SEEDS = 12
const FOUND_SOON = ['a queue entry is dropped', 'a permit is forgotten']

describe.each(WORLDS)('flow control in the simulator, on the %s world,', (world) => {
  const mended = failed.filter((each) => each.world === world).map(({ seed }) => seed)
  const suite = Array.from({ length: SEEDS }, (_, i) => `suite-${i}`)

  it.each([...new Set([...suite, ...mended])])('finds nothing wrong in seed %s', async (seed) => {
    const { failures } = await simulateFlow(seed, world)
    expect(
      failures,
      `replay it with: npm run sim -- --world ${world} --only flow --seed ${seed}, and add it to failed-seeds.json`,
    ).toEqual([])
  })

  it('does exactly the same with the same seed', async () => {
    expect(await simulateFlow('same-1', world)).toEqual(await simulateFlow('same-1', world))
  })

  it.each(FOUND_SOON)('finds the planted bug "%s"', async (name) => {
    expect(await findPlantedFlow(FLOW_MUTANTS[name]!, world)).toBeTruthy()
  })
})
