import { NEVER, type Range } from '../chance.ts'

/** What DynamoDB does as it pleases. */
export interface DynamoDbHabits {
  /** How long after its `ttl` an item is deleted. AWS says within a few days, and at no time before. */
  ttlLagMs: Range
  /** How long after the write its entry in an index changes. */
  indexLagMs: Range
  /** How often a read that is not strongly consistent looks at a replica, and how far that one is behind. */
  staleReads: { chance: number; lagMs: Range }
  /** How often a part of a batch is left for the caller to send again. */
  unprocessed: number
  /** How often a transaction meets another one. */
  transactionConflict: number
}

const DAY = 86_400_000

/** Everything at once, and every read up to date. */
export const PROMPT_DYNAMODB: DynamoDbHabits = {
  ttlLagMs: [0, 0],
  indexLagMs: [0, 0],
  staleReads: { chance: NEVER, lagMs: [0, 0] },
  unprocessed: NEVER,
  transactionConflict: NEVER,
}

/** As bad as AWS allows itself to be. */
export const MOODY_DYNAMODB: DynamoDbHabits = {
  ttlLagMs: [0, 4 * DAY],
  indexLagMs: [0, 5_000],
  staleReads: { chance: 0.3, lagMs: [0, 1_000] },
  unprocessed: 0.05,
  transactionConflict: 0.05,
}
