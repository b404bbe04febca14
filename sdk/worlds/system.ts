import { randomUUID } from 'node:crypto'
import { v7 } from 'uuid'
import type { Clock, Ids, LogSink } from '../ports.ts'

/** The clock, ids and log of a real process; every world outside the tests uses these. */

/** setTimeout counts in 32 bits; a longer wait is made of several. */
const LONGEST_TIMEOUT = 2 ** 31 - 1

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

export const systemIds: Ids = {
  runId: () => v7(),
  secret: () => randomUUID(),
  messageId: () => v7(),
  random: () => Math.random(),
}

export const consoleLog: LogSink = (level, message, fields) => {
  console[level](JSON.stringify({ level, message, ...fields }))
}
