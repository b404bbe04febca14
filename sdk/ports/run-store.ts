import type { ErrorRecord, EventOf, Frame } from '../base/events.ts'
import type { Coalesced, CoalescingTimes, Collected, EncodeStart, NewStart } from '../flow/coalescing/coalescing.ts'
import type { LimiterId } from '../flow/limiter/limiter.ts'
import type { QueueEntry } from '../flow/limiter/queue.ts'
import type { Commit, CommitResult } from './commit.ts'
import type { ConfirmedRun, GrantedPermit, LimitersChecked, PendingRequest, Revoking, Standing } from './permits.ts'
import type { Message, NewRun, Reply, RunRecord, RunState } from './run.ts'
import type { RunCounts, RunFilter, RunPage } from './run-lists.ts'
import type { Wake } from './world.ts'

export interface Claimed {
  run: RunRecord
  /** The frames of the current generation, in order. */
  frames: Frame[]
  /** When the current generation began, where it is not the first. */
  begunAt?: number
  /** Messages not yet consumed, oldest first. */
  inbox: Message[]
  /** The claim before this one ended without saying so: effects it had announced may be missing. */
  recovered: boolean
  /**
   * Frames of later claims than this one come from holders that did not release the run: their effects may be
   * missing.
   */
  lastGoodEpoch: number
  /** How many runners in a row have died with the run in their hands without taking it any further. */
  deaths: number
}

export interface Lease {
  owner: string
  ms: number
}

export type DeliverResult = { outcome: 'accepted' | 'duplicate' | 'ended' | 'missing'; wakes: Wake[] }

/** What has come to a run and was not consumed. `epoch` tells its holder whether it still is the holder. */
export interface Inbox {
  stimulus: number
  epoch: number
  messages: Message[]
  /** Where the world has an order of arrival: behind which of them to look next time. */
  last?: number
}

export type Parked = 'parked' | 'leased' | 'moved-on' | 'unclaimed'

export interface RunStore {
  /** Makes the run unless its id is taken; the existing run is returned then. */
  create(run: NewRun): Promise<{ created: boolean; run: RunRecord; wakes: Wake[] }>
  get(runId: string): Promise<RunRecord | undefined>
  /** How it stands, without any of its payloads. */
  state(runId: string): Promise<RunState | undefined>
  /** Newest first. */
  list(filter: RunFilter): Promise<RunPage>
  /** How many runs are in each state, as far as the world can tell without looking at every run. */
  counts(): Promise<RunCounts>
  /** The journal of the current generation, or what of it is in this frame and later ones. */
  frames(runId: string, from?: number): Promise<Frame[]>
  /**
   * Puts a message into the run's inbox, once per message id, and marks the run as due. What `refuse` throws is
   * thrown here; nothing has been written then.
   */
  deliver(runId: string, message: Message, refuse?: (run: RunState) => void): Promise<DeliverResult>
  /** What the run said to the message that asked, where it has said something. */
  reply(runId: string, messageId: string): Promise<Reply | undefined>
  /**
   * Takes the run for one lease and loads it. Refused (undefined) for a run that is missing, ended, not due, or
   * leased by another runner. In the last case the stimulus counter is bumped, so that the holder looks again.
   */
  claim(runId: string, lease: Lease): Promise<Claimed | undefined>
  /** Where requests of one run stand that wait at this limiter, or that an earlier visit has made. In their order. */
  standings(limiter: LimiterId, requests: readonly PendingRequest[]): Promise<Standing[]>
  /**
   * For a start that comes later than its part of a rate was for: another part, for the next time there is until
   * `latest`; undefined where there is none.
   */
  renewRate(
    limiter: LimiterId,
    entry: QueueEntry,
    epoch: number,
    grantedFor: number,
    latest: number,
  ): Promise<Omit<GrantedPermit, 'holder'> | undefined>
  /**
   * Makes sure of the permits that a run needs to begin. `mayHaveBegun`: a runner before this one died with the run
   * in its hands. `latest`: until when the runner waits for a rate.
   */
  confirmPermits(run: RunRecord, mayHaveBegun: boolean, latest: number): Promise<ConfirmedRun>
  /**
   * Gives a start to the one run that it and others become. `encode`: for payloads, once it is known which run that
   * is.
   */
  coalesce(start: NewStart, encode?: EncodeStart): Promise<Coalesced>
  /**
   * For the runner of the run: the starts that have come for it, or when to look again. `closes`: the slots of starts
   * that have not come are closed.
   */
  collectStarts(runId: string, times: CoalescingTimes, options?: { closes: true }): Promise<Collected>
  /** Has a batch begin that was filled while its runner gave it up. */
  beginIfFull(runId: string): Promise<Wake[]>
  /**
   * Grants what these limiters have room for. `revoking`: their numbers have changed, so reservations by the old ones
   * are taken back first.
   */
  dispatch(limiters: readonly LimiterId[], revoking?: Revoking): Promise<Wake[]>
  /**
   * I10: checks the limiters that are due, at most so many. `isMore`: others are due, too. One that cannot be checked
   * is due again in a minute.
   */
  checkLimiters(before: number, limit: number): Promise<LimitersChecked>
  /** Prolongs the lease; undefined when it is lost. */
  renew(
    runId: string,
    epoch: number,
    lease: Lease,
    heartbeat?: RunRecord['heartbeat'],
  ): Promise<{ stimulus: number } | undefined>
  /** The stimulus counter and then the messages, read in this order. */
  inbox(runId: string, after?: number): Promise<Inbox>
  commit(commit: Commit): Promise<CommitResult>
  /** Ends the run from outside, at once; false when it had already ended. */
  terminate(runId: string, reason: string): Promise<{ ended: boolean; wakes: Wake[] }>
  /** Lets a failed or stuck run go on; `event` is appended to a failed one's journal. */
  revive(runId: string, event?: EventOf<'run.retried'>): Promise<{ revived: boolean; wakes: Wake[] }>
  /**
   * Takes a run out of circulation that no runner can take to an end, without loading it: loading may be what fails.
   * `leased` while a runner holds it, `moved-on` when it is not due any more. `ifClaimed`: only if a runner has
   * claimed it since it was last released; `unclaimed` otherwise, and it stays due.
   */
  park(runId: string, error: ErrorRecord, options?: { ifClaimed: true }): Promise<Parked>
  /** Removes everything that is stored of a run that has ended. */
  erase(runId: string): Promise<'erased' | 'open' | 'missing'>
  /**
   * Removes, a page at a time, what is left of runs with the tag that are past their retention and in no list any
   * more.
   */
  eraseFormer(tag: string, cursor?: string): Promise<{ erased: number; cursor?: string }>
  /** Runs that a runner should have looked at by now: lost wake-ups, dead runners, runs never started. */
  overdue(before: number, limit: number): Promise<Wake[]>
  /**
   * Calls back when the run may have changed or got a message, in any process. May call without a reason, and a
   * little late. `seen`: the state that the caller knows, where it knows one.
   */
  watch(runId: string, onChange: () => void, seen?: Pick<RunRecord, 'epoch' | 'stimulus'>): () => void
  /** The same for who asked: when the run may have replied to that message, ended or got stuck. */
  watchReply(runId: string, messageId: string, onChange: () => void): () => void
}
