import { span } from '../sdk/views/moments.ts'

/** Times and amounts, as people read them. */

const UNITS: readonly [string, number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
]

/** `340 ms`, `4.2 s`, `30 d 4 h`. Small differences between clocks make no negative times. */
export const duration = (ms: number): string => span(Math.max(0, ms))

/** `12 s ago`, `in 3 d`: one unit, since it keeps counting on screen. */
export function relative(at: number, now: number): string {
  const ms = at - now
  if (Math.abs(ms) < 1_000) return 'now'
  const i = UNITS.findIndex(([, size]) => Math.abs(ms) >= size)
  const [unit, size] = UNITS[i]!
  const text = `${Math.floor(Math.abs(ms) / size)} ${unit}`
  return ms > 0 ? `in ${text}` : `${text} ago`
}

/** To the millisecond, in the reader's own time zone. */
export function absolute(at: number): string {
  const date = new Date(at)
  const two = (value: number) => String(value).padStart(2, '0')
  const offset = -date.getTimezoneOffset()
  const zone =
    offset === 0
      ? 'UTC'
      : `UTC${offset < 0 ? '−' : '+'}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`
  return `${day(at)} ${clockTime(at)} ${zone}`
}

export function day(at: number): string {
  const date = new Date(at)
  return `${date.getFullYear()}-${String(date.getMonth() + 1).padStart(2, '0')}-${String(date.getDate()).padStart(2, '0')}`
}

export function clockTime(at: number): string {
  const date = new Date(at)
  const part = (value: number, digits = 2) => String(value).padStart(digits, '0')
  return `${part(date.getHours())}:${part(date.getMinutes())}:${part(date.getSeconds())}.${part(date.getMilliseconds(), 3)}`
}

export const amount = (count: number): string => count.toLocaleString('en')
export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${amount(count)} ${count === 1 ? one : many}`
