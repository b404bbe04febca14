import type { JournalEvent } from '../../sdk/base/events.ts'
import { hasEnded } from '../../sdk/ports/run.ts'
import type { TaskPayload } from '../../sdk/tasks/wire.ts'
import { type Cloud, currentProcess, delay, START } from './cloud.ts'
import type { Effects } from './interpreter.ts'
import type { Program } from './program.ts'

/** A body that was run, or a task that a worker took. */
export interface Effect {
  key: string
  attempt: number
}

/** Longer than any runner keeps a run that it does not renew. */
const LEASE_MS = 60_000

type Handed = Parameters<Effects['handOut']>[0]

/** Sees what programs do to the world outside, which is where it counts. */
export class Witness implements Effects {
  readonly effects: Effect[] = []
  readonly tasks: Effect[] = []
  /** Called when a callback's token is first handed out. */
  onToken: ((handed: Handed) => void) | undefined
  cloud!: Cloud
  private readonly program: Program
  private readonly keyOf = new Map<string, string>()
  private readonly ownerOf = new Map<string, string>()
  private readonly tokenOf = new Map<string, string>()
  /** Bodies inside the limit, as the outside sees them: since when, and under which claim of their run. */
  private readonly inside = new Map<string, { since: number; epoch: number | undefined }>()

  constructor(program: Program) {
    this.program = program
  }

  async run({ owner, seen, key, attempt, ms, isAtMostOnce, limited }: Parameters<Effects['run']>[0]): Promise<void> {
    const process = currentProcess.getStore()!
    this.effects.push({ key, attempt })
    this.checkOwner(owner, key)
    for (const earlier of seen) this.checkDurable(earlier, owner)
    if (isAtMostOnce && !this.isWritten(owner, key, ({ type }) => type === 'step.started'))
      this.say(`I3: at-most-once step ${key} began before its attempt was on record`)
    if (limited) await this.comeIn(key, limited)
    if (ms > 0) await delay(ms, process)
    if (limited) this.inside.delete(key)
  }

  /**
   * One at a time. A body whose process has died or hangs is not inside any more once its run has ended, its lease has passed or another
   * runner has claimed the run; until then no other body may be.
   */
  private async comeIn(key: string, signal: AbortSignal): Promise<void> {
    const { store } = this.cloud.observer()
    const now = this.cloud.clock.now()
    const stateOf = (body: string) => store.state(body.slice(0, body.indexOf('/')))
    // At once, before anything is asked: two bodies that begin at the same moment see each other.
    const own: { since: number; epoch: number | undefined } = { since: now, epoch: undefined }
    const others = [...this.inside].filter(([other]) => other !== key)
    this.inside.set(key, own)
    signal.addEventListener('abort', () => this.inside.delete(key))
    for (const [other, { since, epoch }] of others) {
      const state = await stateOf(other)
      const isTaken = epoch !== undefined && state?.epoch !== epoch
      const isOver = !state || hasEnded(state.status) || state.status === 'stuck' || isTaken || now - since > LEASE_MS
      if (!isOver) this.say(`limit: ${key} came in while ${other} was inside`)
      this.inside.delete(other)
    }
    own.epoch = (await stateOf(key))?.epoch
    if (signal.aborted) this.inside.delete(key)
  }

  handOut(handed: Handed): void {
    const before = this.tokenOf.get(handed.owner)
    if (before === handed.token) return
    if (before !== undefined) this.say(`callback ${handed.owner} got a second token`)
    this.tokenOf.set(handed.owner, handed.token)
    this.onToken?.(handed)
  }

  isMended(): boolean {
    return this.cloud.clock.now() >= START + this.program.mendedAfter
  }

  /** An id is used again: what its first run did is not what its second does. */
  forget(): void {
    this.effects.length = 0
    this.tasks.length = 0
    for (const map of [this.keyOf, this.ownerOf, this.tokenOf, this.inside]) map.clear()
  }

  didTask({ run_id, step_id, attempt }: TaskPayload): void {
    this.tasks.push({ key: `${run_id} ${step_id}`, attempt })
  }

  /** One key, one operation; and the other way round. */
  private checkOwner(owner: string, key: string): void {
    const [otherKey, otherOwner] = [this.keyOf.get(owner), this.ownerOf.get(key)]
    if (otherKey !== undefined && otherKey !== key)
      this.say(`operation ${owner} had the key ${otherKey} and now has ${key}`)
    if (otherOwner !== undefined && otherOwner !== owner)
      this.say(`the key ${key} belongs to ${otherOwner} and to ${owner}`)
    this.keyOf.set(owner, key)
    this.ownerOf.set(key, owner)
  }

  /** I3: a body begins only when everything is durable that its code has seen. */
  private checkDurable(earlier: string, owner: string): void {
    const key = this.keyOf.get(earlier)
    if (
      key !== undefined &&
      !this.isWritten(earlier, key, ({ type }) => type === 'step.completed' || type === 'step.failed')
    )
      this.say(`I3: ${owner} began before the result of ${earlier} was written`)
  }

  private isWritten(owner: string, key: string, isIt: (event: JournalEvent) => boolean): boolean {
    const [runId] = owner.split(' ')
    return this.cloud.ledger.someEvent(runId!, (event) => isIt(event) && 'id' in event && key.endsWith(`/${event.id}`))
  }

  private say(problem: string): void {
    this.cloud.failures.push(problem)
  }
}
