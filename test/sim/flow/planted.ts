import type { WorldName } from '../simulate.ts'
import type { FlowMutant } from './mutants.ts'
import { simulateFlow } from './simulate-flow.ts'

export const MOST_SEEDS = 200

const unspoilt = new Map<string, Promise<readonly string[]>>()

/** The same seeds are asked for by every planted bug. */
function failuresWithout(seed: string, world: WorldName): Promise<readonly string[]> {
  const name = `${world} ${seed}`
  let failures = unspoilt.get(name)
  if (!failures) unspoilt.set(name, (failures = simulateFlow(seed, world).then((verdict) => verdict.failures)))
  return failures
}

/** The first seed of a fixed row that fails with this bug planted, in a way that is the bug's, and passes without it. */
export async function findPlantedFlow(mutant: FlowMutant, world: WorldName): Promise<string | undefined> {
  for (let i = 0; i < MOST_SEEDS; i++) {
    const seed = `mutant-${i}`
    const { failures } = await simulateFlow(seed, world, mutant)
    const found = failures.find((failure) => mutant.shows.some((kind) => failure.startsWith(`${kind}:`)))
    if (found !== undefined && (await failuresWithout(seed, world)).length === 0) return `${seed}: ${found}`
  }
}
