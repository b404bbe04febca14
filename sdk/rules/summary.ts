import type { ErrorRecord } from '../base/events.ts'
import type { RunSummary, ShortError } from '../ports/run-lists.ts'
import { fingerprint } from '../views/fingerprint.ts'

/** A list is for looking over; who wants to know more asks for the run. */
const LONGEST_MESSAGE = 160
const LONGEST_NAME = 80

type Optional = 'wakeAt' | 'waitingFor' | 'parent' | 'startedAt' | 'endedAt'
type Summarised = Omit<RunSummary, Optional | 'error' | 'runId'> & { id: string } & {
  [K in Optional]?: RunSummary[K] | undefined
}

/** A run as lists show it, of what a world has of it at hand. */
export function summaryOf(run: Summarised, short: (ShortError & { at?: number }) | undefined): RunSummary {
  const { at: stuckAt, ...error } = short ?? {}
  const {
    id,
    workflow,
    version,
    status,
    generation,
    attempt,
    wakeAt,
    waitingFor,
    parent,
    tags,
    createdAt,
    startedAt,
    endedAt,
  } = run
  return {
    runId: id,
    workflow,
    version,
    status,
    generation,
    attempt,
    tags,
    createdAt,
    ...(startedAt !== undefined && { startedAt }),
    ...(endedAt !== undefined && { endedAt }),
    ...(wakeAt !== undefined && { wakeAt }),
    ...(parent && { parent }),
    // What it waited for is on record until the run is released again, and does not count meanwhile.
    ...(waitingFor && status !== 'running' && status !== 'queued' && { waitingFor }),
    ...(short && { error: error as ShortError }),
    ...(stuckAt !== undefined && { stuckAt }),
  }
}

/** What a list shows of an error. A world keeps it with the run, or makes it when it is asked. */
export function inShort(workflow: string, error: ErrorRecord): ShortError & { at?: number } {
  const { workflow: _, ...incident } = fingerprint(workflow, error)
  const { name, message, at } = error
  return {
    name: name.slice(0, LONGEST_NAME),
    message: message.slice(0, LONGEST_MESSAGE),
    incident,
    ...(at !== undefined && { at }),
  }
}
