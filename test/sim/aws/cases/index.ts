import type { Case } from './case.ts'
import { CONDITIONS } from './conditions.ts'
import { QUERIES } from './queries.ts'
import { randomCase } from './random.ts'
import { UPDATES } from './updates.ts'
import { VALIDATION } from './validation.ts'
import { WORLD } from './world.ts'

/** By the name of the file their recorded answers are in. */
export const CASES: Record<string, Case[]> = {
  conditions: CONDITIONS,
  updates: UPDATES,
  validation: VALIDATION,
  queries: QUERIES,
  world: WORLD,
  random: Array.from({ length: 500 }, (_, number) => randomCase(number)),
}
