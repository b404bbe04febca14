import type { World } from '../../sdk/ports.ts'
import { TaskBroker } from '../../sdk/tasks/broker.ts'
import type { TaskPayload } from '../../sdk/tasks/wire.ts'
import { nextLook, tasksToLookAt } from '../../sdk/worlds/local/task-rows.ts'
import type { Cloud, Process } from './cloud.ts'

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
  private isComing = false

  constructor(cloud: Cloud, did: Did) {
    this.cloud = cloud
    this.did = did
  }

  /** There may be something to do: now, or when the next task is due. */
  comeSoon(): void {
    const { db, clock } = this.cloud
    if (this.isComing) return
    const now = clock.now()
    const isDue = tasksToLookAt(db, [CHORE], 1, now).length > 0
    const at = isDue ? now : nextLook(db, [CHORE], now)
    if (at === undefined) return
    this.isComing = true
    clock.at(Math.max(at, now) + POLL_MS, () => {
      this.isComing = false
      const { world, process } = this.cloud.client()
      void this.work(world, process)
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
    if (ms > 0) await this.cloud.delay(ms, process)
    const outcome =
      attempt <= failures ? ({ action: 'fail', error: `${name} fails ${attempt}` } as const) : ({ action: 'complete', output: `${name} ok` } as const)
    await broker.resolve(payload.task_id, { attempt, iteration, key: `${process.id} ${payload.task_id} ${attempt}`, ...outcome })
    this.comeSoon()
  }
}
