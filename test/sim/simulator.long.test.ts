import { describe, expect, it } from 'vitest'
import { MUTANTS } from './mutants.ts'
import { findPlanted } from './planted.ts'
import { simulate, WORLDS } from './simulate.ts'

/** The same seeds every time, so that a change is judged by what it changes; SIM_SEED tries others, and `npm run sim` many more. */
const family = process.env.SIM_SEED ?? 'suite'
const BUDGET = Number(process.env.SIM_BUDGET ?? 80)

describe.each(WORLDS)('the simulator, on the %s world,', (world) => {
  it(`finds nothing wrong in ${BUDGET} seeds (${family}-0 …)`, async () => {
    for (let i = 0; i < BUDGET; i++) {
      const { seed, failures } = await simulate(`${family}-${i}`, world)
      expect(
        failures,
        `replay it with: npm run sim -- --world ${world} --seed ${seed}, and add it to failed-seeds.json`,
      ).toEqual([])
    }
  })

  it('does exactly the same with the same seed', async () => {
    for (const seed of ['same-1', 'same-2', 'same-3', 'same-4', 'same-5'])
      expect(await simulate(seed, world)).toEqual(await simulate(seed, world))
  })

  it.each(Object.entries(MUTANTS).filter(([, { found }]) => found.includes(world)))(
    'finds the planted bug "%s" within 200 seeds',
    async (_name, mutant) => {
      expect(await findPlanted(mutant, world)).toBeTruthy()
    },
  )
})
