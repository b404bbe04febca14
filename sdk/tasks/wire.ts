import type { Json } from '../base/json.ts'
import type { Resolution } from './lifecycle.ts'
import type { Task } from './task.ts'

/** The messages of the worker protocol. Their names are part of the protocol, so they are not ours. */

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

/** A worker's report on its task. */
export interface ResolveBody {
  action: Resolution['action']
  attempt?: number
  iteration?: number
  output?: unknown
  error?: string
  retryable?: boolean
  name?: string
  duration_ms?: number
  checkpoint?: unknown
  data?: unknown
}

/** Parses a body whose fields are known to be valid. `null` is a value here; an absent field is not. */
export function resolutionOf(body: ResolveBody): Resolution {
  const { attempt, iteration, output, checkpoint, data } = body
  const which = { ...(attempt !== undefined && { attempt }), ...(iteration !== undefined && { iteration }) }
  const saved = (value: unknown) => (value === undefined ? {} : { checkpoint: value as Json })
  switch (body.action) {
    case 'complete':
      return { ...which, action: 'complete', ...(output !== undefined && { output: output as Json }) }
    case 'fail':
      return { ...which, action: 'fail', error: body.error!, ...(body.retryable === false && { retryable: false }) }
    case 'pause':
      return { ...which, action: 'pause', durationMs: body.duration_ms!, ...saved(checkpoint) }
    case 'checkpoint': {
      const given = data === undefined ? checkpoint : data
      return { ...which, action: 'checkpoint', ...(given !== undefined && { data: given as Json }) }
    }
    case 'continue':
      return { ...which, action: 'continue', ...saved(checkpoint === undefined ? data : checkpoint) }
  }
}

export function payloadOf(
  { id, runId, op, iteration, attempt, checkpoint }: Task,
  input: Json | undefined,
): TaskPayload {
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
