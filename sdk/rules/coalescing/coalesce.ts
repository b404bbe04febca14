import type { Json } from '../../base/json.ts'
import {
  type Coalesced,
  type CoalescedStarts,
  type NewStart,
  REPEATS,
  SERIES,
  type Series,
  type Slot,
  type StartMail,
  seriesOf,
  slotId,
  slotOf,
} from '../../flow/coalescing/coalescing.ts'
import type { Wake } from '../../ports/world.ts'
import { type Inserted, insert } from '../admit.ts'
import { ask, type Procedure } from '../procedure.ts'
import type { Storage, StoredRun } from '../storage.ts'
import { answerLogged, answerRepeat, noteKey } from './repeats.ts'
import { beginNow, closedSlot, endSeries, missingIn, startsOf, takesStarts } from './series.ts'

/** A start that has a slot and not yet filled it. */
export interface Reserved extends Slot {
  series: Series
  isThere: boolean
  /** The run, as it was when the slot was given out. */
  run?: StoredRun
  /** The record of its idempotency key, where it has one; 0 for none. */
  keyVersion: number
  isNoted?: true
  /** It takes the place of the last slot that its run was missing. */
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
 * unless its sender died. The sender of a slot that is empty for long has died too: this start closes the slot and
 * joins that run with a slot beyond its size. So a sender that repeats its start finds its own slot closed, and
 * knows that its start is in no run.
 */
function* fillUpBefore(storage: Storage, collection: string, reserved: Reserved): Procedure<Reserved> {
  const { series, first } = reserved
  const before = slotOf(series, first - 1)
  const run = yield* ask(storage.find(before.runId))
  const now = storage.now()
  if (!run || !takesStarts(run, series) || run.status !== 'pending' || run.wakeAt! <= now) return reserved
  const there = (yield* ask(storage.messages(run))).filter((each) => each.kind === 'start')
  const own = { slot: startsOf(run)!.slot!, at: run.createdAt }
  const [missing, ...others] = missingIn(startsOf(run)!, [own, ...there], series.size!)
  const isAbandoned = missing !== undefined && now - Math.max(...[own, ...there].map(({ at }) => at)) > SENDER_LIVES_MS
  if (!isAbandoned) return { ...reserved, wakes: yield* beginNow(storage, run) }
  // Another start, or the run's runner, may close it too: one of them does.
  if ((yield* ask(storage.putMessage(run, closedSlot(missing, now)))) !== 'new') return reserved
  // Its own slot is not needed. If other starts were counted meanwhile, their runner closes it.
  yield* ask(storage.documents.endCount(collection, SERIES, series as unknown as Json, first))
  const slot = series.size! + missing
  return { ...reserved, ...before, slot, isThere: true, run, ...(others.length === 0 && { isLastMissing: true }) }
}

/** Senders fill their slots sooner, as a rule. One that does not finds its slot closed, and starts over. */
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
  const wakes = yield* notify(storage, run, slot === series.size || to.isLastMissing === true)
  // Of a debounced run only the last start counts.
  if (series.size === undefined && slot > 1) yield* ask(storage.removeMessages(run, [slotId(slot - 1)]))
  return joined(wakes)
}

/** Behind the message (I6), and for what the world notes beside it. A batch that is full begins at once. */
function* notify(storage: Storage, run: StoredRun, isFull: boolean): Procedure<Wake[]> {
  if (isFull) {
    const wakes = yield* beginNow(storage, run, ['stimulus'])
    if (wakes.length > 0) return wakes
  }
  yield* ask(storage.update(run, { when: { open: true }, bump: ['stimulus'] }))
  return []
}

function* isIn(storage: Storage, run: StoredRun, slot: number, sender: string): Procedure<boolean> {
  const found = yield* ask(storage.findMessage(run, slotId(slot)))
  return found?.kind === 'start' && found.sender === sender
}

function* closeSlot(storage: Storage, { runId, slot }: Reserved): Procedure<void> {
  const run = yield* ask(storage.find(runId))
  if (run) yield* ask(storage.putMessage(run, closedSlot(slot, storage.now())))
}
