import type { ResolveBody, TaskPayload } from '../tasks/wire.ts'

export interface PollRequest {
  type: string
  most: number
  /** How many tasks of any type the worker has already. */
  inHand: number
  /** Stays the same when a poll is repeated because its answer was lost. */
  id: string
  signal: AbortSignal
}

/** The protocol as a worker sees it: over HTTP, or in-process in tests. */
export interface Wire {
  poll(request: PollRequest): Promise<TaskPayload[]>
  /** `lost`: another worker has the task. `key` makes a repeat harmless. */
  resolve(taskId: string, body: ResolveBody, key: string): Promise<'done' | 'lost'>
  /** Lists the worker as alive, until the signal aborts. Resolves when the connection ends. */
  connect?(signal: AbortSignal): Promise<void>
}

/** A refusal that a retry cannot fix. */
export class WireRefusal extends Error {
  override name = 'WireRefusal'
}
