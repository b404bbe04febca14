import type { Json } from '../base/json.ts'
import {
  type Coalesced,
  type CoalescedStarts,
  type CoalescingTimes,
  type Collected,
  decide,
  isCoalescing,
  type NewStart,
  REPEATS,
  REPEATS_KEPT_MS,
  type Repeat,
  refuseOtherInput,
  SERIES,
  type Series,
  type SeriesEndMail,
  type Slot,
  type StartMail,
  seriesEnd,
  seriesOf,
  slotId,
  slotOf,
} from '../flow/coalescing/coalescing.ts'
import { findLogged } from '../flow/coalescing/logged-starts.ts'
import type { Document } from '../ports/documents.ts'
import { hasEnded } from '../ports/run.ts'
import type { Wake } from '../ports/world.ts'
import { type Inserted, insert } from './admit.ts'
import { ask, type Procedure, together } from './procedure.ts'
import type { Storage, StoredRun } from './storage.ts'

/** A start that has a slot and not yet filled it. */
export interface Reserved extends Slot {
  series: Series
  isThere: boolean
  /** The run, as it was when the slot was given out. */
  run?: StoredRun
  /** The record of its idempotency key, where it has one; 0 for none. */
  keyVersion: number
  isNoted?: true
  /** The last slot that its run was missing. */
  isLastMissing?: true
  /** For the run before it. */
  wakes?: Wake[]
}

/** Gives a start to the run that gets it, which is created if it is not there. */
export function* coalesce(storage: Storage, start: NewStart): Procedure<Coalesced> {
  for (;;) {
    const reserved = yield* reserve(storage, start)
    if ('status' in reserved) return reserved
    const filled = yield* fill(storage, start, reserved)
    if (filled !== 'start over' && filled !== 'other run') return filled
  }
}

/** The first half: a slot for this start alone, or what became of it, if it is repeated and counted already. */
export function* reserve(storage: Storage, start: NewStart): Procedure<Reserved | Coalesced> {
  const { run, key, size, keptMs, repeat, newId } = start
  const collection = seriesOf(run.workflow, key)
  const known = repeat && (yield* ask(storage.documents.get(REPEATS, repeat.key)))
  const answer = known ? yield* answerRepeat(storage, start, known) : repeat && (yield* answerLogged(storage, start))
  if (answer) return answer
  const keyVersion = known?.version ?? 0
  for (;;) {
    const ifNew: Series = { run: newId(), ...(size !== undefined && { size }) }
    const { value, version } = yield* ask(
      storage.documents.countUp(collection, SERIES, ifNew as unknown as Json, storage.now() + keptMs),
    )
    const series = value as unknown as Series
    const slot = slotOf(series, version)
    const there = yield* ask(storage.find(slot.runId))
    const reserved: Reserved = {
      ...slot,
      series,
      isThere: there !== undefined,
      ...(there && { run: there }),
      keyVersion,
    }
    if (!there && slot.slot === 1 && slot.first > 1) return yield* fillUpBefore(storage, collection, reserved)
    if (!there || takesStarts(there, series)) return reserved
    // Its run was terminated or cancelled, or has begun: the next start begins another series.
    yield* endSeries(storage, collection, series)
  }
}

/**
 * The first start of the next run looks whether the run before it has begun, which the start that filled it sees to
 * unless its sender died. The sender of a slot that is empty for long has died too: this start takes the slot.
 */
function* fillUpBefore(storage: Storage, collection: string, reserved: Reserved): Procedure<Reserved> {
  const { series, first } = reserved
  const before = slotOf(series, first - 1)
  const run = yield* ask(storage.find(before.runId))
  const now = storage.now()
  if (!run || !takesStarts(run, series) || run.status !== 'pending' || run.wakeAt! <= now) return reserved
  const there = (yield* ask(storage.messages(run))).filter((each) => each.kind === 'start')
  const own = { slot: startsOf(run)!.slot!, at: run.createdAt }
  const missing = missingIn(startsOf(run)!, [own, ...there], series.size!)
  const isAbandoned = missing.length > 0 && now - Math.max(...[own, ...there].map(({ at }) => at)) > SENDER_LIVES_MS
  if (!isAbandoned) return { ...reserved, wakes: yield* beginNow(storage, run) }
  // Its own slot is not needed. If other starts were counted meanwhile, their runner closes it.
  yield* ask(storage.documents.endCount(collection, SERIES, series as unknown as Json, first))
  const isLastMissing = missing.length === 1 ? { isLastMissing: true as const } : {}
  return { ...reserved, ...before, slot: missing[0]!, isThere: true, run, ...isLastMissing }
}

/** Senders fill their slots sooner, as a rule. One that does not finds its slot taken, and starts over. */
const SENDER_LIVES_MS = 4_000

/**
 * The second half. `isEncoded`: the payloads are encoded for the tags of the run that was expected.
 * `other run`: another start has created the run meanwhile, so they have to be encoded for its tags.
 */
export function* fill(
  storage: Storage,
  start: NewStart,
  reserved: Reserved,
  isEncoded = false,
): Procedure<Coalesced | 'start over' | 'other run'> {
  if (start.repeat && !reserved.isNoted && !(yield* noteKey(storage, start, reserved))) {
    // The same start was sent twice at once, and the other one has its slot.
    yield* closeSlot(storage, reserved)
    return 'start over'
  }
  let run = reserved.run ?? (yield* ask(storage.find(reserved.runId)))
  if (!run) {
    const created = yield* create(storage, start, reserved)
    if (created.inserted)
      return {
        runId: reserved.runId,
        status: created.run.status,
        created: true,
        wakes: [...(reserved.wakes ?? []), ...created.wakes],
      }
    run = created.run
  }
  // It has begun, or ended, without this start.
  if (!takesStarts(run, reserved.series)) return 'start over'
  if (isEncoded && !reserved.isThere) return 'other run'
  return (yield* join(storage, run, start, reserved)) ?? 'start over'
}

function* create(storage: Storage, { run, key, size, waitMs }: NewStart, to: Reserved): Procedure<Inserted> {
  const { admission = { gates: [], order: run.wakeAt, specs: {} } } = run
  const gathering: CoalescedStarts = {
    key,
    first: to.first,
    ...(size !== undefined && { all: true as const }),
    series: to.series.run,
    ...(to.series.size !== undefined && { size: to.series.size }),
    slot: to.slot,
  }
  const now = storage.now()
  const wakeAt = to.slot === to.series.size ? now : now + waitMs
  return yield* insert(storage, {
    ...run,
    id: to.runId,
    createdAt: now,
    wakeAt,
    admission: { ...admission, gathering },
  })
}

/** Puts a start into its slot; undefined if the runner has closed it. */
function* join(
  storage: Storage,
  run: StoredRun,
  { run: start, sender }: NewStart,
  to: Reserved,
): Procedure<Coalesced | undefined> {
  const { slot, series } = to
  const joined = (wakes: Wake[]): Coalesced => {
    return { runId: run.id, status: run.status, created: false, wakes: [...(to.wakes ?? []), ...wakes] }
  }
  if (startsOf(run)?.slot === slot) return joined([])
  const { input, parsed, reparse } = start
  const mail: StartMail = {
    kind: 'start',
    id: slotId(slot),
    slot,
    at: storage.now(),
    sender,
    ...(input !== undefined && { input }),
    ...(parsed !== undefined && { parsed }),
    ...(reparse && { reparse }),
  }
  const put = yield* ask(storage.putMessage(run, mail))
  if (put !== 'new' && !(yield* isIn(storage, run, slot, sender))) return undefined
  const wakes = yield* tell(storage, run, slot === series.size || to.isLastMissing === true)
  // Of a debounced run only the last start counts.
  if (series.size === undefined && slot > 1) yield* ask(storage.removeMessages(run, [slotId(slot - 1)]))
  return joined(wakes)
}

/** Behind the message (I6), and for what the world notes beside it. A batch that is full begins at once. */
function* tell(storage: Storage, run: StoredRun, isFull: boolean): Procedure<Wake[]> {
  if (isFull) {
    const wakes = yield* beginNow(storage, run, ['stimulus'])
    if (wakes.length > 0) return wakes
  }
  yield* ask(storage.update(run, { when: { open: true }, bump: ['stimulus'] }))
  return []
}

function* beginNow(storage: Storage, run: StoredRun, bump: readonly 'stimulus'[] = []): Procedure<Wake[]> {
  const now = storage.now()
  if (run.status !== 'pending' || !startsOf(run) || run.wakeAt === undefined || run.wakeAt <= now) return []
  const updated = yield* ask(storage.update(run, { when: { status: ['pending'] }, set: { wakeAt: now }, bump }))
  return updated.ok ? [{ runId: run.id, at: now }] : []
}

/**
 * For a runner that has just given the run up to wait for more starts. The start that filled the batch meanwhile found
 * the run in the runner's hands; it counted before it looked, and the runner looks after it let go: one sees the other.
 */
export function* beginIfFull(storage: Storage, runId: string): Procedure<Wake[]> {
  const run = yield* ask(storage.find(runId))
  const starts = run && startsOf(run)
  if (!starts?.series || starts.size === undefined) return []
  const counted = yield* countedBy(storage, run!, starts)
  return counted !== undefined && counted >= starts.first + starts.size - 1 ? yield* beginNow(storage, run!) : []
}

/** What a runner does with the starts of the run that it holds. `closes`: slots whose start has not come are closed. */
export function* collect(
  storage: Storage,
  runId: string,
  times: CoalescingTimes,
  closes: boolean,
): Procedure<Collected> {
  for (;;) {
    const run = yield* ask(storage.find(runId))
    const starts = run && startsOf(run)
    // In other hands, or ended: the runner's next commit is refused.
    if (!run || !starts) return { lookAt: storage.now() }
    // The count first: a start counts before it fills its slot.
    const counted = yield* countedBy(storage, run, starts)
    const mail = (yield* ask(storage.messages(run))).filter(isCoalescing)
    const all = mail.filter((each): each is StartMail => each.kind === 'start')
    const ends = mail.filter((each): each is SeriesEndMail => each.kind === 'starts end')
    const filled = [{ slot: starts.slot!, at: run.createdAt }, ...all.filter(({ closed }) => !closed)]
    const saidToBeLast = Math.max(0, ...ends.map(({ slot }) => slot))
    const seen = { starts, createdAt: run.createdAt, filled, saidToBeLast, ...(counted !== undefined && { counted }) }
    const decision = decide(seen, times, storage.now())
    if ('lookAt' in decision) return decision
    if ('endAt' in decision) {
      yield* ask(storage.putMessage(run, seriesEnd(decision.endAt)))
      const { key, series, size } = starts
      const value = { run: series!, ...(size !== undefined && { size }) }
      const version = starts.first + decision.endAt - 1
      if (!(yield* ask(storage.documents.endCount(seriesOf(run.workflow, key), SERIES, value, version)))) continue
    }
    const last = 'last' in decision ? decision.last : decision.endAt
    const missing = missingIn(starts, [...all, { slot: starts.slot! }], last)
    if (missing.length === 0) return { starts: inOrder(all) }
    if (!closes) return { isMissing: true }
    const put = yield* together(missing.map((slot) => ask(storage.putMessage(run, closedSlot(slot, storage.now())))))
    // One that came at the last moment counts.
    if (put.every((each) => each === 'new')) return { starts: inOrder(all) }
  }
}

/** Of a debounced run only the last start counts: those before it need not be waited for. */
function missingIn({ size }: CoalescedStarts, there: readonly { slot: number }[], last: number): number[] {
  const slots = new Set(there.map(({ slot }) => slot))
  const from = size === undefined ? Math.max(...slots) : 0
  return Array.from({ length: Math.max(0, last - from) }, (_, i) => from + 1 + i).filter((slot) => !slots.has(slot))
}

const inOrder = (all: readonly StartMail[]): StartMail[] =>
  all.filter(({ closed }) => !closed).sort((a, b) => a.slot - b.slot)

/** Starts that a run has taken, or takes no more. What closes a slot stays: its start may still be on its way. */
export function* removeStarts(
  storage: Storage,
  run: StoredRun,
  mail?: readonly { kind: string; id: string }[],
): Procedure<void> {
  const all = mail ?? (yield* ask(storage.messages(run)))
  const ids = (all as StartMail[]).filter(({ kind, closed }) => kind === 'start' && !closed).map(({ id }) => id)
  if (ids.length > 0) yield* ask(storage.removeMessages(run, ids))
}

/** For a run that ended before it took its starts: they go, and later ones are counted for another run. */
export function* abandonStarts(storage: Storage, run: StoredRun, starts: CoalescedStarts): Procedure<void> {
  const collection = seriesOf(run.workflow, starts.key)
  const found = yield* ask(storage.documents.get(collection, SERIES))
  const isLast =
    found && isOf(found, starts) && slotOf(found.value as unknown as Series, found.version).runId === run.id
  if (isLast) yield* ask(storage.documents.endCount(collection, SERIES, found.value, found.version))
  yield* removeStarts(storage, run)
}

/** Ends a series whose last run takes no more starts. Refused where another start was counted: that one looks again. */
function* endSeries(storage: Storage, collection: string, series: Series): Procedure<void> {
  const found = yield* ask(storage.documents.get(collection, SERIES))
  if (!found || (found.value as unknown as Series).run !== series.run) return
  const { runId, slot } = slotOf(series, found.version)
  const last = yield* ask(storage.find(runId))
  // Whoever takes that run up has to know how many starts were counted for it.
  if (last && takesStarts(last, series)) yield* ask(storage.putMessage(last, seriesEnd(slot)))
  yield* ask(storage.documents.endCount(collection, SERIES, found.value, found.version))
}

const startsOf = ({ admission }: StoredRun): CoalescedStarts | undefined => admission?.gathering
const isOf = ({ value }: Document, { series }: CoalescedStarts): boolean => (value as unknown as Series).run === series

const takesStarts = (run: StoredRun, { run: series }: Series): boolean =>
  !hasEnded(run.status) && startsOf(run)?.series === series

function* countedBy(storage: Storage, { workflow }: StoredRun, starts: CoalescedStarts): Procedure<number | undefined> {
  const found = yield* ask(storage.documents.get(seriesOf(workflow, starts.key), SERIES))
  return found && isOf(found, starts) ? found.version : undefined
}

const closedSlot = (slot: number, at: number): StartMail => ({
  kind: 'start',
  id: slotId(slot),
  slot,
  at,
  closed: true,
})

function* isIn(storage: Storage, run: StoredRun, slot: number, sender: string): Procedure<boolean> {
  const found = yield* ask(storage.findMessage(run, slotId(slot)))
  return found?.kind === 'start' && found.sender === sender
}

function* closeSlot(storage: Storage, { runId, slot }: Reserved): Procedure<void> {
  const run = yield* ask(storage.find(runId))
  if (run) yield* ask(storage.putMessage(run, closedSlot(slot, storage.now())))
}

/** Before the slot is filled: whoever repeats the start fills it, if this sender dies before it does. */
function* noteKey(storage: Storage, { repeat }: NewStart, reserved: Reserved): Procedure<boolean> {
  const { runId, first, slot, keyVersion } = reserved
  const at = storage.now()
  const value: Repeat = { run: runId, input: repeat!.input, slot, first, at }
  const options = { ifVersion: keyVersion, expiresAt: at + REPEATS_KEPT_MS }
  const noted = yield* ask(storage.documents.put(REPEATS, repeat!.key, value as unknown as Json, options))
  if (noted) reserved.isNoted = true
  return noted !== undefined
}

/** Undefined where the start has to be counted anew: its first sender died, or its slot was closed. */
function* answerRepeat(
  storage: Storage,
  start: NewStart,
  found: Document,
): Procedure<Coalesced | Reserved | undefined> {
  const known = found.value as unknown as Repeat
  refuseOtherInput(start.repeat!.input, known.input, known.run)
  const run = yield* ask(storage.find(known.run))
  const answer: Coalesced = { runId: known.run, status: run?.status ?? 'completed', created: false, wakes: [] }
  const { slot, first, at } = known
  if (slot === undefined || first === undefined) return answer
  // A run that its retention may have removed was there; one that is missing before that was never created.
  const { retentionMs } = start.run
  if (!run) return retentionMs !== undefined && storage.now() - at! > retentionMs ? answer : undefined
  const starts = startsOf(run)
  const there = yield* ask(storage.findMessage(run, slotId(slot)))
  if (there?.kind === 'start' && there.sender !== start.sender) return undefined
  if (starts?.series !== undefined && !hasEnded(run.status)) {
    const series: Series = { run: starts.series, ...(starts.size !== undefined && { size: starts.size }) }
    return { runId: known.run, first, slot, series, isThere: true, run, keyVersion: found.version, isNoted: true }
  }
  return answer
}

/** A start that 0.1 has written into the log of a run that has not begun yet. */
function* answerLogged(storage: Storage, { run, key, repeat }: NewStart): Procedure<Coalesced | undefined> {
  const logged = yield* findLogged(storage.documents, run.workflow, key, repeat!.key)
  if (!logged) return undefined
  refuseOtherInput(repeat!.input, logged.input, logged.run)
  const there = yield* ask(storage.find(logged.run))
  return there && { runId: there.id, status: there.status, created: false, wakes: [] }
}
