import { randomUUID } from 'node:crypto'
import type { Clock, Ids, LogSink } from '../ports.ts'

/** The clock, ids and log of a real process; every world outside the tests uses these. */

/**
 * A timer counts on when the wall clock is set, or the machine sleeps. So a longer wait is made of several, and the clock is looked
 * at between them.
 */
const LONGEST_TIMEOUT = 60_000

export const systemClock: Clock = {
  now: () => Date.now(),
  at(time, callback) {
    if (time === Number.POSITIVE_INFINITY) return () => {}
    let timer: NodeJS.Timeout
    const arm = () => {
      timer = setTimeout(check, Math.min(Math.max(0, time - Date.now()), LONGEST_TIMEOUT))
    }
    // A timer may fire a millisecond before the wall clock agrees: never early means asking again.
    const check = () => (Date.now() >= time ? callback() : arm())
    arm()
    return () => clearTimeout(timer)
  },
}

/** A UUID of version 7: sorts by time. Its random part comes from Node's own UUIDs, which draw entropy in bulk. */
function uuidByTime(): string {
  const time = Date.now().toString(16).padStart(12, '0')
  const random = randomUUID()
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(15)}`
}

export const systemIds: Ids = {
  runId: uuidByTime,
  secret: () => randomUUID(),
  messageId: uuidByTime,
  random: () => Math.random(),
}

export const consoleLog: LogSink = (level, message, fields) => {
  console[level](JSON.stringify({ level, message, ...fields }))
}
