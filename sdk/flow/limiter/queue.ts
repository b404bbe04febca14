import type { Json } from '../../base/json.ts'
import { digest } from '../../base/names.ts'

/**
 * A request that waits in the queue of a limiter. Its owner's own commit removes it, or a repair once the owner is
 * gone.
 */
export interface QueueEntry {
  /** The run that waits. */
  run: string
  /** Who gets the permit: the run itself, or a permit of one of its steps. */
  holder: string
  cost: number
  /** It takes a slot. */
  holds: boolean
  /**
   * Its fairness key: requests of one are served in their order, and keys take turns. The field is stored, in slots and
   * admissions too, under a name that is older than the word.
   */
  lane: string
  /** When it came, moved forward by its priority. */
  order: number
  /** Of a run: its epoch when it was queued. So each time that it is queued has an entry of its own. */
  nth?: number
  /** When it was put there. Its owner's own record may say a moment later that it waits. */
  since?: number
  /** Of a step: what it was granted, which its run has not confirmed so far; or it is not wanted any more. */
  grant?: Grant | 'withdrawn'
}

/** What a request was granted: from when on, and in which slot. */
export interface Grant {
  at: number
  /** When it was granted. */
  by: number
  /** Of a rate: until when it may begin. */
  until?: number
  slot?: number
}

/**
 * The nth permit that a step or task asks for. Each has an identity of its own. Requests of earlier versions have
 * no number.
 */
export function holderOf(run: { id: string }, key: string, nth?: number): string {
  const name = key.startsWith(`${run.id}/`) ? key : `${run.id}/${digest(key)}`
  return nth === undefined ? name : `${name}#${nth}`
}
/** A run's own id has no slash. */
export const runOf = (holder: string): string => holder.split('/', 1)[0]!
export const isOfStep = (holder: string): boolean => holder.includes('/')
/** As people know it: without the number of the request. */
export const shownHolder = (holder: string): string => (isOfStep(holder) ? holder.replace(/#\d+$/, '') : holder)

/** How much waiting one point of priority is worth. */
export const PRIORITY_MS = 60_000

/** Sorts by fairness key, then by order. */
export function entryKey({ lane, order, holder, nth = 0 }: Identified): string {
  const name = holder.length <= 200 ? holder : digest(holder)
  return `${lane}/${String(Math.max(0, Math.trunc(order))).padStart(15, '0')}/${name}${nth > 0 ? `#${nth}` : ''}`
}
export type Identified = Pick<QueueEntry, 'lane' | 'order' | 'holder' | 'nth'>

/** A fairness key as part of sort keys: no two alike. */
export const fairnessKeyOf = (key: string | undefined): string => (key === undefined ? '' : digest(key).slice(0, 10))
/** Sorts behind every entry of a fairness key. */
export const behindFairnessKey = (lane: string): string => `${lane}0`

export const writeEntry = ({ run, holder, cost, holds, lane, order, nth, since, grant }: QueueEntry): Json => ({
  run,
  lane,
  order,
  ...(nth !== undefined && { nth }),
  ...(since !== undefined && { since }),
  ...(holder !== run && { holder }),
  ...(cost !== 1 && { cost }),
  ...(!holds && { holds }),
  ...(grant !== undefined && { grant: grant as unknown as Json }),
})

export function readEntry(value: Json): QueueEntry {
  const { run, lane, order, holder = run, cost = 1, holds = true, nth, since, grant } = value as unknown as QueueEntry
  const rest = {
    ...(nth !== undefined && { nth }),
    ...(since !== undefined && { since }),
    ...(grant !== undefined && { grant }),
  }
  return { run, lane, order, holder, cost, holds, ...rest }
}

/**
 * In the order in which they are served: fairness keys in turn, beginning behind `served`. `entries`: sorted by
 * `entryKey`.
 */
export function inOrderOfService(entries: readonly QueueEntry[], served: string | undefined): QueueEntry[] {
  const byKey = [...Map.groupBy(entries, ({ lane }) => lane).values()]
  const first = served === undefined ? -1 : byKey.findIndex(([entry]) => entry!.lane > served)
  const inOrder = first < 0 ? byKey : [...byKey.slice(first), ...byKey.slice(0, first)]
  const most = Math.max(0, ...byKey.map(({ length }) => length))
  return Array.from({ length: most }, (_, nth) => inOrder.flatMap((ofKey) => ofKey.slice(nth, nth + 1))).flat()
}
