import type { Json } from '../../base/json.ts'
import type { DeliverResult } from '../../ports/run-store.ts'
import type { TaskNotice, TaskStore } from '../../ports/tasks.ts'
import type { Wake } from '../../ports/world.ts'
import { settleTask } from '../../rules/tasks.ts'
import type { Task } from '../../tasks/task.ts'
import type { Aws } from './context.ts'
import type { DynamoStorage } from './storage.ts'
import { findTask, inputOf, toTask, writeTask } from './task-items.ts'

/** A queue keeps a message for 14 days. */
const HAND_OUT_AGAIN_MS = 10 * 86_400_000

/** Tasks in the table, and one queue per type for polling. The table is always written first (I5). */
export class DynamoTaskStore implements TaskStore {
  readonly isOpenToWorkers = true
  readonly handOutAgainMs = HAND_OUT_AGAIN_MS
  private readonly aws: Aws
  private readonly storage: DynamoStorage

  constructor(aws: Aws, storage: DynamoStorage) {
    this.aws = aws
    this.storage = storage
  }

  refusal(type: string): string | undefined {
    const { queues } = this.aws
    if (queues.has(type)) return undefined
    return (
      `there is no queue for tasks of type '${type}'; add it to the construct's taskTypes and deploy ` +
      `again. There are: ${queues.types.join(', ') || 'none'}`
    )
  }

  async get(taskId: string): Promise<Task | undefined> {
    const item = await findTask(this.aws, taskId)
    return item && toTask(this.aws, item)
  }

  async inputOf({ id, runId }: Task): Promise<Json | undefined> {
    const item = await findTask(this.aws, id)
    return item && inputOf(this.aws, runId, item)
  }

  receive(
    types: readonly string[],
    most: number,
    options: { until: number; signal?: AbortSignal },
  ): Promise<TaskNotice[]> {
    return this.aws.queues.receive(types, most, options)
  }

  putBack(notice: TaskNotice, lookAt: number | undefined): Promise<void> {
    return lookAt === undefined ? this.aws.queues.remove(notice) : this.aws.queues.hideUntil(notice, lookAt)
  }

  async save(task: Task): Promise<boolean> {
    const { queues } = this.aws
    const item = await writeTask(this.aws, task)
    if (!item) return false
    if (task.state === 'taken') await queues.hideUntil(noticeOf(task), task.lookAt!)
    else {
      await queues.send(task, await inputOf(this.aws, task.runId, item))
      await queues.remove(noticeOf(task))
    }
    return true
  }

  settle(task: Task): Promise<{ saved: boolean; outcome?: DeliverResult['outcome']; wakes: Wake[] }> {
    return this.storage.perform(() => settleTask(this.storage, task))
  }
}

const noticeOf = ({ id, type, receipt }: Task): TaskNotice => ({
  taskId: id,
  type,
  ...(receipt !== undefined && { receipt }),
})
