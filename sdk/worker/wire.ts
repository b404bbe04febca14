import type { ResolveBody, TaskPayload } from '../tasks/wire.ts'

export interface PollRequest {
  type: string
  most: number
  /** How many tasks of whatever type the worker has already. */
  inHand: number
  /** The same when a poll is sent again because its answer did not come. */
  id: string
  signal: AbortSignal
}

/** The protocol as a worker sees it: over HTTP, or within a process in tests. */
export interface Wire {
  poll(request: PollRequest): Promise<TaskPayload[]>
  /** `lost`: the task is not this worker's any more. `key` makes a repeat harmless. */
  resolve(taskId: string, body: ResolveBody, key: string): Promise<'done' | 'lost'>
  /** Shows the worker to the outside, until the signal. Resolves when the connection ends. */
  connect?(signal: AbortSignal): Promise<void>
}

/** Nothing will get better by trying again. */
export class WireRefusal extends Error {
  override name = 'WireRefusal'
}
