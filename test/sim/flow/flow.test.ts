import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { WORLDS, type WorldName } from '../simulate.ts'
import { FLOW_MUTANTS } from './mutants.ts'
import { findPlantedFlow } from './planted.ts'
import { simulateFlow } from './simulate-flow.ts'

/**
 * Seeds that find a defect which is not mended yet, by its number in the list of defects, and what they say. When it is mended, its seeds
 * pass: then delete `finds` and `says`, and they are played with the others from then on.
 */
interface Failed {
  world: WorldName
  seed: string
  finds?: string
  says?: string
}
const failed = JSON.parse(readFileSync(new URL('./failed-seeds.json', import.meta.url), 'utf8')) as Failed[]
/** As many as take a second or two: `flow.long.test.ts` has many more seeds, and every planted bug. */
const SEEDS = 12
const FOUND_SOON = ['a queue entry is dropped', 'a permit is forgotten']

describe.each(WORLDS)('flow control in the simulator, on the %s world,', (world) => {
  const open = failed.filter((each) => each.world === world && each.finds !== undefined)
  const mended = failed.filter((each) => each.world === world && each.finds === undefined).map(({ seed }) => seed)
  const suite = Array.from({ length: SEEDS }, (_, i) => `suite-${i}`).filter(
    (seed) => !open.some((each) => each.seed === seed),
  )

  it.each([...suite, ...mended])('finds nothing wrong in seed %s', async (seed) => {
    const { failures } = await simulateFlow(seed, world)
    expect(
      failures,
      `replay it with: npm run sim -- --world ${world} --only flow --seed ${seed}, and add it to failed-seeds.json`,
    ).toEqual([])
  })

  for (const { seed, finds } of open) it.todo(`finds nothing wrong in seed ${seed}, once defect ${finds} is mended`)

  it('does exactly the same with the same seed', async () => {
    expect(await simulateFlow('same-1', world)).toEqual(await simulateFlow('same-1', world))
  })

  it.each(FOUND_SOON)('finds the planted bug "%s"', async (name) => {
    expect(await findPlantedFlow(FLOW_MUTANTS[name]!, world)).toBeTruthy()
  })
})
