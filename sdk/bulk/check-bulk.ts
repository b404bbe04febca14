import { InvalidInputError } from '../base/errors.ts'
import { hasEnded } from '../ports/run.ts'
import { TROUBLE } from './incidents.ts'
import { BULK_BOUNDS, type Bulk } from './steer-many.ts'

/** Checks a request before anything is started. */
export function checkBulk({ action, filter, perSecond, limit, from, inheritUndone }: Bulk): void {
  for (const [name, value] of Object.entries({ perSecond, limit })) {
    const { least, most } = BULK_BOUNDS[name as keyof typeof BULK_BOUNDS]
    if (value !== undefined && !(Number.isInteger(value) && value >= least && value <= most))
      throw new InvalidInputError(
        `${name} must be a whole number from ${least} to ${most}, got ${JSON.stringify(value)}`,
      )
  }
  // An unset variable in a filter would otherwise match every run.
  for (const [name, value] of Object.entries({ ...filter, from: filter.from ?? from }))
    if (value === '') throw new InvalidInputError(`${name} is empty; say which runs are meant, or leave it out`)
  if (Object.values(filter).every((value) => value === undefined))
    throw new InvalidInputError(
      'say which runs are meant: give at least one of incident, workflow, status, tag, idPrefix, from, to and since',
    )
  if (action !== 'rerun' && (from !== undefined || inheritUndone !== undefined))
    throw new InvalidInputError(
      `only a rerun takes a step to begin from, not a ${action}; leave out from and inheritUndone`,
    )
  checkStatus({ action, filter })
}

function checkStatus({ action, filter: { status, incident } }: Pick<Bulk, 'action' | 'filter'>): void {
  const isNarrow = incident !== undefined && status === undefined
  if (isNarrow) return
  switch (action) {
    case 'retry':
      if (!(TROUBLE as readonly unknown[]).includes(status))
        throw new InvalidInputError("only failed and stuck runs can be retried: give the status 'failed' or 'stuck'")
      return
    case 'rerun':
      if (status === undefined || !hasEnded(status)) {
        const open = status === undefined ? '' : `; those that are ${status} have not: retry them, or end them first`
        throw new InvalidInputError(
          `a rerun is of runs that have ended: give a status in which runs have ended, such as 'failed'${open}`,
        )
      }
      return
    default:
      if (status !== undefined && hasEnded(status))
        throw new InvalidInputError(
          `runs that are ${status} have ended, and there is nothing to ${action}; give another status, or none ` +
            'for all that are open',
        )
  }
}
