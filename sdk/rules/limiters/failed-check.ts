import type { LimiterId } from '../../flow/limiter.ts'

/** What an operator is told of a limiter whose record cannot be read: it grants nothing, and nothing else is affected. */
export function cannotCheck({ limit, key }: LimiterId, error: unknown): string {
  const which = `limit '${limit}'${key === undefined ? '' : ` for '${key}'`}`
  return `${which} could not be checked: ${error instanceof Error ? error.message : error}. It grants nothing until it can be; all other limits go on`
}
