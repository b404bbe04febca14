import type { ErrorRecord, Frame } from '../base/events.ts'
import type { Json } from '../base/json.ts'
import type { Admission, NewAdmission } from '../flow/admission.ts'

export type RunStatus =
  | 'pending'
  | 'queued'
  | 'running'
  | 'sleeping'
  | 'waiting'
  | 'stuck'
  | 'completed'
  | 'failed'
  | 'cancelled'
  | 'terminated'

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

export const RUN_STATUSES = Object.keys(ENDED) as [RunStatus, ...RunStatus[]]

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
  until?: number
  /** Since when no runner knows the code. */
  since?: number
  /**
   * Of an `until`: how many rounds were in vain, and how many in a row have thrown. It goes on from here, so this is
   * its only record.
   */
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
  /** Bumped by every claim. A runner with a lower one yields. */
  epoch: number
  /** Bumped by everything that reaches the run from outside (I6). */
  stimulus: number
  /** When a runner should look at this run: a timer, its start, or the end of its runner's lease. */
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
  /** The `traceparent` of the caller that created this generation, where it traces. */
  trace?: string
  /**
   * The limiters that it has to pass before it starts, where its workflow has limits or everything is paused; and how
   * many it has passed.
   */
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
  /** Set by the rules, of a run that has to queue, and how many limiters it has passed. */
  status?: 'queued'
  passed?: number
  /** A run made by `rerun` begins with the journal of the run it repeats. */
  journal?: Frame
}

/** What reaches a run from outside. `id` makes a repeated delivery recognisable. */
export type Message = { id: string } /** `asks`: its sender waits for a reply. */ & (
  | { kind: 'signal'; name: string; payload?: Json; asks?: true }
  | { kind: 'callback'; generation: number; op: string; result?: Json }
  | { kind: 'callback.failed'; generation: number; op: string; error: ErrorRecord }
  /** `generation`: of the parent that the child was started for. Absent in messages of format 1. */
  | {
      kind: 'child'
      run: string
      op: string
      generation?: number
      status: EndStatus
      result?: Json
      error?: ErrorRecord
    }
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
