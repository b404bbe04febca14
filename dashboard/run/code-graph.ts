import type { Row } from '../../sdk/views/timeline.ts'

/** Code has no explicit order of steps; its history shows one. */
export interface CodeNode {
  name: string
  after: string[]
  row: Row
}

/**
 * An operation comes after those that had settled when it opened; implied arrows are omitted. Of repeats, the
 * first counts: a loop would make a cycle.
 */
export function codeGraph(rows: readonly Row[]): CodeNode[] {
  const nodes = rows.map((whole) => {
    const row = whole.folded?.members[0] ?? whole
    return { name: `${whole.kind} ${whole.id}`, whole, row, begun: places(row.first), settled: places(row.last) }
  })
  return nodes.map(({ name, whole, row, begun, settled }) => {
    const before = nodes.filter((other) => other.name !== name && isBefore(other, { row, begun, settled }))
    // An operation that settled before another predecessor began is connected through that one.
    const after = before.filter((early) => !before.some((late) => late !== early && isBefore(early, late)))
    return { name, row: whole, after: after.map((each) => each.name) }
  })
}

type Place = [frame: number, index: number]
interface Span {
  row: Row
  begun: Place
  settled: Place
}

const places = (n: string): Place => {
  const [frame = 0, index = 0] = n.split('.').map(Number)
  return [frame, index]
}

function isBefore(a: Span, b: Span): boolean {
  if (a.row.to === undefined || a.row.to > b.row.from) return false
  // Steps that complete in the same frame ran concurrently: sequential steps take a frame each.
  const isSameFrame = a.settled[0] === b.begun[0]
  if (isSameFrame && a.row.kind === 'step' && b.row.kind === 'step') return false
  return isSameFrame ? a.settled[1] < b.begun[1] : a.settled[0] < b.begun[0]
}
