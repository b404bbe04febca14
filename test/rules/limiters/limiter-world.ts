import type { Json } from '../../../sdk/base/json.ts'
import { FORMAT } from '../../../sdk/base/names.ts'
import { runOnce } from '../../../sdk/engine/run-loop.ts'
import type { LimiterToPass, NewAdmission } from '../../../sdk/flow/admission.ts'
import type { LimitSpec } from '../../../sdk/flow/limiter/limit.ts'
import { LIMITS } from '../../../sdk/flow/limiter/limit-record.ts'
import { type LimiterId, limiterKey, limitersOf, queueOf } from '../../../sdk/flow/limiter/limiter.ts'
import { type QueueEntry, readEntry } from '../../../sdk/flow/limiter/queue.ts'
import { hasEnded, type NewRun } from '../../../sdk/ports/run.ts'
import type { World } from '../../../sdk/ports/world.ts'
import { readSlots } from '../../../sdk/rules/limiters/slots.ts'
import { inOneGo, type Procedure } from '../../../sdk/rules/procedure.ts'
import type { Storage } from '../../../sdk/rules/storage.ts'
import { VirtualClock } from '../../../sdk/testing/virtual-clock.ts'
import type { AnyWorkflow } from '../../../sdk/workflow.ts'
import { Registry } from '../../../sdk/workflow.ts'
import { MemoryStorage, memoryWorld } from '../../contract/memory/world.ts'

export const START = Date.parse('2026-01-01T00:00:00Z')
export const LIMIT: LimiterId = { limit: 'api' }
export const LEASE = { owner: 'runner', ms: 30_000 }

export class ProcessDied extends Error {
  constructor() {
    super('the process died')
  }
}

/** Carries a procedure out as a world without transactions does, and says when each call has been answered. */
async function walk<T>(procedure: Procedure<T>, answered: () => Promise<void>): Promise<T> {
  let next = procedure.next()
  while (!next.done) {
    const { procedures } = (next.value ?? {}) as { procedures?: Procedure<unknown>[] }
    if (procedures) {
      const results: unknown[] = []
      for (const each of procedures) results.push(await walk(each, answered))
      next = procedure.next(results)
    } else {
      const answer = await next.value
      await answered()
      next = procedure.next(answer)
    }
  }
  return next.value
}

/** Some runs and a limiter in maps, where others write between two calls, as on AWS. */
export class LimiterWorld {
  readonly clock = new VirtualClock(START)
  readonly storage: MemoryStorage = Object.assign(new MemoryStorage(this.clock), { isContended: true })
  readonly world: World = this.worldOf(this.storage)

  now(): number {
    return this.clock.now()
  }

  private worldOf(storage: MemoryStorage): World {
    return {
      ...memoryWorld(this.clock, storage),
      log: () => {},
      documents: this.world?.documents ?? memoryWorld(this.clock, storage).documents,
    }
  }

  /** What a procedure answers that nothing comes between. */
  do<T>(rule: (storage: Storage) => Procedure<T>): T {
    return inOneGo(rule(this.storage))
  }

  /**
   * A process of its own, which is held up once, behind its nth call: `meanwhile` is what others do then. Where that
   * throws, the process has died: nothing more comes of it.
   */
  process(nth: number, meanwhile: () => Promise<void>): { world: World; calls: () => number } {
    let calls = 0
    let isDead = false
    const answered = async () => {
      calls++
      if (isDead) throw new ProcessDied()
      if (calls !== nth) return
      await meanwhile().catch((error: unknown) => {
        isDead = true
        throw error
      })
    }
    const perform = async <T>(procedure: () => Procedure<T>): Promise<T> => {
      if (isDead) throw new ProcessDied()
      return walk(procedure(), answered)
    }
    const storage = Object.assign(Object.create(this.storage) as MemoryStorage, { perform, read: perform })
    return { world: this.worldOf(storage), calls: () => calls }
  }

  /** Numbers of the limit, as if a process had put them there. */
  setLimit(spec: LimitSpec, more: object = {}): void {
    this.storage.documents.put(LIMITS, LIMIT.limit, { code: spec, ...more } as unknown as Json)
  }

  admission(spec: LimitSpec, order = this.now(), ...gates: LimiterToPass[]): NewAdmission {
    const own: LimiterToPass = { ...LIMIT, ...(spec.concurrency !== undefined && { holds: true as const }) }
    return { gates: gates.length > 0 ? gates : [own], order, specs: { [LIMIT.limit]: spec } }
  }

  newRun(id: string, admission?: NewAdmission, workflow = 'held'): NewRun {
    const times = { createdAt: this.now(), wakeAt: this.now(), retentionMs: 86_400_000 }
    const common = { workflow, version: 1, format: FORMAT, input: undefined, secret: 's', tags: [] }
    return { id, ...common, ...times, ...(admission && { admission }) }
  }

  async create(id: string, admission?: NewAdmission, workflow?: string): Promise<void> {
    await this.world.store.create(this.newRun(id, admission, workflow))
  }

  entry(run: string, changes: Partial<QueueEntry> = {}): QueueEntry {
    return { run, holder: run, cost: 1, holds: true, lane: '', order: this.now(), ...changes }
  }

  /** Holders by slot: `undefined` for one that is free. */
  slots(widest = 10, id = LIMIT): Record<number, string> {
    const slots = this.do((storage) => readSlots(storage, id, widest)).filter(({ holder }) => holder !== '')
    return Object.fromEntries(slots.map(({ index, holder }) => [index, holder]))
  }

  queue(id = LIMIT): QueueEntry[] {
    return this.storage.documents.list(queueOf(id)).map(({ value }) => readEntry(value))
  }

  /** The document of the limiter's state. */
  state(id = LIMIT) {
    return this.storage.documents.get(limitersOf(id.limit), limiterKey(id))
  }

  status = (id: string) => this.storage.find(id)?.status

  /** Whatever is due is done, again and again, until all runs have ended. What only waits for people is left. */
  async goOn(
    workflows: readonly AnyWorkflow[],
    { ids, minutes = 60 }: { ids: readonly string[]; minutes?: number },
  ): Promise<void> {
    const { store } = this.world
    const registry = new Registry([...workflows])
    const end = this.now() + minutes * 60_000
    const isOpen = (id: string) => !hasEnded(this.status(id) ?? 'pending')
    while (ids.some(isOpen) && this.now() < end) {
      for (const { runId } of await store.overdue(this.now(), 100)) {
        runOnce(this.world, registry, runId, { lease: LEASE }).catch(() => {})
        await settled()
      }
      await store.checkLimiters(this.now(), 100)
      this.clock.moveTo(this.now() + 5_000)
      await settled()
    }
  }
}

/** Bodies and runners have done what they can do at this time. */
export async function settled(turns = 8): Promise<void> {
  for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve))
}
