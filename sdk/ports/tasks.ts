import type { Json } from '../base/json.ts'
import type { Task } from '../tasks/task.ts'
import type { DeliverResult } from './run-store.ts'
import type { Wake } from './world.ts'

/**
 * Says that there may be something to do about a task. May come twice, late or for nothing: the truth is the task
 * itself (I5).
 */
export interface TaskNotice {
  taskId: string
  type: string
  receipt?: string
}

/** Tasks for workers outside. Runs put them in and take them back with their commits (`Outgoing`). */
export interface TaskStore {
  /** Why tasks of this type cannot be sent from here; undefined when they can. */
  refusal(type: string): string | undefined
  /** Workers may take tasks from the queue itself, without asking through us. */
  readonly isOpenToWorkers: boolean
  /**
   * A task that no worker has finished after this long is dispatched again, because a queue keeps nothing for ever.
   */
  readonly handOutAgainMs?: number
  get(taskId: string): Promise<Task | undefined>
  inputOf(task: Task): Promise<Json | undefined>
  /**
   * Waits until there is something to do about tasks of these types, at most until then. No other caller gets the
   * same ones meanwhile.
   */
  receive(
    types: readonly string[],
    most: number,
    options: { until: number; signal?: AbortSignal },
  ): Promise<TaskNotice[]>
  /** Nothing to do yet, or for good (undefined). */
  putBack(notice: TaskNotice, lookAt: number | undefined): Promise<void>
  /** False when another process has changed it since it was read. */
  save(task: Task): Promise<boolean>
  /** Saves a settled task and sends the message to its run. Doing it again is harmless. */
  settle(task: Task): Promise<{ saved: boolean; outcome?: DeliverResult['outcome']; wakes: Wake[] }>
}
