const UNITS: [unit: string, ms: number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
]

/** "12 ms", "4.2 s", "3 h 20 min": two units at most. */
export function span(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(Math.round(ms / 100) / 10).toString()} s`
  const index = UNITS.findIndex(([, size]) => ms >= size)
  const [unit, size] = UNITS[index]!
  const whole = Math.floor(ms / size)
  const [smaller, smallerSize] = UNITS[index + 1] ?? ['s', 1_000]
  const rest = Math.floor((ms % size) / smallerSize)
  return rest === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${smaller}`
}

/** "5 s", "3 min": one unit, for estimates. */
export function about(ms: number): string {
  const [unit, size] = UNITS.find(([, size]) => ms >= 0.95 * size) ?? ['s', 1_000]
  return `${Math.max(1, Math.round(ms / size))} ${unit}`
}

/** "in 4.2 s", "3 h ago". */
export function fromNow(at: number, now: number): string {
  return at >= now ? `in ${span(at - now)}` : `${span(now - at)} ago`
}

/** Local time with its offset, because readers may be in several zones; with the date unless it is today. */
export function clockTime(at: number, now: number): string {
  const pad = (n: number) => String(n).padStart(2, '0')
  const date = new Date(at)
  const day = (d: Date) => `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())}`
  const time = `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`
  return `${day(date) === day(new Date(now)) ? '' : `${day(date)} `}${time} ${zoneOf(date)}`
}

/** "+02:00": the offset at that moment, summer time included. */
function zoneOf(date: Date): string {
  const minutes = -date.getTimezoneOffset()
  const pad = (n: number) => String(n).padStart(2, '0')
  return minutes === 0
    ? 'UTC'
    : `${minutes < 0 ? '-' : '+'}${pad(Math.floor(Math.abs(minutes) / 60))}:${pad(Math.abs(minutes) % 60)}`
}
