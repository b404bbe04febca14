import { reviveError } from '../base/error-records.ts'
import { CancelledError, StepError } from '../base/errors.ts'
import type { Delivery } from '../base/events.ts'
import { decode } from '../base/values.ts'
import type { Operation } from './operation.ts'
import type { Origins } from './origins.ts'
import type { Requests } from './requests.ts'

/**
 * Settles an operation with what is delivered. The code gets copies, so that it cannot change the journal by
 * accident.
 */
export function settle(
  operation: Operation,
  event: Extract<Delivery, { id: string }>,
  requests: Requests,
  origins: Origins,
): void {
  switch (event.type) {
    case 'step.completed':
    case 'callback.completed':
    case 'child.completed':
    case 'task.completed':
      return operation.resolve(decode(event.result))
    case 'child.detached': {
      const opened = operation.facts?.opened
      return operation.resolve({ runId: opened?.type === 'child.started' ? opened.run : '' })
    }
    case 'sleep.completed':
    case 'wait.timedOut':
      return operation.resolve(undefined)
    case 'wait.completed':
      return operation.resolve(requests.isOne(operation) ? requests.take(operation, event) : decode(event.payload))
    case 'callback.failed':
    case 'child.failed':
      return reject(operation, reviveError(event.error), origins)
    case 'step.failed':
    case 'task.failed': {
      const cause = reviveError(event.error)
      const isCancelled = cause instanceof CancelledError
      return reject(operation, isCancelled ? cause : new StepError(event.id, event.attempt, cause), origins)
    }
    default:
      return event satisfies never
  }
}

function reject(operation: Operation, error: Error, origins: Origins): void {
  origins.note(error, operation.id)
  operation.reject(error)
}
