import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { MUTANTS } from './mutants.ts'
import { findPlanted } from './planted.ts'
import { simulate, WORLDS, type WorldName } from './simulate.ts'

const failedOnce = JSON.parse(readFileSync(new URL('./failed-seeds.json', import.meta.url), 'utf8')) as {
  world: WorldName
  seed: string
}[]
/** As many as take seconds, and the bugs that are found soonest: `npm run test:long` has many more seeds, and every planted bug. */
const SEEDS = 8
const FOUND_SOON = ['ack before commit', 'schedule not revived']

describe.each(WORLDS)('the simulator, on the %s world,', (world) => {
  it(`finds nothing wrong in ${SEEDS} seeds`, async () => {
    for (let i = 0; i < SEEDS; i++) {
      const { seed, failures } = await simulate(`suite-${i}`, world)
      expect(
        failures,
        `replay it with: npm run sim -- --world ${world} --seed ${seed}, and add it to failed-seeds.json`,
      ).toEqual([])
    }
  })

  it('does exactly the same with the same seed', async () => {
    expect(await simulate('same-1', world)).toEqual(await simulate('same-1', world))
  })

  it.each(FOUND_SOON)('finds the planted bug "%s"', async (name) => {
    expect(await findPlanted(MUTANTS[name]!, world)).toBeTruthy()
  })
})

describe('the simulator', () => {
  it('finds nothing wrong in the seeds that once failed', async () => {
    for (const { world, seed } of failedOnce)
      expect((await simulate(seed, world)).failures, `${world} ${seed}`).toEqual([])
  })
})
