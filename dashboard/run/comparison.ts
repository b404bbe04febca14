import type { Outcome, Row, Timeline } from '../../sdk/views/timeline.ts'

export interface Side {
  outcome: Outcome
  ms?: number
}

export interface Compared {
  id: string
  kind: Row['kind']
  a?: Side
  b?: Side
  difference?: 'only here' | 'only there' | 'other outcome' | 'slower' | 'faster'
}

/** Small differences are noise: a step must take so many times as long, and so much longer. */
const FACTOR = 1.5
const LEAST_MS = 20

/** Operation by operation, by id: those of this run in their order, then those that only the other run has. */
export function comparison(here: Timeline, there: Timeline): Compared[] {
  const others = new Map(unfolded(there).map((row) => [keyOf(row), row]))
  const own = unfolded(here)
  const known = new Set(own.map(keyOf))
  return [
    ...own.map((row) => compared(row, others.get(keyOf(row)))),
    ...[...others.values()]
      .filter((row) => !known.has(keyOf(row)))
      .map((row): Compared => ({ id: row.id, kind: row.kind, b: sideOf(row), difference: 'only there' })),
  ]
}

const unfolded = ({ rows }: Timeline): Row[] => rows.flatMap((row) => row.folded?.members ?? [row])
const keyOf = ({ kind, id }: Row): string => `${kind} ${id}`
const sideOf = ({ outcome, from, to }: Row): Side => ({ outcome, ...(to !== undefined && { ms: to - from }) })

function compared(row: Row, other: Row | undefined): Compared {
  const { id, kind } = row
  const a = sideOf(row)
  if (!other) return { id, kind, a, difference: 'only here' }
  const b = sideOf(other)
  const difference = a.outcome !== b.outcome ? 'other outcome' : inTime(a.ms, b.ms)
  return { id, kind, a, b, ...(difference && { difference }) }
}

function inTime(a: number | undefined, b: number | undefined): 'slower' | 'faster' | undefined {
  if (a === undefined || b === undefined || Math.abs(a - b) < LEAST_MS) return undefined
  if (a > b * FACTOR) return 'slower'
  return b > a * FACTOR ? 'faster' : undefined
}
