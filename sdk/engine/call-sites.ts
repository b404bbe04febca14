import type { ErrorRecord } from '../base/events.ts'
import { usersFrames } from '../base/stacks.ts'

/** Adds to the record of what a step's body threw the lines that asked for the body: they are not on its stack, because the engine calls it. */
export type AddCaller = (record: ErrorRecord) => ErrorRecord

/** Two of ours, and enough for a helper of the user's and whoever called that. */
const MOST_FRAMES = 5

/**
 * The lines that led here. To remember them takes some microseconds, as much as a step in memory: only for those who write workflows, not where they run by the
 * million. They are made text of only when somebody looks.
 */
export function traceCall(): AddCaller {
  const site: { stack?: string } = {}
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = MOST_FRAMES
  Error.captureStackTrace(site)
  Error.stackTraceLimit = stackTraceLimit
  return (record) => {
    if (record.stack === undefined || !site.stack) return record
    const [, ...frames] = usersFrames(site.stack).split('\n')
    return { ...record, stack: [record.stack, ...frames].join('\n') }
  }
}
