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
  /** The worker has gone: hand out nothing more. */
  signal?: AbortSignal
}

export type Resolved = { ok: true; deadline?: number } | { ok: false; refusal: Refusal; task?: Task }

/** A task that could not be read is looked at again after this long. */
const UNREADABLE_FOR_MS = 10_000

/** Between workers and the store of tasks. It holds nothing itself: any number of them may serve the same world. */
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
      // One task that cannot be read must not keep its neighbours from being done, nor the worker from hearing of them.
      const failed = taken.find((each) => each.status === 'rejected')
      if (failed)
        this.world.log('error', `a task could not be handed out: ${failed.reason}`, {
          tasks: notices.map(({ taskId }) => taskId),
        })
      if (payloads.length > 0 || notices.length === 0) return payloads
      if (failed && clock.now() >= until) return []
    }
  }

  /** Tasks that this worker was given and never got, because the answer was cut off on its way. */
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

  /** The worker hung up while its tasks were on their way to it: others shall not have to wait for its deadline. */
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

  /** Says for a worker what became of its task. Somebody else may be at it: then the newer state decides. */
  async resolve(taskId: string, said: Resolution): Promise<Resolved> {
    const { tasks, clock, ids } = this.world
    for (;;) {
      const task = await tasks.get(taskId)
      if (!task) return { ok: false, refusal: 'not in flight' }
      const decided = resolve(task, said, clock.now(), () => ids.random(), tasks.isOpenToWorkers)
      // What the first request did may not have come to its end.
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

  /** Undefined when somebody else was faster. */
  private async settle(task: Task, before: Task): Promise<Resolved | undefined> {
    const { saved, outcome, wakes } = await this.world.tasks.settle(task)
    await this.world.wakeups.send(wakes)
    if (!saved) return undefined
    // The run ended meanwhile, or is gone: nobody wants the result.
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

  /** A run may have been terminated, or be gone, since it asked. */
  private async hand(taken: Task, before: Task): Promise<TaskPayload | undefined> {
    const { tasks, store } = this.world
    const [run, input] = await Promise.all([store.state(before.runId), tasks.inputOf(before)])
    if (!run || hasEnded(run.status) || run.generation !== before.generation)
      return void (await this.settle(withdrawn(before), before))
    return (await tasks.save(taken)) ? payloadOf(taken, input) : undefined
  }
}
