import type { Mutant } from '../mutants.ts'
import type { WorldName } from '../simulate.ts'

/** A bug in flow control, planted where storage and rules meet, so that it survives another way of writing the rules. */
export interface FlowMutant {
  found: readonly WorldName[]
  /** Anew for each history: some bugs remember what they have seen. */
  plant(): Mutant
}

export const FLOW_MUTANTS: Record<string, FlowMutant> = {}
