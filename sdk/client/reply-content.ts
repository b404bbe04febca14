import { reviveError } from '../base/error-records.ts'
import { ConflictError, GoneError, RequestRefusedError, TimeoutError } from '../base/errors.ts'
import { decode } from '../base/values.ts'
import { unreadable } from '../codec/codec.ts'
import type { EndStatus, Reply } from '../ports/run.ts'

/** What `ask` gives for what a run said, or did not say, whichever client asked. */

export interface Question {
  runId: string
  request: string
  /** Under which it can be asked again, and counts once. */
  idempotencyKey: string
}

export function contentOf({ result, error }: Reply, { runId, request }: Question): unknown {
  if (error)
    throw new RequestRefusedError(`run '${runId}' refused request '${request}': ${error.message}`, {
      cause: reviveError(error),
    })
  const reason = unreadable(result)
  if (reason !== undefined)
    throw new GoneError(`the reply of run '${runId}' to request '${request}' cannot be read: ${reason}`)
  return decode(result)
}

export function tooLate({ runId, request, idempotencyKey }: Question): TimeoutError {
  return new TimeoutError(
    `run '${runId}' has not replied to request '${request}' in time, and may still do so. To wait ` +
      `on, ask again with the idempotency key '${idempotencyKey}'`,
  )
}

export function neverSaid({ runId, request }: Question, status: EndStatus): ConflictError {
  return new ConflictError(`run '${runId}' has ended (${status}) without a reply to request '${request}'`)
}

export function isStuck({ runId, request, idempotencyKey }: Question): ConflictError {
  return new ConflictError(
    `run '${runId}' is stuck, so nobody can say when it replies to request '${request}'. The ` +
      `request is kept: look at the run's error, mend it and retry the run, then ask again with the ` +
      `idempotency key '${idempotencyKey}'`,
  )
}
