import { describe, expect, it } from 'vitest'
import { WORLDS } from '../simulate.ts'
import { FLOW_MUTANTS } from './mutants.ts'
import { findPlantedFlow, MOST_SEEDS } from './planted.ts'
import { simulateFlow } from './simulate-flow.ts'

/** The same seeds every time, so that a change is judged by what it changes; SIM_SEED tries others, and `npm run sim` many more. */
const family = process.env.SIM_SEED ?? 'suite'
const BUDGET = Number(process.env.SIM_BUDGET ?? 200)

describe.each(WORLDS)('flow control in the simulator, on the %s world,', (world) => {
  it(`finds nothing wrong in ${BUDGET} seeds (${family}-0 …)`, async () => {
    for (let i = 0; i < BUDGET; i++) {
      const seed = `${family}-${i}`
      expect([seed, (await simulateFlow(seed, world)).failures]).toEqual([seed, []])
    }
  })

  it('does exactly the same with the same seed', async () => {
    for (const seed of ['same-1', 'same-2', 'same-3', 'same-4', 'same-5'])
      expect(await simulateFlow(seed, world)).toEqual(await simulateFlow(seed, world))
  })

  const planted = Object.entries(FLOW_MUTANTS).filter(([, { found }]) => found.includes(world))
  it.each(planted)(`finds the planted bug "%s" within ${MOST_SEEDS} seeds`, async (_name, mutant) => {
    expect(await findPlantedFlow(mutant, world)).toBeTruthy()
  })
})
