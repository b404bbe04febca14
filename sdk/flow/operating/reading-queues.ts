import type { Document } from '../../ports/documents.ts'
import type { Count } from '../../ports/run-lists.ts'
import type { World } from '../../ports/world.ts'
import { type LimiterId, queueOf } from '../limiter/limiter.ts'
import { behindLane, type QueueEntry, readEntry } from '../limiter/queue.ts'
import { inWords, UNKNOWN } from '../limiter/readable.ts'

/** Lines as people look at them. Nobody is let in by what is read here. */

/** A line is counted no further. */
const MOST_COUNTED = 1_000
/** Nor are more lanes of a long one looked at, one after the other. */
const MOST_LANES = 50

export interface Line {
  /** Sorted by lane. */
  tickets: QueueEntry[]
  isMore?: true
  /** Requests that cannot be read, and where they are. They are counted, and not among the tickets. */
  unreadable?: { key: string; problem: string }[]
}

/** As far as it is counted. */
export async function readLine({ documents }: Pick<World, 'documents'>, gate: LimiterId): Promise<Line> {
  const found = await documents.list(queueOf(gate), { limit: MOST_COUNTED + 1 })
  const counted = found.slice(0, MOST_COUNTED)
  const unreadable = counted
    .filter((document) => document.unreadable)
    .map((document) => ({ key: document.key, problem: inWords(queueOf(gate), document) }))
  return {
    tickets: ticketsOf(counted),
    ...(found.length > MOST_COUNTED && { isMore: true }),
    ...(unreadable.length > 0 && { unreadable }),
  }
}

/**
 * A line that is too long to be seen as a whole may be that of one lane, and others be served in between. So: of each lane the first, in the order of
 * their turns. `isMore`: there are lanes beyond.
 */
export async function readLanes(
  { documents }: Pick<World, 'documents'>,
  gate: LimiterId,
  { served, each, most }: Lanes,
): Promise<Line> {
  const lanes = new Map<string, QueueEntry[]>()
  let count = 0
  let after = served === undefined ? undefined : behindLane(served)
  let isFromStart = after === undefined
  while (lanes.size < most && count < MOST_COUNTED) {
    const found = await documents.list(queueOf(gate), { limit: each, ...(after !== undefined && { after }) })
    const tickets = ticketsOf(found)
    const lane = tickets[0]?.lane
    if (lane === undefined && !isFromStart) {
      isFromStart = true
      after = undefined
      continue
    }
    if (lane === undefined || lanes.has(lane)) return { tickets: [...lanes.values()].flat() }
    const ofLane = tickets.filter((ticket) => ticket.lane === lane)
    lanes.set(lane, ofLane)
    count += ofLane.length
    after = behindLane(lane)
  }
  return { tickets: [...lanes.values()].flat(), isMore: true }
}

interface Lanes {
  /** The lane that was served last. */
  served: string | undefined
  /** How many of each lane, and how many lanes. */
  each: number
  most: number
}

/** What of a long line is before one in this lane: nobody of another lane who stands further back there. */
export async function readFor(
  world: Pick<World, 'documents'>,
  gate: LimiterId,
  lane: string,
  holder: string,
  served: string | undefined,
): Promise<Line> {
  const found = await world.documents.list(queueOf(gate), { after: `${lane}/`, limit: MOST_COUNTED })
  const own = ticketsOf(found).filter((ticket) => ticket.lane === lane)
  const depth = own.findIndex((ticket) => ticket.holder === holder) + 1
  if (depth === 0) return { tickets: own, isMore: true }
  const line = await readLanes(world, gate, { served, each: depth, most: MOST_LANES })
  return line.tickets.some((ticket) => ticket.holder === holder)
    ? line
    : { ...line, tickets: [...line.tickets, ...own.slice(0, depth)] }
}

export const hasLanes = ({ tickets }: Pick<Line, 'tickets'>): boolean => tickets.at(-1)?.lane !== ''

const ticketsOf = (found: readonly Document[]): QueueEntry[] =>
  found.map(({ value }) => readEntry(value)).filter(({ run }) => run !== UNKNOWN)

export const countOf = ({ tickets, isMore, unreadable = [] }: Line): Count => ({
  count: tickets.length + unreadable.length,
  ...(isMore && { isMore }),
})

/** Of a line that is not seen as a whole, lanes that are not seen are served in between. */
export function placeAt(at: number, { tickets, isMore }: Line): Count {
  if (!isMore) return { count: Math.max(0, at) + 1 }
  if (at < 0) return { count: MOST_COUNTED, isMore }
  return { count: at + 1, ...(hasLanes({ tickets }) && { isMore }) }
}
