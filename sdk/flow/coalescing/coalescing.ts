/**
 * Start coalescing: several starts become one run (`debounce`, `batch`).
 *
 * The starts of one workflow and key that have not been taken yet are a *series*, a small record that counts them. A
 * start counts the series up, which is never refused and gives it a number of its own; from the number follow its run
 * and its slot there. Each slot is written once: with the start, in the run's inbox, or closed by the runner. The first
 * start to come creates the run, with its own input; its slot is part of the run. A batch that is full leads to the
 * next run by arithmetic. A run whose time has come ends the series first, at the number that it has seen, so that no
 * later start can be counted for it. So each start that was accepted is in exactly one run, at a constant cost.
 *
 * This file decides; `rules/coalescing/` reads and writes.
 */
import { milliseconds } from '../../base/duration.ts'
import { ConflictError, InvalidInputError } from '../../base/errors.ts'
import { canonicalJson, type Json } from '../../base/json.ts'
import { digest, keyedRunId } from '../../base/names.ts'
import { type Accepted, accept } from '../../base/schema.ts'
import type { Message, NewRun, RunStatus } from '../../ports/run.ts'
import type { Wake } from '../../ports/world.ts'
import type { AnyWorkflow } from '../../workflow.ts'
import { keyFor } from '../admission.ts'

/**
 * What a run remembers of its starts. Stored as `gathering` until it has collected them, and as `gathered` from
 * then on.
 */
export interface CoalescedStarts {
  key: string
  /** The number of its first start in the series. In runs of 0.1, the place in the log (`logged-starts.ts`). */
  first: number
  /** It gets all of them, as a list. */
  all?: true
  /** The series that counts its starts. Runs of 0.1 have none. */
  series?: string
  /** How many starts it has room for. */
  size?: number
  /** The slot of the start that the run was created with. */
  slot?: number
}

/** The record that counts starts. Its version is the number of the last one. */
export interface Series {
  /** Names the series, and is the id of its first run. */
  run: string
  /** Of a batch. It stays what it was when the series began, whatever the code says since. */
  size?: number
}

export const seriesOf = (workflow: string, key: string): string => `series of starts ${workflow}\u0001${key}`
/** Each collection has one record. */
export const SERIES = 'series'

/** Where start number `n` of a series belongs. */
export interface Slot {
  runId: string
  /** The number of the run's first start. */
  first: number
  /** From 1. */
  slot: number
}

export function slotOf({ run, size }: Series, n: number): Slot {
  const index = size === undefined ? 0 : Math.floor((n - 1) / size)
  const first = index * (size ?? 0) + 1
  return { runId: index === 0 ? run : keyedRunId(`coalesced\n${run}\n${index}`), first, slot: n - first + 1 }
}

/** A start in the inbox of the run that gets it. */
export interface StartMail {
  kind: 'start'
  id: string
  slot: number
  at: number
  input?: Json
  parsed?: Json
  reparse?: true
  /** Identifies a start: for one with an idempotency key, a digest of the key. */
  sender?: string
  /** The runner closed the slot before its start came, which has to look for another run. */
  closed?: true
}

/** Written before a series is ended: so a later runner knows how many starts were counted for the run. */
export interface SeriesEndMail {
  kind: 'starts end'
  id: string
  /** The last slot that was given out. */
  slot: number
}

/** What is in an inbox for the rules alone: the engine never sees it. */
export type CoalescingMail = StartMail | SeriesEndMail
export const isForEngine = (mail: Message | CoalescingMail): mail is Message => !isCoalescing(mail)
export const isCoalescing = (mail: Message | CoalescingMail): mail is CoalescingMail =>
  mail.kind === 'start' || mail.kind === 'starts end'
export const slotId = (slot: number): string => `start ${slot}`
export const seriesEnd = (slot: number): SeriesEndMail => ({ kind: 'starts end', id: `starts end ${slot}`, slot })

/** What of a start is a payload. */
export const START_PAYLOADS = ['input', 'parsed'] as const

/** Where starts under an idempotency key are recognised, and for how long. */
export const REPEATS = 'repeated starts'
export const REPEATS_KEPT_MS = 86_400_000
/** A series is forgotten so long after its last start was due. No start takes that long to fill its slot. */
const SERIES_KEPT_MS = 86_400_000

/** A start that was accepted under an idempotency key. */
export interface Repeat {
  run: string
  /** A digest of its input. */
  input?: string
  /** Missing in those of 0.1, which were written once the run had them. */
  slot?: number
  first?: number
  at?: number
}

/** One start of a workflow that coalesces them. */
export interface NewStart {
  /** The run, if this start is the one that creates it. Its id is the one that its series says. */
  run: NewRun
  sender: string
  /** An id for the first run of a new series. */
  newId: () => string
  key: string
  size?: number
  /** How long after it was created the run is due. */
  waitMs: number
  keptMs: number
  repeat?: { key: string; input: string }
}

/** Encodes what a start holds for the run that gets it; `isThere`: the run exists, and its tags count. */
export type EncodeStart = (run: NewRun, runId: string, isThere: boolean) => Promise<NewRun>

/** The run that gets a start. */
export interface Coalesced {
  runId: string
  status: RunStatus
  created: boolean
  wakes: Wake[]
}

/** How long the code of today has a run wait for more starts, and for how many. */
export interface CoalescingTimes {
  debounce?: { waitMs: number; maxMs?: number }
  batch?: { waitMs: number; size: number }
}

export const isCoalesced = ({ options: { debounce, batch } }: AnyWorkflow): boolean => (debounce ?? batch) !== undefined

export function timesOf({ name, options: { debounce, batch } }: AnyWorkflow): CoalescingTimes {
  const ms = (duration: Parameters<typeof milliseconds>[0], of: string) =>
    milliseconds(duration, `${of} of workflow '${name}'`)
  if (batch) return { batch: { waitMs: ms(batch.wait, 'batch.wait'), size: batch.size } }
  if (!debounce) return {}
  const max = debounce.max === undefined ? {} : { maxMs: ms(debounce.max, 'debounce.max') }
  return { debounce: { waitMs: ms(debounce.wait, 'debounce.wait'), ...max } }
}

/** Throws, before anything is written, where the key cannot be made of the input. */
export async function newStart(
  workflow: AnyWorkflow,
  run: NewRun,
  idempotencyKey: string | undefined,
  newId: () => string,
): Promise<NewStart> {
  const { debounce, batch } = workflow.options
  const of = (debounce ?? batch!).key
  const key = of ? await keyFor(workflow, `the key of workflow '${workflow.name}'`, of, run) : ''
  const times = timesOf(workflow)
  const { waitMs } = (times.debounce ?? times.batch)!
  const repeat = idempotencyKey === undefined ? undefined : digest(`${workflow.name}\n${key}\n${idempotencyKey}`)
  return {
    run,
    sender: repeat ?? digest(run.secret),
    newId,
    key,
    ...(batch && { size: batch.size }),
    waitMs,
    keptMs: Math.max(waitMs, times.debounce?.maxMs ?? 0) + SERIES_KEPT_MS,
    ...(repeat !== undefined && { repeat: { key: repeat, input: inputDigest(run.input) } }),
  }
}

export const inputDigest = (input: Json | undefined): string => digest(canonicalJson(input))

export function refuseOtherInput(given: string, known: string | undefined, run: string): void {
  if (known === undefined || known === given) return
  throw new ConflictError(
    `another input was started under this idempotency key, for run '${run}'; a start that is repeated ` +
      'has the same input',
  )
}

/** What is known when a runner looks at the starts of its run. */
export interface Seen {
  starts: CoalescedStarts
  createdAt: number
  /** The slots that have a start. */
  filled: readonly { slot: number; at: number }[]
  /** The last slot of which a runner before this one said that it was the last. */
  saidToBeLast?: number
  /** The last number that the run's series has given out; undefined once the series has ended. */
  counted?: number
}

/** `last`: no later slot will be given out. `endAt`: end the series there, unless it has counted on since. */
export type Decision = { last: number } | { endAt: number } | { lookAt: number }

export function decide(seen: Seen, times: CoalescingTimes, now: number): Decision {
  const { starts, filled, saidToBeLast, counted } = seen
  const { first, size } = starts
  const latest = Math.max(0, ...filled.map(({ slot }) => slot))
  if (size !== undefined && filled.length >= size) return { last: size }
  // A later run may have ended the series, so any slot of this one may have been given out.
  if (size !== undefined && (counted === undefined || counted >= first + size - 1)) return { last: size }
  if (counted === undefined) return { last: Math.max(saidToBeLast ?? 0, latest) }
  const given = Math.max(counted - first + 1, latest)
  const isFullToday = times.batch !== undefined && filled.length >= times.batch.size
  const lookAt = isFullToday ? now : dueAt(seen, times, now)
  return lookAt > now ? { lookAt } : { endAt: given }
}

/** Code that coalesces no more takes what there is. */
function dueAt({ createdAt, filled }: Seen, { debounce, batch }: CoalescingTimes, now: number): number {
  if (batch) return createdAt + batch.waitMs
  if (!debounce) return now
  const last = filled.reduce((one, other) => (other.slot > one.slot ? other : one))
  const quiet = last.at + debounce.waitMs
  return debounce.maxMs === undefined ? quiet : Math.min(quiet, createdAt + debounce.maxMs)
}

/** What its runner finds of a run's starts. */
export type Collected =
  /** In the order of their slots; without the one that the run was created with. */
  | { starts: StartMail[] }
  | { lookAt: number }
  /** Some were given slots and have not come yet. */
  | { isMissing: true }

/** The input of a run: as its starts were made for, whatever its code has become since. */
export function inputFrom(workflow: AnyWorkflow, isList: boolean, starts: readonly Accepted[]): Accepted {
  const counting = isList ? starts : [starts.at(-1)!]
  return workflow.options.batch || counting.length > 1 ? asList(counting) : counting[0]!
}

export const acceptedOf = ({ input, parsed, reparse }: Pick<StartMail, 'input' | 'parsed' | 'reparse'>): Accepted => ({
  input,
  ...(parsed !== undefined && { parsed }),
  ...(reparse && { reparse }),
})

/** The input of a run that has one start only: a child, or a run of a schedule. */
export function soleStart(workflow: AnyWorkflow, accepted: Accepted): Accepted {
  return workflow.options.batch ? asList([accepted]) : accepted
}

/** The list that a batched run continues as new with: each element is what a caller passes. */
export async function acceptBatch(
  { options: { input } }: AnyWorkflow,
  given: unknown,
  what: string,
): Promise<Accepted> {
  if (!Array.isArray(given))
    throw new InvalidInputError(`${what} must be a list, as its runs get, since it has a batch`)
  return asList(await Promise.all(given.map((one) => accept(input, one, what))))
}

function asList(all: readonly Accepted[]): Accepted {
  const input = all.map((each) => each.input ?? null)
  if (all.some(({ reparse }) => reparse)) return { input, reparse: true }
  if (!all.some(({ parsed }) => parsed !== undefined)) return { input }
  return { input, parsed: all.map((each) => each.parsed ?? each.input ?? null) }
}
