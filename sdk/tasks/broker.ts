import { hasEnded } from '../ports/run.ts'
import type { TaskNotice } from '../ports/tasks.ts'
import type { World } from '../ports/world.ts'
import { offer, type Refusal, type Resolution, resolve, withdrawn } from './lifecycle.ts'
import type { Task } from './task.ts'
import { payloadOf, type TaskPayload } from './wire.ts'

export interface PollOptions {
  types: readonly string[]
  most: number
  timeoutMs: number
  worker?: string
  /** The worker has disconnected: dispatch nothing more to it. */
  signal?: AbortSignal
}

export type Resolved = { ok: true; deadline?: number } | { ok: false; refusal: Refusal; task?: Task }

/** After this time the broker tries an unreadable task again. */
const UNREADABLE_FOR_MS = 10_000

/** Between workers and the store of tasks. It keeps no state: any number of brokers may serve the same world. */
export class TaskBroker {
  private readonly world: Pick<World, 'tasks' | 'store' | 'wakeups' | 'clock' | 'ids' | 'log'>

  constructor(world: Pick<World, 'tasks' | 'store' | 'wakeups' | 'clock' | 'ids' | 'log'>) {
    this.world = world
  }

  /** Tasks for a worker, as soon as there are any; none when the time is up. */
  async poll({ types, most, timeoutMs, worker, signal }: PollOptions): Promise<TaskPayload[]> {
    const { tasks, clock } = this.world
    const until = clock.now() + timeoutMs
    for (;;) {
      const notices = await tasks.receive(types, most, { until, ...(signal && { signal }) })
      const taken = await Promise.allSettled(notices.map((notice) => this.take(notice, worker, signal)))
      const payloads = taken.flatMap((each) => (each.status === 'fulfilled' ? (each.value ?? []) : []))
      // One unreadable task must not block the others, nor the worker's poll.
      const failed = taken.find((each) => each.status === 'rejected')
      if (failed)
        this.world.log('error', `a task could not be handed out: ${failed.reason}`, {
          tasks: notices.map(({ taskId }) => taskId),
        })
      if (payloads.length > 0 || notices.length === 0) return payloads
      if (failed && clock.now() >= until) return []
    }
  }

  /** Hands out again the tasks of a poll whose answer was lost on its way to this worker. */
  async handAgain(
    taskIds: readonly string[],
    { worker, types }: { worker: string; types: readonly string[] },
  ): Promise<TaskPayload[]> {
    const { tasks, clock } = this.world
    const found = (await Promise.all(taskIds.map((id) => tasks.get(id)))).filter((task) => task !== undefined)
    const its = found.filter(
      (task) =>
        task.state === 'taken' && task.takenBy === worker && types.includes(task.type) && task.lookAt! > clock.now(),
    )
    return Promise.all(its.map(async (task) => payloadOf(task, await tasks.inputOf(task))))
  }

  /**
   * The worker disconnected before it received its tasks: other workers get them now, without waiting for the
   * deadline.
   */
  async takeBack(payloads: readonly TaskPayload[]): Promise<void> {
    await Promise.all(
      payloads.map(({ task_id, attempt, iteration }) =>
        this.resolve(task_id, { action: 'pause', durationMs: 1, attempt, iteration }),
      ),
    )
  }

  async find(taskId: string): Promise<Task | undefined> {
    return this.world.tasks.get(taskId)
  }

  /** Records a worker's result for its task. On a conflict with another process, the newer state decides. */
  async resolve(taskId: string, said: Resolution): Promise<Resolved> {
    const { tasks, clock, ids } = this.world
    for (;;) {
      const task = await tasks.get(taskId)
      if (!task) return { ok: false, refusal: 'not in flight' }
      const decided = resolve(task, said, clock.now(), () => ids.random(), tasks.isOpenToWorkers)
      // The first request may have been interrupted halfway.
      if (decided === 'repeat') {
        if (task.state === 'settled') await this.settle(task, task)
        return { ok: true }
      }
      if ('refusal' in decided) return { ok: false, refusal: decided.refusal, task }
      if (decided.task.state === 'settled') {
        const settled = await this.settle(decided.task, task)
        if (settled) return settled
      } else if (await tasks.save(decided.task)) {
        return { ok: true, ...(decided.task.state === 'taken' && { deadline: decided.task.lookAt }) }
      }
    }
  }

  /** Undefined if another process was faster. */
  private async settle(task: Task, before: Task): Promise<Resolved | undefined> {
    const { saved, outcome, wakes } = await this.world.tasks.settle(task)
    await this.world.wakeups.send(wakes)
    if (!saved) return undefined
    // The run has ended or was erased: its result is discarded.
    return outcome === 'ended' || outcome === 'missing'
      ? { ok: false, refusal: 'not in flight', task: before }
      : { ok: true }
  }

  private async take(
    notice: TaskNotice,
    worker: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<TaskPayload | undefined> {
    const { tasks, clock } = this.world
    try {
      const task = await tasks.get(notice.taskId)
      if (!task) return void (await tasks.putBack(notice, undefined))
      if (signal?.aborted) return void (await tasks.putBack(notice, clock.now()))
      const received: Task = { ...task, ...(notice.receipt !== undefined && { receipt: notice.receipt }) }
      const offered = offer(received, clock.now(), worker)
      if (offered.kind === 'not yet') return void (await tasks.putBack(notice, offered.lookAt))
      if (offered.kind === 'settled') return void (await this.settle(received, received))
      if (offered.kind === 'settle') return void (await this.settle(offered.task, received))
      return await this.hand(offered.task, received)
    } catch (error) {
      await tasks.putBack(notice, clock.now() + UNREADABLE_FOR_MS)
      throw error
    }
  }

  /** The run may have been terminated, or erased, since it dispatched the task. */
  private async hand(taken: Task, before: Task): Promise<TaskPayload | undefined> {
    const { tasks, store } = this.world
    const [run, input] = await Promise.all([store.state(before.runId), tasks.inputOf(before)])
    if (!run || hasEnded(run.status) || run.generation !== before.generation)
      return void (await this.settle(withdrawn(before), before))
    return (await tasks.save(taken)) ? payloadOf(taken, input) : undefined
  }
}
