import type { Row, Timeline } from '../../sdk/views/timeline.ts'

/** The position of a moment between the left and the right end, from 0 to 1, and back. */
export interface Axis {
  at(time: number): number
  timeAt(place: number): number
  /** Where time was cut out, and how much. */
  cuts: { place: number; ms: number }[]
}

/** A cut is shown if it saves at least so many times what it takes. */
const WORTH = 3
/** All cuts together take at most this share of the width. */
const ROOM_FOR_IDLE = 0.3

export function trueAxis({ from }: Pick<Timeline, 'from'>, to: number): Axis {
  const length = Math.max(1, to - from)
  return { at: (time) => within((time - from) / length), timeAt: (place) => from + place * length, cuts: [] }
}

/**
 * Shows bursts of work to scale, and idle time between them as narrow gaps: otherwise a run that sleeps for a
 * month would show nothing else.
 */
export function cutAxis({ from, rows, visits }: Timeline, to: number): Axis {
  const work = merged([...rows.flatMap(workOf), ...visits.map((visit): Span => [visit.from, visit.to])])
  const moments = [...new Set([from, to, ...rows.flatMap(momentsOf), ...work.flat()])]
    .filter((at) => at >= from && at <= to)
    .sort((a, b) => a - b)
  // All of it happened in one millisecond.
  if (moments.length < 2) return trueAxis({ from }, to)
  let next = 0
  const idle = moments.slice(1).map((end, i) => {
    const start = moments[i]!
    while (next < work.length && work[next]![1] <= start) next++
    return !(next < work.length && work[next]![0] < end)
  })
  const lengthOf = (i: number) => moments[i + 1]! - moments[i]!
  const busyMs = idle.reduce((sum, isIdle, i) => (isIdle ? sum : sum + lengthOf(i)), 0)
  const gaps = idle.filter(Boolean).length
  const most = gaps === 0 ? 0 : Math.max(0.1, (Math.max(busyMs, 1) * ROOM_FOR_IDLE) / (1 - ROOM_FOR_IDLE) / gaps)
  const ends = [0]
  for (const [i, isIdle] of idle.entries()) ends.push(ends[i]! + (isIdle ? Math.min(most, lengthOf(i)) : lengthOf(i)))
  const whole = ends.at(-1)!
  const places = ends.map((end) => end / whole)
  const cuts = idle.flatMap((isIdle, i) =>
    isIdle && lengthOf(i) > most * WORTH ? [{ place: (places[i]! + places[i + 1]!) / 2, ms: lengthOf(i) }] : [],
  )
  return { at: (time) => between(time, moments, places), timeAt: (place) => between(place, places, moments), cuts }
}

type Span = [from: number, to: number]

const workOf = ({ bars }: Row): Span[] =>
  bars.flatMap(({ kind, from, to }): Span[] => (kind === 'attempt' && to !== undefined ? [[from, to]] : []))
const momentsOf = ({ bars, marks, from, to }: Row): number[] => [
  from,
  ...(to === undefined ? [] : [to]),
  ...bars.flatMap((bar) => [bar.from, bar.to ?? bar.from]),
  ...marks.map(({ at }) => at),
]

function merged(spans: Span[]): Span[] {
  const all: Span[] = []
  for (const span of spans.sort((a, b) => a[0] - b[0])) {
    const last = all.at(-1)
    if (last && span[0] <= last[1]) last[1] = Math.max(last[1], span[1])
    else all.push([...span])
  }
  return all
}

const within = (place: number): number => Math.min(1, Math.max(0, place))

/** Maps one scale to the other, linearly between their common points. */
function between(value: number, known: readonly number[], others: readonly number[]): number {
  if (known.length < 2 || value <= known[0]!) return others[0] ?? 0
  if (value >= known.at(-1)!) return others.at(-1)!
  let [low, high] = [0, known.length - 1]
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (known[middle]! <= value) low = middle
    else high = middle
  }
  const share = (value - known[low]!) / (known[high]! - known[low]!)
  return others[low]! + share * (others[high]! - others[low]!)
}
