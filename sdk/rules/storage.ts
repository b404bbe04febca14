import type { ErrorRecord, Frame } from '../base/events.ts'
import type { Json } from '../base/json.ts'
import type { Admission } from '../flow/admission.ts'
import type { CoalescingMail } from '../flow/coalescing/coalescing.ts'
import type { Document, DocumentRange, PutOptions } from '../ports/documents.ts'
import type { Message, NewRun, ParentLink, Reply, RunRecord, RunStatus, Waiting } from '../ports/run.ts'
import type { RunFilter, RunPage } from '../ports/run-lists.ts'
import type { RunStore } from '../ports/run-store.ts'
import type { Wake } from '../ports/world.ts'
import type { NewTask, Task } from '../tasks/task.ts'
import type { Procedure } from './procedure.ts'

/** A run as far as the rules look at it. A world may hang more on it. */
export interface StoredRun {
  readonly id: string
  readonly workflow: string
  readonly version: number
  readonly format: number
  readonly status: RunStatus
  readonly generation: number
  readonly baseSeq: number
  readonly epoch: number
  readonly stimulus: number
  /** Claims since the run was last released. */
  readonly claims: number
  /** How many of them are known not to have died. */
  readonly spared?: number | undefined
  readonly wakeAt?: number | undefined
  /** Its `wakeAt` is for upkeep only: nothing is due for the run then. */
  readonly isUpkeep?: true
  readonly leaseUntil?: number | undefined
  readonly createdAt: number
  readonly endedAt?: number | undefined
  readonly retentionMs?: number | undefined
  readonly parent?: ParentLink | undefined
  /** It was made with a journal (a rerun), which the first claim has to load. */
  readonly hasSeed?: boolean
  /** What it has to pass before it starts, and how much of that it has. */
  readonly admission?: Admission | undefined
  readonly passed?: number | undefined
}

/** What must be true of a stored run for a change to count. All of it; each world says it in its own language. */
export interface Guard {
  /** There, and without an end. */
  open?: true
  status?: readonly RunStatus[]
  notStatus?: readonly RunStatus[]
  /** It was to be woken by then. A run without a wake-up is never due. */
  due?: number
  /** No lease is in force then; or one is. */
  free?: number
  leased?: number
  /** Fences every write of a runner: no other process has claimed, ended or freed the run since (I7). */
  heldBy?: number
  /** No process has claimed, ended or freed the run since. */
  epoch?: number
  /** I6: nothing has come in that the runner has not seen. */
  stimulus?: number
  /** Written in this format or an older one. */
  format?: number
  /** It has passed so many limiters. */
  passed?: number
}

/** What a change may say of a run; a key that is there with `undefined` removes the field. */
export interface RunFields {
  status?: RunStatus
  wakeAt?: number | undefined
  leaseUntil?: number | undefined
  /** The holder of the lease. Only for worlds that know whether a process is alive. */
  owner?: string | undefined
  claims?: number | undefined
  spared?: number | undefined
  attempt?: number
  baseSeq?: number
  endedAt?: number | undefined
  input?: Json | undefined
  parsed?: Json | undefined
  reparse?: true | undefined
  output?: Json | undefined
  error?: ErrorRecord | undefined
  progress?: Json
  heartbeat?: RunRecord['heartbeat'] | undefined
  waitingFor?: Waiting[] | undefined
  parent?: ParentLink
  trace?: string
  admission?: Admission
  passed?: number
}

type Counter = 'epoch' | 'stimulus' | 'generation' | 'claims'

/** A decision: data that says what changes, and under which condition. */
export interface Change {
  when: Guard
  set?: RunFields
  /** Only where there is none yet. */
  setOnce?: { startedAt: number }
  bump?: readonly Counter[]
  /** The slot of the frame that this change goes with: what is in there need not be stored twice. */
  frame?: number | undefined
}

/** Consumed messages sent, or replied to, before these times: those whose senders gave them a key, and the others. */
export interface Forgotten {
  keyedBefore: number
  othersBefore: number
}

export type Updated = { ok: true; run: StoredRun } | { ok: false; run: StoredRun | undefined }

/** What an inbox holds: messages for the engine, and what the rules of start coalescing keep there. */
export type Mail = Message | CoalescingMail

/** A world answers at once or later. */
export type Answer<T> = T | Promise<T>

/** Documents, for rules: as the port has them, but where the world answers at once, at once. */
export interface StoredDocuments {
  get(collection: string, key: string): Answer<Document | undefined>
  list(collection: string, range?: DocumentRange): Answer<Document[]>
  put(collection: string, key: string, value: Json, options?: PutOptions): Answer<Document | undefined>
  delete(collection: string, key: string, ifVersion?: number): Answer<boolean>
  remove(collection: string, key: string): Answer<void>
  /**
   * Counts a document up by one version, as it is, or begins with the first version of `ifNew`. Never refused: of
   * many at once each gets a version of its own.
   */
  countUp(collection: string, key: string, ifNew: Json, expiresAt: number): Answer<Document>
  /** Deletes it if it still is this one, at this version. */
  endCount(collection: string, key: string, value: Json, version: number): Answer<boolean>
}

/**
 * All that a world has to be able to do: small things, none of which decides anything. The rules put them together
 * (`procedure.ts` says how one text serves worlds with transactions and worlds without).
 */
export interface Storage {
  readonly documents: StoredDocuments
  /** Others write between two of its calls: there are no transactions. */
  readonly isContended: boolean
  now(): number
  /** Carries a procedure out, in one transaction or call by call. `mayBeLost`: a power cut may undo it without harm. */
  perform<T>(procedure: () => Procedure<T>, durability?: 'mayBeLost'): Promise<T>
  /** The same for a procedure that only reads. */
  read<T>(procedure: () => Procedure<T>): Promise<T>

  /** `whole`: its record will be asked for next, and may be read along with it. */
  find(runId: string, whole?: 'whole'): Answer<StoredRun | undefined>
  /**
   * The run as its holder knows it. Where that is from memory it may be out of date: the guard of the change decides.
   */
  held(runId: string, epoch: number): Answer<StoredRun | undefined>
  record(run: StoredRun): Answer<RunRecord>
  /** Takes the id, unless a run has it that is not past its retention. */
  insert(run: NewRun): Answer<{ inserted: boolean; run: StoredRun }>
  /**
   * Returns the run as it is afterwards, or as it was when the guard refused. By its id where it has not been read
   * yet.
   */
  update(run: StoredRun | string, change: Change): Answer<Updated>

  /** Sends wake-ups at once where nothing has to be committed first. Returns those that the caller has to send. */
  wake(wakes: Wake[]): Answer<Wake[]>

  /** I1: false when the slot is taken. */
  append(run: StoredRun, frame: Frame): Answer<boolean>
  frames(run: StoredRun, fromSeq: number): Answer<Frame[]>
  /**
   * Frames after the generation's beginning, the frame that began it, and the messages not yet consumed, oldest
   * first.
   */
  load(run: StoredRun): Answer<{ heading?: Frame; frames: Frame[]; inbox: Mail[] }>
  /** Only frames from this slot on are of use any more. */
  dropFrames(run: StoredRun, before: number): Answer<void>

  /** Once per id. `consumed`: it was there, and the run has had it. */
  putMessage(run: StoredRun, message: Mail): Answer<'new' | 'waiting' | 'consumed'>
  messages(run: StoredRun): Answer<Mail[]>
  /**
   * Those that came after the one at this place, where the world has an order of arrival: a long inbox is not read
   * anew for each.
   */
  messagesAfter?(run: StoredRun, last: number): Answer<{ messages: Mail[]; last: number }>
  /** One that is not consumed. */
  findMessage(run: StoredRun, messageId: string): Answer<Mail | undefined>
  /** For good, as if they had never been sent. */
  removeMessages(run: StoredRun, ids: readonly string[]): Answer<void>
  /** The journal has their content; what stays is enough to recognise a repeat. */
  consume(run: StoredRun, ids: readonly string[]): Answer<void>
  /** To a message that is there and has none. Watchers of the run look for it. */
  putReply(run: StoredRun, messageId: string, reply: Reply): Answer<void>
  findReply(run: StoredRun, messageId: string): Answer<Reply | undefined>
  /**
   * The run's messages will not be read any more, except replies; or only what is there to recognise repeats is too
   * old to be of use.
   */
  clearMail(run: StoredRun, which: 'all' | Forgotten): Answer<void>

  findTask(taskId: string): Answer<Task | undefined>
  /** Where there is none, or in the place of `older`; else the one that is there. */
  putTask(
    run: StoredRun,
    task: NewTask,
    older?: Task,
  ): Answer<{ ok: true; task: Task } | { ok: false; there: Task | undefined }>
  /** False when it is not at the version that was read. */
  writeTask(task: Task): Answer<boolean>
  /** Notifies workers that wait for tasks of its type. */
  announceTask(task: Task, input: Json | undefined): Answer<void>
  /** No worker needs to hear of it any more. */
  dismissTask(task: Task): Answer<void>

  /** The run, all it owns, and these tasks of it. The run itself goes last: what is broken off can be done again. */
  erase(run: StoredRun, taskIds: readonly string[]): Answer<void>
  /** What is left of runs with this id that are past their retention. False if nothing is. */
  eraseRemains(runId: string): Answer<boolean>
  /** The same for those that had a tag, a page at a time. */
  eraseFormer(tag: string, cursor: string | undefined): Promise<{ erased: number; cursor?: string }>

  list(filter: RunFilter): Promise<RunPage>
  counts: RunStore['counts']
  overdue(before: number, limit: number): Promise<Wake[]>
  /** Documents that are due, earliest first. */
  dueDocuments(before: number, limit: number): Promise<{ collection: string; key: string }[]>
  watch: RunStore['watch']
  /** Where the world can distinguish a reply from other changes. */
  watchReply?: RunStore['watchReply']
}
