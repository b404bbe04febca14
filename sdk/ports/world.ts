import type { Json } from '../base/json.ts'
import type { FlowControl } from '../engine/flow-port.ts'
import type { DocumentStore } from './documents.ts'
import type { RunStore } from './run-store.ts'
import type { TaskStore } from './tasks.ts'

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
  /**
   * Where the HTTP API of this world can be reached from outside, without a slash at its end; undefined where it was
   * not set.
   */
  readonly publicUrl?: string | undefined
  /** How long a runner waits in place for a timer before it rather suspends. */
  readonly inlineWaitMs: number
  /** Programs with other workflows may share its store, so a workflow that is not known here may be known there. */
  readonly isShared?: boolean
  /** Wraps the bodies of steps, where the world traces them. */
  readonly aroundBody?: AroundBody
  /** Limits, queues and pauses. */
  readonly flow: FlowControl
}

/** Calls the body and gives what it gives. `attempt` is missing where this is one of many rounds of an `until`. */
export type AroundBody = <T>(of: { runId: string; step: string; attempt?: number }, body: () => T) => T

export interface Wake {
  runId: string
  at: number
}

/** Hints that a run is due. May arrive twice, late, out of order or never: the truth is `wakeAt` (I5). */
export interface Wakeups {
  send(wakes: Wake[]): Promise<void>
  /**
   * Hands a run that is due straight to a runner, and returns when that has released it. Only where there is a runner
   * to be called. The runner may be busy, or take longer than the caller waits (`signal`), so this is never the only
   * wake-up of a run.
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

/** Functions outside the workflow: Lambda functions on AWS. */
export interface Functions {
  invoke(
    name: string,
    payload: Json | undefined,
    options: { idempotencyKey: string; signal: AbortSignal },
  ): Promise<unknown>
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export type LogSink = (level: LogLevel, message: string, fields: Record<string, unknown>) => void
