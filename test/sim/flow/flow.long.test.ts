import { describe, expect, it } from 'vitest'
import { WORLDS } from '../simulate.ts'
import { FLOW_MUTANTS } from './mutants.ts'
import { findPlantedFlow, MOST_SEEDS } from './planted.ts'
import { simulateFlow } from './simulate-flow.ts'

/** The same seeds every time, so that a change is judged by what it changes; SIM_SEED tries others, and `npm run sim` many more. */
const family = process.env.SIM_SEED ?? 'suite'
const BUDGET = Number(process.env.SIM_BUDGET ?? 400)

describe.each(WORLDS)('flow control in the simulator, on the %s world,', (world) => {
  // About one seed in four finds one of the defects 96 to 104, which are not mended yet; examples are in failed-seeds.json.
  it.todo(`finds nothing wrong in ${BUDGET} seeds (${family}-0 …), once defects 96 to 104 are mended`)

  it('does exactly the same with the same seed', async () => {
    for (const seed of ['same-1', 'same-2', 'same-3', 'same-4', 'same-5'])
      expect(await simulateFlow(seed, world)).toEqual(await simulateFlow(seed, world))
  })

  const planted = Object.entries(FLOW_MUTANTS).filter(([, { found }]) => found.includes(world))
  it.each(planted)(`finds the planted bug "%s" within ${MOST_SEEDS} seeds`, async (_name, mutant) => {
    expect(await findPlantedFlow(mutant, world)).toBeTruthy()
  })
})
