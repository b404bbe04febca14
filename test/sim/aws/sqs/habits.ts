import { NEVER, type Range } from '../chance.ts'

/** What a standard queue does as it pleases. */
export interface QueueHabits {
  /** How long after its time a message can be received. Unequal delays are what puts messages out of order. */
  lateMs: Range
  /** How often a message is there twice. */
  twice: number
  /** How often a receive that does not wait finds nothing, though there is something. */
  overlooked: number
  /** How often an entry of a batch is refused while the others are taken. */
  batchEntryFails: number
}

export const PROMPT_QUEUE: QueueHabits = { lateMs: [0, 0], twice: NEVER, overlooked: NEVER, batchEntryFails: NEVER }

export const MOODY_QUEUE: QueueHabits = { lateMs: [0, 2_000], twice: 0.05, overlooked: 0.1, batchEntryFails: 0.02 }
