import type { ErrorRecord } from '../base/events.ts'
import { usersFrames } from '../base/stacks.ts'

/**
 * Adds the lines that called `ctx.step` to a recorded error. They are not on the error's own stack, because the
 * engine calls the body.
 */
export type AddCaller = (record: ErrorRecord) => ErrorRecord

/** Two frames of ours, a helper of the user's and its caller. */
const MOST_FRAMES = 5

/**
 * The lines that led here. Remembering them takes some microseconds, as much as a step in memory, so only
 * development turns it on. They become text only when an error is recorded.
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
