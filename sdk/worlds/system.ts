import { randomUUID } from 'node:crypto'
import type { Clock, Ids, LogSink } from '../ports/world.ts'

/** The clock, ids and log of a real process; every world outside the tests uses these. */

/**
 * A timer ignores that the wall clock was set or the machine slept. So a longer wait is made of
 * several, with a look at the clock in between.
 */
const LONGEST_TIMEOUT = 60_000
/**
 * Most jumps are noticed sooner: during longer waits the wall clock is compared with the monotonic
 * one this often.
 */
const COMPARE_EVERY_MS = 1_000
const IS_A_JUMP_MS = 250

/** Timers that would not notice that the clock was set or the machine slept. */
const longTimers = new Set<() => void>()
let comparing: NodeJS.Timeout | undefined

function watchForJumps(): void {
  let offset = Date.now() - performance.now()
  comparing ??= setInterval(() => {
    const now = Date.now() - performance.now()
    const hasJumped = Math.abs(now - offset) > IS_A_JUMP_MS
    offset = now
    if (hasJumped) for (const rearm of [...longTimers]) rearm()
  }, COMPARE_EVERY_MS).unref()
}

function forget(rearm: () => void): void {
  if (!longTimers.delete(rearm) || longTimers.size > 0) return
  clearInterval(comparing)
  comparing = undefined
}

export const systemClock: Clock = {
  now: () => Date.now(),
  at(time, callback) {
    if (time === Number.POSITIVE_INFINITY) return () => {}
    let timer: NodeJS.Timeout
    const arm = () => {
      clearTimeout(timer)
      timer = setTimeout(check, Math.min(Math.max(0, time - Date.now()), LONGEST_TIMEOUT))
    }
    // A timer may fire a millisecond before the wall clock agrees. To be never early, it is set
    // again.
    const check = () => {
      if (Date.now() < time) return arm()
      forget(arm)
      callback()
    }
    arm()
    if (time - Date.now() > COMPARE_EVERY_MS) {
      longTimers.add(arm)
      watchForJumps()
    }
    return () => {
      clearTimeout(timer)
      forget(arm)
    }
  },
}

/**
 * A UUID of version 7: sorts by time. Its random part comes from Node's own UUIDs, which draw
 * entropy in bulk.
 */
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
