import type { Json } from '../engine/json.ts'
import type { Task } from './task.ts'

/** What the protocol sends over the wire. Its names are part of it, so they are not ours. */

export interface TaskPayload {
  /** `{run_id}.{step_id}` */
  task_id: string
  run_id: string
  step_id: string
  /** From 0; counts the rounds of an agent's loop. */
  iteration: number
  /** From 1. */
  attempt: number
  input?: Json
  /** What the last `checkpoint`, `pause` or `continue` saved. */
  checkpoint?: Json
}

export interface WorkerRegistration {
  worker_id: string
  task_types: string[]
  language: string
  transport: string
  max_tasks: number
  metadata?: Record<string, string>
}

export function payloadOf({ id, runId, op, iteration, attempt, checkpoint }: Task, input: Json | undefined): TaskPayload {
  return {
    task_id: id,
    run_id: runId,
    step_id: op,
    iteration,
    attempt,
    ...(input !== undefined && { input }),
    ...(checkpoint !== undefined && { checkpoint }),
  }
}
