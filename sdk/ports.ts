import type { DocumentStore } from './document-store.ts'
import type { ErrorRecord, EventOf, Frame, TerminalEvent } from './engine/events.ts'
import type { FlowControl } from './engine/flow-port.ts'
import type { Json } from './engine/json.ts'
import type { Admission, NewAdmission } from './flow/admission.ts'
import type { Coalesced, CoalescingTimes, Collected, EncodeStart, NewStart } from './flow/coalescing.ts'
import type { LimitSpec } from './flow/limit.ts'
import type { LimiterId } from './flow/limiter.ts'
import type { ConfirmedRun, GrantedPermit, LimitersChecked, ReleaseOfPermit, Revoking, Standing } from './flow/permits.ts'
import type { QueueEntry } from './flow/queue.ts'
import type { RunCounts, RunFilter, RunPage } from './run-lists.ts'
import type { NewTask, Task } from './tasks/task.ts'

export type { Document, DocumentRange, DocumentStore, PutOptions } from './document-store.ts'
export type { ConfirmedRun, GrantedPermit, LimitersChecked, QueuePlace, ReleaseOfPermit, Revoking, Standing } from './flow/permits.ts'
export type { Count, RunCounts, RunFilter, RunPage, RunSummary, ShortError } from './run-lists.ts'

/**
 * What the engine needs from the outside, and all it knows of it. A world implements every port; the
 * contract suite in test/contract holds each world to what is promised here.
 */
export interface World {
  readonly store: RunStore
  readonly documents: DocumentStore
  readonly wakeups: Wakeups
  readonly tasks: TaskStore
  readonly clock: Clock
  readonly ids: Ids
  readonly log: LogSink
  /** What `ctx.invoke` calls, where the world has such a thing. */
  readonly functions?: Functions
  /** Where the HTTP API of this world can be reached from outside, without a slash at its end; undefined where nobody has said so. */
  readonly publicUrl?: string | undefined
  /** How long a runner waits in place for a timer before it rather suspends. */
  readonly inlineWaitMs: number
  /** Programs with other workflows may share its store, so a workflow that is not known here may be known there. */
  readonly isShared?: boolean
  /** Puts something around the bodies of steps, where somebody traces them. */
  readonly aroundBody?: AroundBody
  /** Limits, queues and pauses. */
  readonly flow: FlowControl
}

/** Calls the body and gives what it gives. `attempt` is missing where this is one of many rounds of an `until`. */
export type AroundBody = <T>(of: { runId: string; step: string; attempt?: number }, body: () => T) => T

export type RunStatus = 'pending' | 'queued' | 'running' | 'sleeping' | 'waiting' | 'stuck' | 'completed' | 'failed' | 'cancelled' | 'terminated'
export type EndStatus = 'completed' | 'failed' | 'cancelled' | 'terminated'

const ENDED: Record<RunStatus, boolean> = {
  pending: false,
  queued: false,
  running: false,
  sleeping: false,
  waiting: false,
  stuck: false,
  completed: true,
  failed: true,
  cancelled: true,
  terminated: true,
}
export const hasEnded = (status: RunStatus): status is EndStatus => ENDED[status]

/** What a suspended run waits for; `until` where a timer will end the wait. */
export interface Waiting {
  kind: 'sleep' | 'signal' | 'callback' | 'child' | 'task' | 'retry' | 'pause' | 'until' | 'code' | 'limit'
  /** The operation's identity; of `code`, the workflow that no runner knows. */
  id: string
  /** The signal's name, the child's run id, the task's type, the limit's name, or the workflow's version. */
  on?: string
  /** Of a limit that has keys. */
  key?: string
  /** Of a limit: its place in line was given up when the run was paused. */
  isLeft?: true
  until?: number
  /** Since when nobody knows the code. */
  since?: number
  /** Of an `until`: how many rounds were in vain, and how many in a row have thrown. It goes on from here, so this is its only record. */
  round?: number
  failures?: number
}

/** Which call of which run a child answers to. */
export interface ParentLink {
  runId: string
  op: string
  /** Of the parent. Absent in runs of format 1. */
  generation?: number
}

export interface RunRecord {
  id: string
  workflow: string
  version: number
  status: RunStatus
  /** How it was written: identities and randomness of a run stay what they were when it began. */
  format: number
  input: Json | undefined
  /** What the schema made of the input when it was accepted, where that is something else. */
  parsed?: Json
  /** What the schema makes of the input cannot be stored (a Date, say), and is made anew at every wake. */
  reparse?: true
  output?: Json
  error?: ErrorRecord
  /** Counts continue-as-new and whole-run retries; each generation has a journal of its own. */
  generation: number
  /** The attempt under the workflow's own retry policy, from 1. */
  attempt: number
  /** Frames up to this one belong to earlier generations. */
  baseSeq: number
  /** Bumped by every claim; whoever holds a lower one yields. */
  epoch: number
  /** Bumped by everything that reaches the run from outside (I6). */
  stimulus: number
  /** When somebody should look at this run: a timer, its start, or the end of its runner's lease. */
  wakeAt?: number
  waitingFor?: Waiting[]
  /** Key for callback tokens. Never leaves the store and the engine. */
  secret: string
  parent?: ParentLink
  tags: string[]
  progress?: Json
  heartbeat?: { step: string; at: number; details?: Json }
  createdAt: number
  startedAt?: number
  endedAt?: number
  /** How long the run is kept after its end. */
  retentionMs?: number
  /** The `traceparent` of whoever made this generation of it, where somebody traces. */
  trace?: string
  /** What it has to pass before it starts, where its workflow has limits or everything is paused; and how much of that it has. */
  admission?: Admission
  passed?: number
}

export type RunState = Pick<RunRecord, 'id' | 'workflow' | 'version' | 'status' | 'generation' | 'epoch' | 'stimulus'>

export interface NewRun {
  id: string
  workflow: string
  version: number
  format: number
  input: Json | undefined
  parsed?: Json
  reparse?: true
  secret: string
  createdAt: number
  /** When it is to start; equal to `createdAt` for at once. */
  wakeAt: number
  parent?: ParentLink
  tags: string[]
  /** Those of them that every run of its workflow has. */
  commonTags?: readonly string[]
  retentionMs?: number
  trace?: string
  /** What it has to pass before it starts. */
  admission?: NewAdmission
  /** Said by the rules, of a run that has to wait for its turn, and how far it has got. */
  status?: 'queued'
  passed?: number
  /** A run made by `rerun` begins with the journal of the run it repeats. */
  journal?: Frame
}

/** What reaches a run from outside. `id` makes a repeated delivery recognisable. */
export type Message = { id: string } /** `asks`: whoever sent it waits for a reply. */ & (
  | { kind: 'signal'; name: string; payload?: Json; asks?: true }
  | { kind: 'callback'; generation: number; op: string; result?: Json }
  | { kind: 'callback.failed'; generation: number; op: string; error: ErrorRecord }
  /** `generation`: of the parent that the child was started for. Absent in messages of format 1. */
  | { kind: 'child'; run: string; op: string; generation?: number; status: EndStatus; result?: Json; error?: ErrorRecord }
  | { kind: 'task'; generation: number; round: number; op: string; attempt: number; iteration: number; result?: Json }
  | { kind: 'task.failed'; generation: number; round: number; op: string; attempt: number; error: ErrorRecord }
  | { kind: 'cancel'; reason?: string }
  /** Skip the sleeps the run is in. */
  | { kind: 'wake' }
)

/** What a run said to a request: a result, or why it refused. */
export interface Reply {
  result?: Json
  error?: ErrorRecord
}

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
  /** Frames of later claims than this one come from holders that did not give the run up: what they announced may be missing. */
  lastGoodEpoch: number
  /** How many runners in a row have died with the run in their hands without taking it any further. */
  deaths: number
}

export interface Lease {
  owner: string
  ms: number
}

/** What becomes of the run once the frame is durable. `effectsPending`: what a holder before this one announced may still be missing. */
export type Next =
  | { kind: 'keep' }
  /** Give the run up until `wakeAt` or a stimulus; refused when the stimulus counter is not `seen` (I6). */
  | { kind: 'suspend'; status: 'sleeping' | 'waiting'; wakeAt?: number; waitingFor: Waiting[]; seen: number }
  /** Give the run up for another runner to go on, at once or from `wakeAt` on. `noProgress`: nothing was done for it, which must not happen for ever. */
  | { kind: 'release'; wakeAt?: number; waitingFor?: Waiting[]; noProgress?: true; effectsPending?: true }
  | { kind: 'end'; event: TerminalEvent }
  /** It has its input, of all the starts that it was made for, and goes on. `starts`: their messages, which are removed then. */
  | { kind: 'gathered'; input: Json | undefined; parsed?: Json; reparse?: true; admission: Admission; starts?: string[] }
  /** Wait in line for a turn; before the gates of `admission`, where there are more than the run knows of. */
  | { kind: 'queue'; admission?: Admission; passed?: number; waitingFor?: Waiting[]; effectsPending?: true }
  /** Begin the next generation. */
  | { kind: 'continue'; input: Json | undefined; parsed?: Json; reparse?: true; attempt: number; wakeAt: number; trace?: string }
  | { kind: 'park'; error: ErrorRecord; effectsPending?: true }

/** What a commit causes outside the run: done with the commit, or again by whoever recovers the run. */
export type Outgoing =
  /** `isThere`: it was started before, and is only asked how it ended. */
  | { kind: 'start'; run: NewRun; isThere?: true }
  | { kind: 'deliver'; to: string; message: Message }
  | { kind: 'terminate'; run: string; reason: string }
  | { kind: 'dispatch'; task: NewTask }
  | { kind: 'withdraw'; task: Pick<NewTask, 'id' | 'life' | 'generation' | 'round'> }
  /** `to`: the message that asked. The first reply counts. */
  | { kind: 'reply'; to: string; reply: Reply }
  /** Asks a limiter for a permit; the commit's result says whether it was granted. */
  | { kind: 'acquire'; limiter: LimiterId; spec: LimitSpec; entry: QueueEntry }
  /** A permit that was granted in the queue is in use: its entry goes. */
  | { kind: 'confirm'; limiter: LimiterId; entry: Pick<QueueEntry, 'holder' | 'lane' | 'order'> }
  /** A permit is not wanted any more: held in `slot`, or in the queue. `cooldownMs`: for so long nothing is granted. */
  | ReleaseOfPermit
  /** Cools all keys of a limit down. */
  | { kind: 'coolDown'; limit: string; spec: LimitSpec; ms: number }
  /** A reserved start has begun, and those behind it wait for it. */
  | { kind: 'dispatchNext'; limiter: LimiterId; holder: string }

export interface Commit {
  runId: string
  epoch: number
  /** Written once to its slot (I1). */
  frame?: Frame
  /** Messages whose content the frame has taken over. */
  consumed?: string[]
  outgoing?: Outgoing[]
  progress?: Json
  next: Next
}

export type CommitResult =
  /**
   * `suspended` is false when a stimulus came in between: the frame stands, the run goes on. `stimulus` is the counter,
   * where the world learnt it on the way.
   */
  | { ok: true; stimulus?: number; suspended: boolean; wakes: Wake[]; permits?: GrantedPermit[] }
  /** Somebody else has moved the run on. */
  | { ok: false }

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
  /** Puts a message into the run's inbox, once per message id, and marks the run as due. What `refuse` throws is thrown here; nothing has been written then. */
  deliver(runId: string, message: Message, refuse?: (run: RunState) => void): Promise<DeliverResult>
  /** What the run said to the message that asked, where it has said something. */
  reply(runId: string, messageId: string): Promise<Reply | undefined>
  /**
   * Takes the run for one lease and loads it. Refused (undefined) for a run that is missing, ended, not due, or
   * leased by somebody else; in the last case the stimulus counter is bumped, so that the holder looks again.
   */
  claim(runId: string, lease: Lease): Promise<Claimed | undefined>
  /** Where a permit stands that an earlier visit of the run has asked for. `mayHaveSlot`: a runner that died may have got one without queueing. */
  standing(limiter: LimiterId, entry: QueueEntry, mayHaveSlot: boolean): Promise<Standing>
  /** For a start that comes later than its part of a rate was for: another part, for the next time there is until `latest`; undefined where there is none. */
  renewRate(limiter: LimiterId, entry: QueueEntry, epoch: number, grantedFor: number, latest: number): Promise<Omit<GrantedPermit, 'holder'> | undefined>
  /**
   * Makes sure of the permits that a run needs to begin. `mayHaveBegun`: a runner before this one died with the run in its
   * hands. `latest`: until when the runner waits for a rate.
   */
  confirmPermits(run: RunRecord, mayHaveBegun: boolean, latest: number): Promise<ConfirmedRun>
  /** Gives a start to the one run that it and others become. `encode`: for payloads, once it is known which run that is. */
  coalesce(start: NewStart, encode?: EncodeStart): Promise<Coalesced>
  /** For its runner: the starts that have come for a run, or when to look again. `closes`: those that have not come yet are not waited for. */
  collectStarts(runId: string, times: CoalescingTimes, options?: { closes: true }): Promise<Collected>
  /** Has a batch begin that was filled while its runner gave it up. */
  beginIfFull(runId: string): Promise<Wake[]>
  /** Grants what these limiters have room for. `revoking`: other numbers count, so reservations by the old ones are taken back first. */
  dispatch(limiters: readonly LimiterId[], revoking?: Revoking): Promise<Wake[]>
  /** I10: checks the limiters that are due, at most so many. `isMore`: others are due, too. One that cannot be checked is due again in a minute. */
  checkLimiters(before: number, limit: number): Promise<LimitersChecked>
  /** Prolongs the lease; undefined when it is lost. */
  renew(runId: string, epoch: number, lease: Lease, heartbeat?: RunRecord['heartbeat']): Promise<{ stimulus: number } | undefined>
  /** The stimulus counter and then the messages, read in this order. */
  inbox(runId: string, after?: number): Promise<Inbox>
  commit(commit: Commit): Promise<CommitResult>
  /** Ends the run from outside, at once; false when it had already ended. */
  terminate(runId: string, reason: string): Promise<{ ended: boolean; wakes: Wake[] }>
  /** Lets a failed or stuck run go on; `event` is appended to a failed one's journal. */
  revive(runId: string, event?: EventOf<'run.retried'>): Promise<{ revived: boolean; wakes: Wake[] }>
  /**
   * Takes a run out of circulation that no runner can take to an end, without loading it: loading may be what fails.
   * `leased` while a runner holds it, `moved-on` when it is not due any more. `ifClaimed`: only if a runner has claimed it since it was last
   * given up in good order; `unclaimed` otherwise, and it stays due.
   */
  park(runId: string, error: ErrorRecord, options?: { ifClaimed: true }): Promise<Parked>
  /** Removes everything that is stored of a run that has ended. */
  erase(runId: string): Promise<'erased' | 'open' | 'missing'>
  /** Removes, a page at a time, what is left of runs with the tag that are past their retention and in no list any more. */
  eraseFormer(tag: string, cursor?: string): Promise<{ erased: number; cursor?: string }>
  /** Runs that somebody should have looked at by now: lost wake-ups, dead runners, runs never started. */
  overdue(before: number, limit: number): Promise<Wake[]>
  /**
   * Calls back when the run may have changed or got a message, whoever did it. May call without a reason, and a little
   * late. `seen`: how the caller knows it, where it does.
   */
  watch(runId: string, onChange: () => void, seen?: Pick<RunRecord, 'epoch' | 'stimulus'>): () => void
  /** The same for who asked: when the run may have replied to that message, ended or got stuck. */
  watchReply(runId: string, messageId: string, onChange: () => void): () => void
}

export interface Wake {
  runId: string
  at: number
}

/** Hints that a run is due. May arrive twice, late, out of order or never: the truth is `wakeAt` (I5). */
export interface Wakeups {
  send(wakes: Wake[]): Promise<void>
  /**
   * Hands a run that is due straight to a runner, and returns when that has given it up. Only where there is one to be called; it may be busy, or
   * take longer than anybody waits (`signal`), so it is never the only word that a run is due.
   */
  handOver?(wake: Wake, signal: AbortSignal): Promise<void>
}

export interface Clock {
  now(): number
  /** Calls back once `now() >= at`. */
  at(time: number, callback: () => void): () => void
}

export interface Ids {
  runId(): string
  /** Unguessable. */
  secret(): string
  messageId(): string
  /** In [0, 1), for jitter. */
  random(): number
}

/** Says that there may be something to do about a task. May come twice, late or for nothing: the truth is the task itself (I5). */
export interface TaskNotice {
  taskId: string
  type: string
  receipt?: string
}

/** Tasks for workers outside. Runs put them in and take them back with their commits (`Outgoing`). */
export interface TaskStore {
  /** Why tasks of this type cannot be sent from here; undefined when they can. */
  refusal(type: string): string | undefined
  /** Workers may take tasks from the queue itself, without asking through us. */
  readonly isOpenToWorkers: boolean
  /** A task that nobody has finished after this long is handed out again, because a queue keeps nothing for ever. */
  readonly handOutAgainMs?: number
  get(taskId: string): Promise<Task | undefined>
  inputOf(task: Task): Promise<Json | undefined>
  /** Waits until there is something to do about tasks of these types, at most until then; nobody else hears of the same ones meanwhile. */
  receive(types: readonly string[], most: number, options: { until: number; signal?: AbortSignal }): Promise<TaskNotice[]>
  /** Nothing to do yet, or for good (undefined). */
  putBack(notice: TaskNotice, lookAt: number | undefined): Promise<void>
  /** False when somebody else has changed it since it was read. */
  save(task: Task): Promise<boolean>
  /** Saves a settled task and tells its run. Doing it again is harmless. */
  settle(task: Task): Promise<{ saved: boolean; outcome?: DeliverResult['outcome']; wakes: Wake[] }>
}

/**
 * For a world whose runs are taken by processes that stay: who of them is alive, and what there is to do next. Where a
 * process comes into being with each message, as on Lambda, nobody needs it.
 */
export interface Residence {
  /** Frees what dead processes left behind. `onHint` is called when there may be something to do; with what and when, where that is known. */
  enter(owner: string, onHint: (hint?: Hint) => void): Promise<void>
  /** `handBack`: the runs it still holds are free for others. */
  leave(owner: string, handBack: boolean): Promise<void>
  /** What the store has to be looked at for, and when. */
  agenda(now: number): Agenda
  stuckRuns(): Pick<RunRecord, 'id' | 'workflow' | 'version'>[]
}

export interface Agenda {
  /** When the next run after `now` is due, if any is. */
  nextRun: number | undefined
  /** When the next limiter after `now` is due, if any is. */
  nextLimiter: number | undefined
  /** Limiters are due now. */
  hasDueLimiters: boolean
}

/** That a run is due at a time; or something else is, that the store knows of. */
export interface Hint {
  runId?: string
  at: number
}

/** Functions outside the workflow: Lambda functions on AWS. */
export interface Functions {
  invoke(name: string, payload: Json | undefined, options: { idempotencyKey: string; signal: AbortSignal }): Promise<unknown>
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
export type LogSink = (level: LogLevel, message: string, fields: Record<string, unknown>) => void
