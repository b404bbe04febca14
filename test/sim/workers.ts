import type { World } from '../../sdk/ports/world.ts'
import { TaskBroker } from '../../sdk/tasks/broker.ts'
import type { TaskPayload } from '../../sdk/tasks/wire.ts'
import { type Cloud, delay, type Process } from './cloud.ts'

/** The one type of task that programs hand out. */
export const CHORE = 'chore'

/** What a task carries: how often its workers fail, and how long each takes. */
export interface Chore {
  name: string
  failures: number
  ms: number
}

export type Did = (payload: TaskPayload, process: Process) => void

const POLL_MS = 500

/** Workers outside: each is a process that may die, stall and speak too late, as runners may. */
export class SimulatedWorkers {
  private readonly cloud: Cloud
  private readonly did: Did
  private comesAt = Number.POSITIVE_INFINITY
  private cancel = () => {}

  constructor(cloud: Cloud, did: Did) {
    this.cloud = cloud
    this.did = did
  }

  /** There may be something to do: now, or when the next task is due. */
  comeSoon(): void {
    const { clock } = this.cloud
    const at = this.cloud.nextTask()
    if (at === undefined) return
    const comesAt = Math.max(at, clock.now()) + POLL_MS
    if (comesAt >= this.comesAt) return
    this.cancel()
    this.comesAt = comesAt
    this.cancel = clock.at(comesAt, () => {
      this.comesAt = Number.POSITIVE_INFINITY
      const { world, process } = this.cloud.client()
      // A worker whose call fails asks again some other time, as another one does.
      this.work(world, process).catch(() => {})
      this.comeSoon()
    })
  }

  private async work(world: World, process: Process): Promise<void> {
    const broker = new TaskBroker(world)
    const payloads = await broker.poll({ types: [CHORE], most: 3, timeoutMs: 0 })
    await Promise.all(payloads.map((payload) => this.perform(payload, broker, process)))
  }

  private async perform(payload: TaskPayload, broker: TaskBroker, process: Process): Promise<void> {
    const { name, failures, ms } = payload.input as unknown as Chore
    const { attempt, iteration } = payload
    this.did(payload, process)
    if (ms > 0) await delay(ms, process)
    const outcome =
      attempt <= failures
        ? ({ action: 'fail', error: `${name} fails ${attempt}` } as const)
        : ({ action: 'complete', output: `${name} ok` } as const)
    await broker.resolve(payload.task_id, {
      attempt,
      iteration,
      key: `${process.id} ${payload.task_id} ${attempt}`,
      ...outcome,
    })
    this.comeSoon()
  }
}
