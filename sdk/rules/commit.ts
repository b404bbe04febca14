import type { ErrorRecord, TerminalEvent } from '../base/events.ts'
import { END_STATUS, outcomeOf } from '../engine/ending.ts'
import type { Commit, CommitResult } from '../ports/commit.ts'
import type { Wake } from '../ports/world.ts'
import { releaseRun } from './admit.ts'
import { ABANDONED, FREE, withEffectsPending } from './claim.ts'
import { forgetStarts } from './forget-starts.ts'
import { joinNext, leaveEarlierEntries, lookForRoomOf } from './limiters/queueing.ts'
import { type AheadOf, lookAheadOf, type Sent, sendOutgoing } from './outgoing.ts'
import { ask, type Procedure, together } from './procedure.ts'
import type { Change, RunFields, Storage, StoredRun } from './storage.ts'

/**
 * Where there is no transaction there is an order. The frame comes first: it is the truth. After a crash the runner
 * that recovers the run does all that follows from it again, and each part may be done twice. The run itself comes
 * last: while it still shows a holder, a sweep will find it.
 */
export function* commit(storage: Storage, said: Commit): Procedure<CommitResult> {
  const run = (yield storage.held(said.runId, said.epoch)) as StoredRun | undefined
  if (!run) return { ok: false }
  let ahead: AheadOf | undefined
  if (said.frame && storage.isContended && said.outgoing?.some(({ kind }) => kind === 'release')) {
    const writes = [ask(storage.append(run, said.frame)), lookAheadOf(storage, said.outgoing)]
    const [isAppended, seen] = (yield* together<unknown>(writes)) as [boolean, AheadOf]
    if (!isAppended) return { ok: false }
    ahead = seen
  } else if (said.frame && !((yield storage.append(run, said.frame)) as boolean)) return { ok: false }
  const { wakes: sent, permits } =
    said.outgoing || said.consumed ? yield* causeAndConsume(storage, run, said, ahead) : NOTHING_SENT
  const next = afterCommit(run, said, storage.now())
  if (!next) return withPermits({ ok: true, suspended: false, wakes: sent }, permits)
  yield* tidy(storage, run, said)

  const joinedAt = said.next.kind === 'queue' ? yield* joinNext(storage, { ...run, ...next.change.set }) : 0
  const updated = yield* ask(storage.update(run, next.change))
  const { kind } = said.next
  if (updated.ok) {
    if (said.next.kind === 'collected' && said.next.starts?.length)
      yield* ask(storage.removeMessages(run, said.next.starts))
    if (kind === 'end') yield* forgetStarts(storage, run, 'payloads')
    if (kind === 'keep' || kind === 'collected')
      return withPermits({ ok: true, suspended: false, stimulus: updated.run.stimulus, wakes: sent }, permits)
    if (kind === 'queue') {
      yield* leaveEarlierEntries(storage, updated.run)
      return { ok: true, suspended: true, wakes: [...sent, ...(yield* lookForRoomOf(storage, updated.run, joinedAt))] }
    }
    if (kind === 'park') return { ok: true, suspended: true, wakes: [...sent, ...(yield* releaseRun(storage, run))] }
    return { ok: true, suspended: true, wakes: [...sent, ...next.wakes] }
  }
  // I6: something came in that the runner has not seen.
  const isOurs = updated.run?.epoch === said.epoch && updated.run.status === 'running'
  return kind === 'suspend' && isOurs
    ? withPermits({ ok: true, suspended: false, stimulus: updated.run!.stimulus, wakes: sent }, permits)
    : { ok: false }
}

function withPermits(result: Extract<CommitResult, { ok: true }>, permits: Sent['permits']): CommitResult {
  if (permits.length > 0) result.permits = permits
  return result
}

const NOTHING_SENT: Sent = { wakes: [], permits: [] }

function* causeAndConsume(
  storage: Storage,
  run: StoredRun,
  { outgoing = [], consumed = [], next }: Commit,
  ahead?: AheadOf,
): Procedure<Sent> {
  // Before the run itself, because the next generation could not see in its journal what was consumed. The messages
  // of a run that has ended are not read again, unless it failed and is retried.
  const marks =
    consumed.length > 0 && !(next.kind === 'end' && isFinal(next.event)) ? [ask(storage.consume(run, consumed))] : []
  const [sent] = yield* together<unknown>([sendOutgoing(storage, run, outgoing, ahead), ...marks])
  return sent as Sent
}

/** A failed run can be retried, with everything it has. Other ends are final. */
export const isFinal = (event: TerminalEvent): boolean => event.type !== 'run.failed'

/** A message whose sender gave it a key of his own is recognised for so long after it was sent. */
export const KEYS_KEPT_MS = 30 * 86_400_000
/** Longer than any client goes on repeating one call. */
const NO_MORE_REPEATS_MS = 900_000

/**
 * What the run has no use for any more. A run that goes on for ever, generation by generation, must not carry it
 * along.
 */
function* tidy(storage: Storage, run: StoredRun, { next, frame }: Commit): Procedure<void> {
  const now = storage.now()
  if (next.kind === 'end' && isFinal(next.event)) yield* ask(storage.clearMail(run, 'all'))
  if (next.kind !== 'continue') return
  yield* together<void>([
    ask(storage.dropFrames(run, frame!.seq)),
    ask(storage.clearMail(run, { keyedBefore: now - KEYS_KEPT_MS, othersBefore: now - NO_MORE_REPEATS_MS })),
  ])
}

/** Waits are shown to people; the journal has them all. */
const WAITS_SHOWN = 50

/** What the run is to say from now on; undefined when it says nothing new. */
function afterCommit(
  run: StoredRun,
  { epoch, next, progress, frame, outgoing }: Commit,
  now: number,
): { change: Change; wakes: Wake[] } | undefined {
  const shown: RunFields = progress === undefined ? {} : { progress }
  const change = (set: RunFields, rest: Partial<Change> = {}): Change => ({
    when: { heldBy: epoch },
    set: { ...set, ...shown },
    frame: frame?.seq,
    ...rest,
  })
  const wakeAt = (at: number | undefined): Wake[] => (at === undefined ? [] : [{ runId: run.id, at }])
  switch (next.kind) {
    case 'keep':
      // A client watches the run for a reply, and in some worlds it can watch nothing else.
      if (outgoing?.some(({ kind }) => kind === 'reply'))
        return { change: { when: { heldBy: epoch }, set: { status: 'running', ...shown } }, wakes: [] }
      return progress === undefined ? undefined : { change: { when: { heldBy: epoch }, set: shown }, wakes: [] }
    case 'suspend': {
      const set = {
        ...FREE,
        status: next.status,
        wakeAt: next.wakeAt,
        waitingFor: next.waitingFor.slice(0, WAITS_SHOWN),
      }
      return { change: change(set, { when: { heldBy: epoch, stimulus: next.seen } }), wakes: wakeAt(next.wakeAt) }
    }
    case 'release': {
      const at = next.wakeAt ?? now
      // A claim without progress stays counted, as one of a dead runner does: otherwise runners that release a run
      // again and again would never be stopped.
      const free = next.noProgress ? ABANDONED : next.effectsPending ? withEffectsPending(run) : FREE
      return {
        change: change({ ...free, status: 'pending', wakeAt: at, waitingFor: next.waitingFor }),
        wakes: wakeAt(at),
      }
    }
    case 'collected': {
      const { input, parsed, reparse, admission } = next
      return { change: change({ input, parsed, reparse, admission, passed: 0 }), wakes: [] }
    }
    case 'queue': {
      const { admission, passed = 0, waitingFor } = next
      const free = next.effectsPending ? withEffectsPending(run) : FREE
      return {
        change: change({
          ...free,
          status: 'queued',
          wakeAt: undefined,
          waitingFor,
          ...(admission && { admission, passed }),
        }),
        wakes: [],
      }
    }
    case 'continue': {
      const { attempt, input, parsed, reparse, trace } = next
      const set = {
        ...FREE,
        status: 'pending',
        attempt,
        baseSeq: frame!.seq,
        input,
        parsed,
        reparse,
        wakeAt: next.wakeAt,
        waitingFor: undefined,
      } as const
      return {
        change: change({ ...set, ...(trace !== undefined && { trace }) }, { bump: ['generation'] }),
        wakes: wakeAt(next.wakeAt),
      }
    }
    case 'end':
      // The journal's own time: the runs that this end lets in begin after it.
      return { change: change(ended(next.event, frame?.at ?? now)), wakes: [] }
    case 'park':
      return {
        change: change({
          ...parked(next.error, now),
          ...(next.effectsPending ? withEffectsPending(run) : FREE),
          ...outside(run),
        }),
        wakes: [],
      }
  }
}

/** The fields of a run that waits for people. */
export function parked(error: ErrorRecord, now: number): RunFields {
  return { wakeAt: undefined, waitingFor: undefined, status: 'stuck', error: { ...error, at: now } }
}

/** A run that waits for people holds no slot; it queues again when it goes on. */
export const outside = ({ admission }: StoredRun): RunFields => (admission ? { passed: 0 } : {})

/** The fields of a run that has ended. */
export function ended(event: TerminalEvent, now: number): RunFields {
  return {
    ...FREE,
    wakeAt: undefined,
    waitingFor: undefined,
    heartbeat: undefined,
    status: END_STATUS[event.type],
    endedAt: now,
    ...outcomeOf(event),
  }
}
