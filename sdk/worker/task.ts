import { type Duration, milliseconds } from '../base/duration.ts'
import type { Json } from '../base/json.ts'
import { decode, encode } from '../base/values.ts'
import type { ResolveBody, TaskPayload } from '../tasks/wire.ts'

/**
 * What a handler gets. Its return value is the task's output; an error fails the attempt (a FatalError fails
 * the task).
 */
export interface WorkerTask<I = unknown> {
  readonly id: string
  readonly runId: string
  readonly stepId: string
  readonly type: string
  readonly input: I
  /** From 1. */
  readonly attempt: number
  /** From 0; counts the calls of `goOn`. */
  readonly iteration: number
  /** The data of the last checkpoint, pause or iteration. */
  readonly lastCheckpoint: unknown
  /** Aborted when the task is lost to another worker or withdrawn, or when this worker has to stop. */
  readonly signal: AbortSignal
  /** Durable when the promise resolves; the worker that gets the task next finds it. */
  checkpoint(data: unknown): Promise<void>
  /** Return this to release the task for a while, at most an hour: `return task.pause('cool-down', '30s', state)`. */
  pause(name: string, duration: Duration, checkpoint?: unknown): Handover
  /** Return this to be called again at once with the next iteration: the loop of an agent. */
  goOn(checkpoint?: unknown): Handover
}

// biome-ignore lint/suspicious/noExplicitAny: handlers say themselves what they expect
export type TaskHandler = (task: WorkerTask<any>) => unknown

/** The task is released instead of settled. Made by `pause` and `goOn`. */
export class Handover {
  readonly body: Omit<ResolveBody, 'attempt' | 'iteration'>

  constructor(body: Omit<ResolveBody, 'attempt' | 'iteration'>) {
    this.body = body
  }
}

export function workerTask(
  payload: TaskPayload,
  type: string,
  signal: AbortSignal,
  checkpoint: (data: unknown) => Promise<void>,
): WorkerTask {
  const { task_id, run_id, step_id, input, attempt, iteration, checkpoint: lastCheckpoint } = payload
  const saved = (data: unknown) => (data === undefined ? {} : { checkpoint: encode(data, 'the checkpoint of a task') })
  return {
    id: task_id,
    runId: run_id,
    stepId: step_id,
    type,
    input: decode(input as Json | undefined),
    attempt,
    iteration,
    lastCheckpoint: decode(lastCheckpoint as Json | undefined),
    signal,
    checkpoint,
    pause: (name, duration, data) =>
      new Handover({
        action: 'pause',
        name,
        duration_ms: milliseconds(duration, `the pause '${name}'`),
        ...saved(data),
      }),
    goOn: (data) => new Handover({ action: 'continue', ...saved(data) }),
  }
}
