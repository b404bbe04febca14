import type { MUTANTS } from './mutants.ts'
import { simulate, type WorldName } from './simulate.ts'

/** The first thing that the simulator finds wrong with this bug planted, in a fixed row of seeds. */
export async function findPlanted(mutant: (typeof MUTANTS)[string], world: WorldName): Promise<string | undefined> {
  for (let i = 0; i < 200; i++) {
    const [found] = (await simulate(`mutant-${i}`, world, mutant)).failures
    if (found !== undefined) return found
  }
}
