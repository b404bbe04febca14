import type { ErrorRecord, EventOf, Frame } from '../base/events.ts'
import type { Admission, NewAdmission } from '../flow/admission.ts'
import {
  type Coalesced,
  type CoalescingTimes,
  type Collected,
  type EncodeStart,
  isForEngine,
  type NewStart,
} from '../flow/coalescing/coalescing.ts'
import { type LimiterId, limiterAt } from '../flow/limiter/limiter.ts'
import type { QueueEntry } from '../flow/limiter/queue.ts'
import type { Commit, CommitResult } from '../ports/commit.ts'
import type {
  ConfirmedRun,
  GrantedPermit,
  LimitersChecked,
  PendingRequest,
  Revoking,
  Standing,
} from '../ports/permits.ts'
import type { Message, NewRun, Reply, RunRecord, RunState } from '../ports/run.ts'
import type { RunCounts, RunFilter, RunPage } from '../ports/run-lists.ts'
import type { Claimed, DeliverResult, Inbox, Lease, Parked, RunStore } from '../ports/run-store.ts'
import type { Wake } from '../ports/world.ts'
import { insert } from './admit.ts'
import { claim, renew } from './claim.ts'
import { coalesce, fill, reserve } from './coalescing/coalesce.ts'
import { beginIfFull, collect } from './coalescing/collect.ts'
import { commit } from './commit.ts'
import { deliver } from './deliver.ts'
import { type Erased, erase } from './erase.ts'
import { confirmRun, renewRate, standings } from './limiters/acquire.ts'
import { dispatch } from './limiters/dispatch.ts'
import { dropUnreadable } from './limiters/drop-unreadable.ts'
import { UnreadableLimiterError } from './limiters/failed-check.ts'
import { putOff, repair } from './limiters/repair.ts'
import { revokeAndDispatch } from './limiters/revoke.ts'
import { ask, inParallel, type Procedure } from './procedure.ts'
import { park, revive } from './rescue.ts'
import type { Storage, StoredRun } from './storage.ts'
import { terminate } from './terminate.ts'

/** The run store of every world: the rules, carried out by its storage. */
export class Runs implements RunStore {
  private readonly storage: Storage

  constructor(storage: Storage) {
    this.storage = storage
  }

  create(run: NewRun): Promise<{ created: boolean; run: RunRecord; wakes: Wake[] }> {
    return this.storage.perform(() => create(this.storage, run))
  }

  get(runId: string): Promise<RunRecord | undefined> {
    return this.storage.read(() => getRecord(this.storage, runId))
  }

  state(runId: string): Promise<RunState | undefined> {
    return this.storage.read(() => ask(this.storage.find(runId)))
  }

  frames(runId: string, from = 1): Promise<Frame[]> {
    // The frame that began the generation is for readers.
    return this.reading<Frame[]>(runId, (run) => ask(this.storage.frames(run, Math.max(1, run.baseSeq, from))), [])
  }

  inbox(runId: string, after = 0): Promise<Inbox> {
    return this.reading<Inbox>(runId, (run) => readInbox(this.storage, run, after), {
      stimulus: 0,
      epoch: 0,
      messages: [],
    })
  }

  list(filter: RunFilter): Promise<RunPage> {
    return this.storage.list(filter)
  }

  counts(): Promise<RunCounts> {
    return this.storage.counts()
  }

  deliver(runId: string, message: Message, refuse?: (run: RunState) => void): Promise<DeliverResult> {
    return this.storage.perform(() => deliver(this.storage, runId, message, refuse))
  }

  reply(runId: string, messageId: string): Promise<Reply | undefined> {
    return this.reading<Reply | undefined>(runId, (run) => ask(this.storage.findReply(run, messageId)), undefined)
  }

  claim(runId: string, lease: Lease): Promise<Claimed | undefined> {
    // A claim that a power cut undoes was made by a process that is gone as well.
    return this.storage.perform(() => claim(this.storage, runId, lease), 'mayBeLost')
  }

  renew(
    runId: string,
    epoch: number,
    lease: Lease,
    heartbeat?: RunRecord['heartbeat'],
  ): Promise<{ stimulus: number } | undefined> {
    return this.storage.perform(() => renew(this.storage, runId, epoch, lease, heartbeat))
  }

  commit(said: Commit): Promise<CommitResult> {
    return this.storage.perform(() => commit(this.storage, said))
  }

  standings(limiter: LimiterId, requests: readonly PendingRequest[]): Promise<Standing[]> {
    return this.storage.perform(() => standings(this.storage, limiter, requests))
  }

  renewRate(
    limiter: LimiterId,
    entry: QueueEntry,
    epoch: number,
    grantedFor: number,
    latest: number,
  ): Promise<Omit<GrantedPermit, 'holder'> | undefined> {
    return this.storage.perform(() => renewRate(this.storage, limiter, entry, epoch, grantedFor, latest))
  }

  confirmPermits(run: RunRecord, mayHaveBegun: boolean, latest: number): Promise<ConfirmedRun> {
    return this.storage.perform(() => confirmRun(this.storage, run, mayHaveBegun, latest))
  }

  async coalesce(start: NewStart, encode?: EncodeStart): Promise<Coalesced> {
    const { storage } = this
    if (!encode) return storage.perform(() => coalesce(storage, start))
    // A codec may take its time, so there is no one transaction around it.
    for (;;) {
      const reserved = await storage.perform(() => reserve(storage, start))
      if ('status' in reserved) return reserved
      // By then it may have begun, or ended.
      delete reserved.run
      const filling = async () => {
        const encoded = { ...start, run: await encode(start.run, reserved.runId, reserved.isThere) }
        return storage.perform(() => fill(storage, encoded, reserved, true))
      }
      let filled = await filling()
      if (filled === 'other run') {
        reserved.isThere = true
        filled = await filling()
      }
      if (filled !== 'start over' && filled !== 'other run') return filled
    }
  }

  collectStarts(runId: string, times: CoalescingTimes, options?: { closes: true }): Promise<Collected> {
    return this.storage.perform(() => collect(this.storage, runId, times, options?.closes === true))
  }

  beginIfFull(runId: string): Promise<Wake[]> {
    return this.storage.perform(() => beginIfFull(this.storage, runId))
  }

  async dispatch(limiters: readonly LimiterId[], revoking?: Revoking): Promise<Wake[]> {
    const dispatched = await Promise.all(
      limiters.map((id) => this.storage.perform(() => serve(this.storage, id, revoking))),
    )
    return dispatched.flat()
  }

  async checkLimiters(before: number, limit: number): Promise<LimitersChecked> {
    const due = await this.storage.dueDocuments(before, limit)
    const failures: LimitersChecked['failures'] = []
    const wakes = await inParallel(due, async (document) => {
      const limiter = limiterAt(document)
      try {
        const damage: string[] = []
        const woken = await this.storage.perform(() => {
          // A transaction that is repeated begins anew.
          damage.length = 0
          return repair(this.storage, limiter, damage)
        })
        if (damage.length > 0) failures.push({ limiter, error: new UnreadableLimiterError(limiter, damage) })
        return woken
      } catch (error) {
        // Its own trouble must not keep the others from being checked.
        failures.push({ limiter, error })
        await this.storage.perform(() => putOff(this.storage, limiter)).catch(() => {})
        return []
      }
    })
    return {
      wakes: wakes.flat(),
      isMore: due.length === limit && failures.length < due.length,
      checked: due.length,
      failures,
    }
  }

  terminate(runId: string, reason: string): Promise<{ ended: boolean; wakes: Wake[] }> {
    return this.storage.perform(() => terminate(this.storage, runId, reason))
  }

  revive(runId: string, event?: EventOf<'run.retried'>): Promise<{ revived: boolean; wakes: Wake[] }> {
    return this.storage.perform(() => revive(this.storage, runId, event))
  }

  park(runId: string, error: ErrorRecord, options?: { ifClaimed: true }): Promise<Parked> {
    return this.storage.perform(() => park(this.storage, runId, error, options))
  }

  erase(runId: string): Promise<Erased> {
    return this.storage.perform(() => erase(this.storage, runId))
  }

  eraseFormer(tag: string, cursor?: string): Promise<{ erased: number; cursor?: string }> {
    return this.storage.eraseFormer(tag, cursor)
  }

  overdue(before: number, limit: number): Promise<Wake[]> {
    return this.storage.overdue(before, limit)
  }

  watch(runId: string, onChange: () => void, seen?: Pick<RunRecord, 'epoch' | 'stimulus'>): () => void {
    return this.storage.watch(runId, onChange, seen)
  }

  watchReply(runId: string, messageId: string, onChange: () => void): () => void {
    const { storage } = this
    return storage.watchReply ? storage.watchReply(runId, messageId, onChange) : storage.watch(runId, onChange)
  }

  private reading<T>(runId: string, read: (run: StoredRun) => Procedure<T>, ifMissing: T): Promise<T> {
    const { storage } = this
    return storage.read(function* () {
      const run = yield* ask(storage.find(runId))
      return run ? yield* read(run) : ifMissing
    })
  }
}

function* getRecord(storage: Storage, runId: string): Procedure<RunRecord | undefined> {
  const run = yield* ask(storage.find(runId, 'whole'))
  return run && (yield* ask(storage.record(run)))
}

function* serve(storage: Storage, id: LimiterId, revoking: Revoking | undefined): Procedure<Wake[]> {
  const dropped = revoking?.dropsUnreadable ? yield* dropUnreadable(storage, id) : []
  const { wakes } = revoking ? yield* revokeAndDispatch(storage, id, revoking) : yield* dispatch(storage, id)
  return [...dropped, ...wakes]
}

function* create(storage: Storage, run: NewRun): Procedure<{ created: boolean; run: RunRecord; wakes: Wake[] }> {
  const { inserted, run: there, wakes } = yield* insert(storage, run)
  const record = inserted && !run.admission ? newRecord(run) : yield* ask(storage.record(there))
  return { created: inserted, run: record, wakes }
}

/** A run as it is before anything has happened to it. */
export function newRecord({ journal: _, commonTags: __, admission, ...run }: NewRun): RunRecord {
  return {
    status: 'pending',
    ...run,
    ...(admission && { admission: known(admission) }),
    generation: 0,
    attempt: 1,
    baseSeq: 0,
    epoch: 0,
    stimulus: 0,
  }
}

/** The numbers of its limits are on record elsewhere. */
export const known = ({ specs: _, ...admission }: NewAdmission): Admission => admission

/** The counter first and then the messages, also where that takes two reads (I6, see claim). */
function* readInbox(storage: Storage, run: StoredRun, after: number): Procedure<Inbox> {
  const { stimulus, epoch } = run
  if (storage.messagesAfter) {
    const { messages, last } = yield* ask(storage.messagesAfter(run, after))
    return { stimulus, epoch, messages: messages.filter(isForEngine), last }
  }
  return { stimulus, epoch, messages: (yield* ask(storage.messages(run))).filter(isForEngine) }
}
