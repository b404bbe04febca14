import type { Json } from '../engine/json.ts'
import { digest } from '../engine/names.ts'

/** Which gate: a limit, and where it has keys, which of them. */
export interface GateId {
  limit: string
  key?: string
}

/** Of whatever says so. */
export const gateOf = ({ limit, key }: { limit: string; key?: string | undefined }): GateId => ({ limit, ...(key !== undefined && { key }) })

export const isSameGate = (a: GateId | undefined, b: GateId): boolean => a?.limit === b.limit && a.key === b.key

/** A place in the line before a gate. */
export interface Ticket {
  /** The run that waits. */
  run: string
  /** Who is let in: the run itself, or one of its steps. */
  holder: string
  cost: number
  holds: boolean
  /** Those of one lane are served in their order, and lanes in turn: so nobody's thousand keep another's one waiting. */
  lane: string
  /** When it came, moved forward by its priority. */
  order: number
}

/** Who is let in for a step or a task: its run can be told from it, however long the names are. */
export function holderOf(run: { id: string }, key: string): string {
  return key.startsWith(`${run.id}/`) ? key : `${run.id}/${digest(key)}`
}
/** A run's own id has no slash. */
export const runOf = (holder: string): string => holder.split('/', 1)[0]!
export const isOfStep = (holder: string): boolean => holder.includes('/')

/** How much waiting a step of priority is worth. Nothing starves: whoever has waited long enough is before everybody new. */
export const PRIORITY_MS = 60_000

export const gatesOf = (limit: string): string => `gates ${limit}`
/** A document needs a key. No key of a user begins with a control character. */
export const NO_KEY = '\u0001'
export const gateKey = ({ key }: GateId): string => (key === undefined ? NO_KEY : key)
export const lineOf = ({ limit, key }: GateId): string => (key === undefined ? `line ${limit}` : `line ${limit}\u0001${key}`)

/** Sorts by lane, then by order. */
export function ticketKey({ lane, order, holder }: Pick<Ticket, 'lane' | 'order' | 'holder'>): string {
  return `${lane}/${String(Math.max(0, Math.trunc(order))).padStart(15, '0')}/${holder.length <= 200 ? holder : digest(holder)}`
}

/** A lane as it stands in keys: no two alike, and of no interest to anybody. Those without are one. */
export const laneOf = (key: string | undefined): string => (key === undefined ? '' : digest(key).slice(0, 10))
/** Behind everybody of a lane. */
export const behindLane = (lane: string): string => `${lane}0`

export const writeTicket = ({ run, holder, cost, holds, lane, order }: Ticket): Json => ({
  run,
  lane,
  order,
  ...(holder !== run && { holder }),
  ...(cost !== 1 && { cost }),
  ...(!holds && { holds }),
})

export function readTicket(value: Json): Ticket {
  const { run, lane, order, holder = run, cost = 1, holds = true } = value as { [K in keyof Ticket]: never } & { run: string }
  return { run, lane, order, holder, cost, holds }
}

/** In the order in which they are let in: lanes in turn, beginning behind the one that was served last. `line`: sorted by `ticketKey`. */
export function inOrderOfService(line: readonly Ticket[], served: string | undefined): Ticket[] {
  const lanes = [...Map.groupBy(line, ({ lane }) => lane).values()]
  const first = served === undefined ? -1 : lanes.findIndex(([ticket]) => ticket!.lane > served)
  const inTurn = first < 0 ? lanes : [...lanes.slice(first), ...lanes.slice(0, first)]
  const rounds = Math.max(0, ...lanes.map(({ length }) => length))
  return Array.from({ length: rounds }, (_, round) => inTurn.flatMap((lane) => lane.slice(round, round + 1))).flat()
}
