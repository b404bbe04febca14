import { FatalError } from '../../base/errors.ts'
import type { LimiterId } from '../../flow/limiter/limiter.ts'
import { dropCommand } from '../../views/turn.ts'

/** Something of a limiter cannot be read: its limit's record, its state, a slot or a request in its queue. */
export class UnreadableLimiterError extends FatalError {
  override name = 'UnreadableLimiterError'
  readonly limiter: LimiterId
  /** Each names a document and says what is wrong with it. */
  readonly problems: readonly string[]

  constructor(limiter: LimiterId, problems: readonly string[]) {
    const shown = problems.slice(0, MOST_SHOWN).join('; ')
    const more = problems.length > MOST_SHOWN ? `; and ${problems.length - MOST_SHOWN} more` : ''
    super(
      `what is stored of it cannot be read: ${shown}${more}. Put it right, or drop it: ` +
        `\`${dropCommand(limiter.limit)}\``,
    )
    this.limiter = limiter
    this.problems = problems
  }
}

const MOST_SHOWN = 3

/** The message for operators about a limiter that could not be checked: nothing else is affected. */
export function cannotCheck({ limit, key }: LimiterId, error: unknown): string {
  const which = `limit '${limit}'${key === undefined ? '' : ` for '${key}'`}`
  const reason = error instanceof Error ? error.message : String(error)
  return (
    `${which} could not be checked: ${reason}. Until then it grants nothing that depends on this; ` +
    'all other limits go on'
  )
}
