import type { Json } from '../../base/json.ts'
import type { DeliverResult } from '../../ports/run-store.ts'
import type { TaskNotice, TaskStore } from '../../ports/tasks.ts'
import type { Clock, Wake } from '../../ports/world.ts'
import { settleTask } from '../../rules/tasks.ts'
import type { Task } from '../../tasks/task.ts'
import type { Database } from './database.ts'
import type { SqliteStorage } from './storage.ts'
import { nextLook, selectInput, selectTask, tasksToLookAt, updateTask } from './task-rows.ts'

/** If a poll received a task and died, another poll receives it after this time. */
const ACT_WITHIN_MS = 10_000

/** Tasks for workers, in the same file as the runs they belong to. */
export class SqliteTaskStore implements TaskStore {
  readonly isOpenToWorkers = false
  private readonly db: Database
  private readonly clock: Clock
  /** Polls that found nothing, in the order they came. */
  private readonly waiting = new Set<() => void>()
  /** Tasks that a poll of this process has received and not acted on, and until when it may. */
  private readonly notified = new Map<string, number>()
  private readonly storage: SqliteStorage

  constructor(db: Database, clock: Clock, storage: SqliteStorage) {
    this.db = db
    this.clock = clock
    this.storage = storage
  }

  refusal(): undefined {
    return undefined
  }

  async get(taskId: string): Promise<Task | undefined> {
    return selectTask(this.db, taskId)
  }

  async inputOf({ id }: Task): Promise<Json | undefined> {
    return selectInput(this.db, id)
  }

  async receive(
    types: readonly string[],
    most: number,
    { until, signal }: { until: number; signal?: AbortSignal },
  ): Promise<TaskNotice[]> {
    while (!signal?.aborted) {
      const now = this.clock.now()
      for (const [taskId, expiry] of this.notified) if (expiry <= now) this.notified.delete(taskId)
      const found = tasksToLookAt(this.db, types, most + this.notified.size, now)
      const ours = found.filter(({ taskId }) => !this.notified.has(taskId)).slice(0, most)
      for (const { taskId } of ours) this.notified.set(taskId, now + ACT_WITHIN_MS)
      if (ours.length > 0 || now >= until) return ours
      await this.somethingHappens(
        Math.min(until, nextLook(this.db, types, now) ?? until, ...this.notified.values()),
        signal,
      )
    }
    return []
  }

  async putBack({ taskId }: TaskNotice, lookAt: number | undefined): Promise<void> {
    if (lookAt !== undefined && lookAt > this.clock.now()) this.notified.set(taskId, lookAt)
    else this.notified.delete(taskId)
    this.lookAgain()
  }

  async save(task: Task): Promise<boolean> {
    const saved = await this.db.write(() => updateTask(this.db, task, this.clock.now()))
    this.notified.delete(task.id)
    if (saved) this.lookAgain()
    return saved
  }

  async settle(task: Task): Promise<{ saved: boolean; outcome?: DeliverResult['outcome']; wakes: Wake[] }> {
    const result = await this.storage.perform(() => settleTask(this.storage, task))
    this.notified.delete(task.id)
    return result
  }

  /** Wakes the polls: there may be a new task. */
  lookAgain(): void {
    for (const wake of [...this.waiting]) wake()
  }

  /** No task of this type is available now. */
  isQuiet(type: string): boolean {
    return tasksToLookAt(this.db, [type], 1, this.clock.now()).length === 0
  }

  private somethingHappens(until: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise<void>((resolve) => {
      const done = () => {
        this.waiting.delete(done)
        stopTimer()
        signal?.removeEventListener('abort', done)
        resolve()
      }
      const stopTimer = this.clock.at(until, done)
      this.waiting.add(done)
      signal?.addEventListener('abort', done)
    })
  }
}
