import type { ErrorRecord, Frame, TerminalEvent } from '../base/events.ts'
import type { Json } from '../base/json.ts'
import type { Admission } from '../flow/admission.ts'
import type { LimitSpec } from '../flow/limiter/limit.ts'
import type { LimiterId } from '../flow/limiter/limiter.ts'
import type { QueueEntry } from '../flow/limiter/queue.ts'
import type { NewTask } from '../tasks/task.ts'
import type { GrantedPermit, ReleaseOfPermit } from './permits.ts'
import type { Message, NewRun, Reply, Waiting } from './run.ts'
import type { Wake } from './world.ts'

/**
 * What becomes of the run once the frame is durable. `effectsPending`: effects that an earlier holder has journaled
 * may not have been sent.
 */
export type Next =
  | { kind: 'keep' }
  /** Give the run up until `wakeAt` or a stimulus; refused when the stimulus counter is not `seen` (I6). */
  | { kind: 'suspend'; status: 'sleeping' | 'waiting'; wakeAt?: number; waitingFor: Waiting[]; seen: number }
  /**
   * Releases the run for another runner, at once or from `wakeAt` on. `noProgress`: nothing was done for it, which
   * must not happen for ever.
   */
  | { kind: 'release'; wakeAt?: number; waitingFor?: Waiting[]; noProgress?: true; effectsPending?: true }
  | { kind: 'end'; event: TerminalEvent }
  /**
   * It has its input, of all the starts that it was created for, and goes on. `starts`: their messages, which are
   * removed then.
   */
  | {
      kind: 'collected'
      input: Json | undefined
      parsed?: Json
      reparse?: true
      admission: Admission
      starts?: string[]
    }
  /** Queues the run: at the limiters of `admission`, where there are more than its record has. */
  | { kind: 'queue'; admission?: Admission; passed?: number; waitingFor?: Waiting[]; effectsPending?: true }
  /** Begin the next generation. */
  | {
      kind: 'continue'
      input: Json | undefined
      parsed?: Json
      reparse?: true
      attempt: number
      wakeAt: number
      trace?: string
    }
  | { kind: 'park'; error: ErrorRecord; effectsPending?: true }

/** What a commit causes outside the run: done with the commit, and again by the runner that recovers the run. */
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
  /** Another runner has moved the run on. */
  | { ok: false }
