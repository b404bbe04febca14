import type { Accepted } from '../base/schema.ts'
import type { StepOptions } from '../context.ts'
import type { GrantedPermit, QueuePlace, ReleaseOfPermit } from '../ports/permits.ts'
import type { NewRun, RunRecord } from '../ports/run.ts'
import type { World } from '../ports/world.ts'
import type { AnyWorkflow, WorkflowSource } from '../workflow.ts'
import type { RunOutcome } from './closing.ts'
import type { FrameBuffer } from './frame-buffer.ts'
import type { Operation } from './operation.ts'
import type { Visit } from './visit.ts'

/**
 * All that the engine knows of flow control. `sdk/flow` implements it and every world brings it along. The loop
 * meets it in four places: before it begins (`admit`), when the run has to stop (`pauses`), between a step that is
 * ready and its body (`Permits`), and where runs are made (`childOf`, `nextInput`).
 */
export interface FlowControl {
  /** What this process knows of the pauses in force. */
  pauses(world: World): KnownPauses
  /** Whether this visit may go on. An outcome ends it; no workflow code has run by then. */
  admit(visit: Visit, workflows: WorkflowSource): Promise<RunOutcome | undefined>
  permits(visit: Visit): Permits
  /** The permits that the run itself releases when it ends. */
  releasesOf(run: RunRecord): ReleaseOfPermit[]
  /** When the time of the run began to count: of one that was queued, not before its start. */
  countsFrom(visit: Visit): number

  /** The input of a child, which is started alone, and what it has to pass before it starts. */
  childOf(workflow: AnyWorkflow, accepted: Accepted, now: number): Promise<Accepted & Pick<NewRun, 'admission'>>
  /** The input of the next generation. */
  nextInput(workflow: AnyWorkflow, given: unknown, what: string): Promise<Accepted>
}

export interface KnownPauses {
  /** Reads the pauses in force, unless this process has read them within the last seconds. */
  refresh(): Promise<void> | undefined
  /** Where the run has to queue, if it is paused now. */
  placeOf(visit: Visit): QueuePlace | undefined
}

export type LimitOfStep = NonNullable<StepOptions['limit']>
export interface Limited {
  limit?: LimitOfStep
  cost?: number | ((input: never) => number)
}

/** What an operation needs a permit of. Only flow control reads it, except for the limiter's name. */
export interface PermitRequest {
  limiter: { limit: string; key?: string }
  spec: object
  cost: number
  /** The time of the run when the code called for it. */
  calledAt: number
}

/** The permits of one visit. A request is journaled before it is made, and released with the event that causes it. */
export interface Permits {
  /** `begin` is called when it is granted, with the time from which it may begin. */
  request(operation: Operation, begin: (at: number) => void): void
  /** Its permit was for a moment that has passed. It is asked for again then. */
  isLate(operation: Operation): boolean
  /** The operation has begun. */
  begun(operation: Operation): void
  /** The operation goes on since an earlier visit, with the permit that it has. */
  keep(operation: Operation): void
  /**
   * Releases its permit: the operation has settled, its attempt has ended, or a race has taken it back. Called right
   * behind the event that says so.
   */
  release(operation: Operation): void
  /** All that the run may hold or wait for. `begun`: except what was begun elsewhere and goes on. */
  releaseAll(into: FrameBuffer, except?: 'begun elsewhere'): void
  /** Nothing begins now: requests that wait are withdrawn, so that other runs go first, and are made again later. */
  leaveQueues(): void
  /** The service behind a limit asked for a cooldown. */
  coolDown(operation: Operation, limit: LimitOfStep, ms: number): void
  /**
   * The permit that a task releases when it ends while its run is suspended. The task stores it under these names.
   */
  permitOf(operation: Operation): { gate: { limit: string; key?: string }; holder: string } | undefined
  /** The limiter in whose queue it waits. */
  waitsAt(operation: Operation): { limit: string; key?: string } | undefined

  /** Until then this visit waits for a permit that it would be too late for in another one. */
  readonly staysUntil: number
  /** A message has come, which may be a grant. */
  checkGrants(): void
  /** Requests are to be made, or those of earlier visits to be looked up. */
  readonly hasRequests: boolean
  /** Looks requests of earlier visits up, and puts new ones into the buffer. */
  sendRequests(): Promise<void>
  /** What a commit was granted. */
  granted(permits: readonly GrantedPermit[]): void
}
