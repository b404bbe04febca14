import { idempotencyKey } from '../base/names.ts'
import type { LimitOfStep, Permits } from '../engine/flow-port.ts'
import type { FrameBuffer } from '../engine/frame-buffer.ts'
import type { Operation } from '../engine/operation.ts'
import type { Visit } from '../engine/visit.ts'
import type { GrantedPermit } from '../ports/permits.ts'
import type { Limit, LimitSpec } from './limiter/limit.ts'
import { isSameLimiter, type LimiterId, limiterOf } from './limiter/limiter.ts'
import { openPermits } from './limiter/permit-log.ts'
import { holderOf, type QueueEntry } from './limiter/queue.ts'
import { WAIT_HERE_MS } from './limiter/rate.ts'
import { released, releasesToRepeat } from './limiter/releases.ts'

/** A permit that the run may hold, or has asked for. */
interface Permit {
  limiter: LimiterId
  holder: string
  order: number
  /** It was asked for with a commit of this visit, or its standing is known. */
  isKnown?: boolean
  granted?: Omit<GrantedPermit, 'holder'>
  /** Its entry may be in the queue. */
  isQueued: boolean
}

/**
 * The permits of the steps and tasks of one visit. Each request is journaled before it is made, so the map of permits is what
 * the journal says, and what this visit has added: whatever the run may hold is in it.
 */
export class StepPermits implements Permits {
  private readonly visit: Visit
  private readonly permits = new Map<string, Permit>()
  private readonly waiting = new Map<Operation, (at: number) => void>()
  private readonly begins = new Map<Operation, (at: number) => void>()
  private toAsk = new Set<Operation>()
  private readonly cooldowns = new Map<Operation, number>()
  staysUntil = 0

  constructor(visit: Visit) {
    this.visit = visit
    const { run, claimed, journal } = visit
    if (!journal.hasPermits) return
    const events = claimed.frames.flatMap((frame) => frame.events)
    for (const { op, ...permit } of openPermits(run, events)) this.permits.set(op, { ...permit, isQueued: true })
    if (!claimed.recovered) return
    // A runner that died behind a frame may not have released what the frame says.
    for (const release of releasesToRepeat(run, claimed.frames, claimed.lastGoodEpoch)) visit.buffer.send(release)
  }

  get hasRequests(): boolean {
    return this.toAsk.size > 0
  }

  keep(operation: Operation): void {
    operation.onSettled = () => this.release(operation)
  }

  request(operation: Operation, begin: (at: number) => void): void {
    this.keep(operation)
    this.waiting.set(operation, begin)
    this.begins.set(operation, begin)
    this.toAsk.add(operation)
  }

  /** Starts behind a reservation wait for it to begin: what begins dispatches them, and is not held up by that. */
  begun(operation: Operation): void {
    const permit = this.permits.get(operation.id)
    if (!permit) return
    if (permit.isQueued) this.confirm(permit)
    if (permit.granted?.until === undefined) return
    this.visit.buffer.send({ kind: 'dispatchNext', limiter: permit.limiter, holder: permit.holder })
  }

  /** Its entry leaves the queue. */
  private confirm(permit: Permit): void {
    const { limiter, holder, order } = permit
    this.visit.buffer.send({ kind: 'confirm', limiter, entry: { holder, order, lane: '' } })
    permit.isQueued = false
  }

  isLate(operation: Operation): boolean {
    const { granted } = this.permits.get(operation.id) ?? {}
    if (granted?.until === undefined || granted.until >= this.now()) return false
    this.request(operation, this.begins.get(operation)!)
    return true
  }

  checkGrants(): void {
    for (const operation of this.waiting.keys()) this.toAsk.add(operation)
  }

  waitsAt(operation: Operation): LimiterId | undefined {
    return this.waiting.has(operation) ? limiterOf(operation.limit!.limiter) : undefined
  }

  permitOf(operation: Operation): { gate: LimiterId; holder: string } | undefined {
    const permit = this.permits.get(operation.id)
    return permit && { gate: permit.limiter, holder: permit.holder }
  }

  async sendRequests(): Promise<void> {
    const operations = [...this.toAsk].filter((operation) => !operation.settled && this.waiting.has(operation))
    this.toAsk = new Set()
    await Promise.all(operations.map((operation) => this.lookUp(operation)))
    for (const operation of operations) if (!this.permits.has(operation.id)) this.askFor(operation)
  }

  /** A request of an earlier visit, or one that was queued by this one: where does it stand? */
  private async lookUp(operation: Operation): Promise<void> {
    const permit = this.permits.get(operation.id)
    if (!permit) return
    if (!isSameLimiter(permit.limiter, operation.limit!.limiter)) return this.release(operation, 'and ask again')
    const { store } = this.visit.world
    const { granted } = permit
    if (granted && granted.at <= this.now()) {
      // Its part of the rate was for another time.
      const isLate = granted.until !== undefined && granted.until < this.now()
      const renewed = isLate ? await this.renew(operation, permit, granted.at) : granted
      return renewed
        ? this.begin(operation, { ...permit, granted: { ...granted, ...renewed } })
        : this.release(operation, 'and ask again')
    }
    // A runner that died may have got a slot without having been in the queue.
    const standing = await store.standing(
      permit.limiter,
      this.entryOf(operation, permit),
      !permit.isKnown && this.visit.claimed.recovered,
    )
    permit.isKnown = true
    if (standing === 'queued') delete permit.granted
    else if (standing === 'unknown') this.release(operation, 'and ask again')
    else this.begin(operation, { ...permit, granted: standing.permit })
  }

  private async renew(
    operation: Operation,
    permit: Permit,
    grantedFor: number,
  ): Promise<Omit<GrantedPermit, 'holder'> | undefined> {
    const entry = this.entryOf(operation, permit)
    const { world, run } = this.visit
    const renewed = await world.store.renewRate(permit.limiter, entry, run.epoch, grantedFor, latestStart(this.visit))
    if (renewed) this.staysUntil = Math.max(this.staysUntil, renewed.at)
    return renewed
  }

  private begin(operation: Operation, permit: Permit): void {
    const granted = permit.granted!
    this.permits.set(operation.id, permit)
    const now = this.now()
    // The next look renews its part of the rate.
    if (granted.until !== undefined && granted.until < now) return void this.toAsk.add(operation)
    const begin = this.waiting.get(operation)
    if (granted.at > now) return begin?.(granted.at)
    this.waiting.delete(operation)
    const { limiter, order, isQueued } = permit
    if (isQueued && operation.kind === 'step')
      this.visit.buffer.addAside({ type: 'step.admitted', id: operation.id, ...limiter, order })
    // A rate counts every begin: the entry is gone before, so that the runner after a crash takes another part of the rate. A slot is
    // the same one for that runner, so the step need not wait for its entry to leave the queue.
    if (isQueued && granted.until !== undefined) this.confirm(permit)
    if (operation.kind === 'task') {
      this.journalTask(operation, limiter, order)
      this.begun(operation)
    }
    begin?.(granted.at)
  }

  /** A task that is handed out holds its permit while its run stands still; a replay has to know which. */
  private journalTask(operation: Operation, limiter: LimiterId, order: number): void {
    const event = { type: 'task.admitted' as const, id: operation.id, ...limiter, order }
    this.visit.buffer.add(event)
    operation.learn(event)
  }

  /** The journal first, and then the limiter: with the next commit. */
  private askFor(operation: Operation): void {
    const { run, buffer } = this.visit
    const { limiter, spec, cost } = operation.limit!
    const nth = (operation.facts?.permits ?? 0) + 1
    const order = operation.facts?.until ?? operation.limit!.calledAt
    const event = {
      type: operation.kind === 'task' ? ('task.queued' as const) : ('step.queued' as const),
      id: operation.id,
      ...limiter,
      order,
      nth,
    }
    buffer.add(event)
    operation.learn(event)
    this.toAsk.delete(operation)
    const permit: Permit = {
      limiter,
      holder: holderOf(run, idempotencyKey(run, operation.id), nth),
      order,
      isKnown: true,
      isQueued: true,
    }
    this.permits.set(operation.id, permit)
    buffer.send({
      kind: 'acquire',
      limiter,
      spec: spec as LimitSpec,
      entry: { ...this.entryOf(operation, permit), cost },
    })
  }

  private entryOf(operation: Operation, { holder, order }: Permit): QueueEntry {
    return { run: this.visit.run.id, holder, cost: operation.limit!.cost, holds: true, lane: '', order }
  }

  granted(permits: readonly GrantedPermit[]): void {
    for (const [operation] of this.waiting) {
      const permit = this.permits.get(operation.id)
      const found = permit && permits.find(({ holder }) => holder === permit.holder)
      if (!found) continue
      const { holder: _, isQueued = false, ...granted } = found
      this.begin(operation, { ...permit, granted, isQueued })
    }
  }

  release(operation: Operation, how?: 'and ask again'): void {
    const permit = this.permits.get(operation.id)
    if (how) this.toAsk.add(operation)
    else {
      this.waiting.delete(operation)
      this.begins.delete(operation)
      this.toAsk.delete(operation)
    }
    const cooldownMs = this.cooldowns.get(operation)
    this.cooldowns.delete(operation)
    if (!permit) return
    this.permits.delete(operation.id)
    this.visit.buffer.send({ ...releaseOf(permit), ...(cooldownMs !== undefined && { cooldownMs }) })
  }

  releaseAll(into: FrameBuffer, except?: 'begun elsewhere'): void {
    for (const [op, permit] of this.permits) {
      const operation = this.visit.replay.operations.get(op)
      const isElsewhere = operation?.kind === 'task' && operation.facts?.isHandedOut === true && !operation.settled
      if (except && (isElsewhere || (!operation && this.isOfTask(op)))) continue
      into.send(releaseOf(permit))
      this.permits.delete(op)
    }
  }

  /** Before the code has run, only the journal knows what an operation is. */
  private isOfTask(op: string): boolean {
    const facts = this.visit.journal.facts.get(op)
    return facts?.kind === 'task' && facts.isHandedOut === true
  }

  leaveQueues(): void {
    for (const operation of this.waiting.keys())
      if (this.permits.has(operation.id)) this.release(operation, 'and ask again')
  }

  coolDown(operation: Operation, limit: LimitOfStep, ms: number): void {
    const { name, key, spec } = limit as Limit
    const { limiter } = operation.limit ?? {}
    const isOwn = limiter?.limit === name && (key === undefined || key === limiter.key)
    // Said with the release, so that nothing is granted in between.
    if (isOwn) this.cooldowns.set(operation, ms)
    if (isOwn && key === limiter.key) return
    const { buffer } = this.visit
    if (key === undefined) buffer.send({ kind: 'coolDown', limit: name, spec, ms })
    else
      buffer.send({
        kind: 'release',
        limiter: { limit: name, key },
        holder: '',
        lane: '',
        order: 0,
        mayHold: false,
        cooldownMs: ms,
      })
  }

  private now(): number {
    return this.visit.world.clock.now()
  }
}

/** A start that was late once is held in its process for the next time: another wake-up might be as late. */
export const latestStart = (visit: Visit): number =>
  visit.world.clock.now() + Math.min(WAIT_HERE_MS, visit.timeLeft() / 2)

function releaseOf({ granted, isQueued, ...permit }: Permit) {
  const slot = granted?.slot === undefined ? {} : { slot: granted.slot }
  // Without a slot and a place in the queue it took part of a rate, and nothing can be given back.
  return {
    ...released(permit),
    isQueued,
    ...slot,
    mayHold: isQueued || granted?.slot !== undefined || granted === undefined,
  }
}
