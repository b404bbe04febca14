import type { Duration } from '../base/duration.ts'
import { reviveError } from '../base/error-records.ts'
import { ConflictError, GoneError, RunFailedError, TimeoutError } from '../base/errors.ts'
import { decode } from '../base/values.ts'
import { unreadable } from '../codec/codec.ts'
import { hasEnded } from '../ports/run.ts'
import type { Workflow } from '../workflow.ts'
import type { RunView } from './client.ts'

/** `result(runId, options?)`, or `result(workflow, runId, options?)`. */
export type ResultArguments =
  | [runId: string, options?: ResultOptions]
  | [workflow: Workflow<never>, runId: string, options?: ResultOptions]
interface ResultOptions {
  timeout?: Duration
}

export function resultArguments(given: ResultArguments): {
  workflow?: Workflow<never>
  runId: string
  options?: ResultOptions
} {
  const [first, second, third] = given
  return typeof first === 'string'
    ? { runId: first, options: second as ResultOptions }
    : { workflow: first, runId: second as string, options: third }
}

/** What `result` gives for a run as it stands, whichever client asked for it. */
export function outputOf<O>({ runId, workflow, status, output, error }: RunView, asked?: Workflow<never>): O {
  if (asked && asked.name !== workflow)
    throw new ConflictError(`run '${runId}' is of workflow '${workflow}', not of '${asked.name}'; ask with that one`)
  const reason = unreadable(output)
  if (reason !== undefined) throw new GoneError(`the output of run '${runId}' cannot be read: ${reason}`)
  if (status === 'completed') return decode(output) as O
  if (hasEnded(status) || status === 'stuck') throw new RunFailedError(runId, status, error && reviveError(error))
  throw new TimeoutError(`run '${runId}' is still ${status}; it goes on, ask again later`)
}
