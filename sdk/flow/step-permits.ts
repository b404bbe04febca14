import { idempotencyKey } from '../base/names.ts'
import type { LimitOfStep, Permits } from '../engine/flow-port.ts'
import type { FrameBuffer } from '../engine/frame-buffer.ts'
import type { Operation } from '../engine/operation.ts'
import type { Visit } from '../engine/visit.ts'
import type { GrantedPermit, Standing } from '../ports/permits.ts'
import type { Limit, LimitSpec } from './limiter/limit.ts'
import { isSameLimiter, type LimiterId, limiterOf } from './limiter/limiter.ts'
import { openPermits } from './limiter/permit-log.ts'
import { holderOf, type QueueEntry } from './limiter/queue.ts'
import { WAIT_HERE_MS } from './limiter/rate.ts'
import { releaseOf, releasesToRepeat } from './limiter/releases.ts'

type Grant = Omit<GrantedPermit, 'holder' | 'isQueued'>

/**
 * What this visit knows of a permit. `unknown`: an earlier visit requested it; it may be queued, granted or gone.
 * `granted`: it has a slot or a part of a rate, and its entry may still be in the queue.
 */
type PermitState = { is: 'unknown' | 'queued' } | { is: 'granted'; grant: Grant; hasEntry: boolean }

/** A permit that the run may hold, or has requested. */
interface Permit {
  limiter: LimiterId
  holder: string
  order: number
  state: PermitState
}

/** What an operation wants of its limiter. */
interface Request {
  begin: (at: number) => void
  /** It has no permit yet that it may use. */
  isWaiting: boolean
  /** The service behind the limit asked for a cooldown. The release passes it on. */
  cooldownMs?: number
}

/**
 * The permits of the steps and tasks of one visit. Each request is journaled before it is made, so `permits` has what
 * the journal says and what this visit has added: everything that the run may hold is in it.
 */
export class StepPermits implements Permits {
  private readonly visit: Visit
  private readonly permits = new Map<string, Permit>()
  private readonly requests = new Map<Operation, Request>()
  /** Requests to make, or to look up. */
  private toSend = new Set<Operation>()
  staysUntil = 0

  constructor(visit: Visit) {
    this.visit = visit
    const { run, claimed, journal } = visit
    if (!journal.hasPermits) return
    const events = claimed.frames.flatMap((frame) => frame.events)
    for (const { op, ...permit } of openPermits(run, events))
      this.permits.set(op, { ...permit, state: { is: 'unknown' } })
    if (!claimed.recovered) return
    // A runner that died behind a frame may not have released the permits that the frame gives up.
    for (const release of releasesToRepeat(run, claimed.frames, claimed.lastGoodEpoch)) visit.buffer.send(release)
  }

  get hasRequests(): boolean {
    return this.toSend.size > 0
  }

  keep(operation: Operation): void {
    operation.onSettled = () => this.release(operation)
  }

  request(operation: Operation, begin: (at: number) => void): void {
    this.keep(operation)
    this.requests.set(operation, { begin, isWaiting: true })
    this.toSend.add(operation)
  }

  /** Requests behind a reservation wait for it to begin: its owner has them dispatched, with its next commit. */
  begun(operation: Operation): void {
    const permit = this.permits.get(operation.id)
    if (permit?.state.is !== 'granted') return
    const { grant, hasEntry } = permit.state
    if (hasEntry) this.confirm(permit, grant)
    if (grant.until === undefined) return
    this.visit.buffer.send({ kind: 'dispatchNext', limiter: permit.limiter, holder: permit.holder })
  }

  /** Removes its entry from the queue. */
  private confirm(permit: Permit, grant: Grant): void {
    const { limiter, holder, order } = permit
    this.visit.buffer.send({ kind: 'confirm', limiter, entry: { holder, order, lane: '' } })
    permit.state = { is: 'granted', grant, hasEntry: false }
  }

  isLate(operation: Operation): boolean {
    const state = this.permits.get(operation.id)?.state
    if (state?.is !== 'granted' || !this.hasExpired(state.grant)) return false
    this.request(operation, this.requests.get(operation)!.begin)
    return true
  }

  checkGrants(): void {
    for (const [operation, { isWaiting }] of this.requests) if (isWaiting) this.toSend.add(operation)
  }

  waitsAt(operation: Operation): LimiterId | undefined {
    return this.requests.get(operation)?.isWaiting ? limiterOf(operation.limit!.limiter) : undefined
  }

  permitOf(operation: Operation): { gate: LimiterId; holder: string } | undefined {
    const permit = this.permits.get(operation.id)
    return permit && { gate: permit.limiter, holder: permit.holder }
  }

  async sendRequests(): Promise<void> {
    const waiting = [...this.toSend].filter((one) => !one.settled && this.requests.get(one)?.isWaiting)
    this.toSend = new Set()
    const toLookUp: [Operation, Permit][] = []
    const toUse: Promise<void>[] = []
    for (const operation of waiting) {
      const permit = this.permits.get(operation.id)
      if (!permit) continue
      // The code asks another limiter now than the journal says.
      if (!isSameLimiter(permit.limiter, operation.limit!.limiter)) this.release(operation, 'and request again')
      else if (permit.state.is === 'granted' && permit.state.grant.at <= this.now())
        toUse.push(this.use(operation, permit, permit.state.grant))
      else toLookUp.push([operation, permit])
    }
    const limiters = Map.groupBy(toLookUp, ([, { limiter }]) => JSON.stringify([limiter.limit, limiter.key]))
    await Promise.all([...toUse, ...[...limiters.values()].map((requests) => this.lookUp(requests))])
    for (const operation of waiting) if (!this.permits.has(operation.id)) this.requestNew(operation)
  }

  /** Begins with a permit that is at hand. One whose part of the rate was for another time takes another part. */
  private async use(operation: Operation, permit: Permit, grant: Grant): Promise<void> {
    const renewed = this.hasExpired(grant) ? await this.renew(operation, permit, grant.at) : grant
    if (renewed) this.begin(operation, permit, { ...grant, ...renewed })
    else this.release(operation, 'and request again')
  }

  /**
   * Where requests of one limiter stand that are in its queue, or were requested by an earlier visit: one read for
   * all.
   */
  private async lookUp(requests: readonly [Operation, Permit][]): Promise<void> {
    const { world, claimed } = this.visit
    const pending = requests.map(([operation, permit]) => ({
      entry: this.entryOf(operation, permit),
      // A runner that died may have got a slot without having been in the queue.
      mayHaveSlot: permit.state.is === 'unknown' && claimed.recovered,
    }))
    const standings = await world.store.standings(requests[0]![1].limiter, pending)
    for (const [i, [operation, permit]] of requests.entries()) this.goBy(standings[i]!, operation, permit)
  }

  private goBy(standing: Standing, operation: Operation, permit: Permit): void {
    if (standing === 'queued') permit.state = { is: 'queued' }
    else if (standing === 'unknown') this.release(operation, 'and request again')
    else this.begin(operation, permit, standing.permit, true)
  }

  private async renew(operation: Operation, permit: Permit, grantedFor: number): Promise<Grant | undefined> {
    const entry = this.entryOf(operation, permit)
    const { world, run } = this.visit
    const renewed = await world.store.renewRate(permit.limiter, entry, run.epoch, grantedFor, latestStart(this.visit))
    if (renewed) this.staysUntil = Math.max(this.staysUntil, renewed.at)
    return renewed
  }

  private begin(operation: Operation, permit: Permit, grant: Grant, hasEntry = hasEntryOf(permit)): void {
    permit.state = { is: 'granted', grant, hasEntry }
    // The next look takes another part of the rate.
    if (this.hasExpired(grant)) return void this.toSend.add(operation)
    const request = this.requests.get(operation)
    if (grant.at > this.now()) return request?.begin(grant.at)
    if (request) request.isWaiting = false
    const { limiter, order } = permit
    if (hasEntry && operation.kind === 'step')
      this.visit.buffer.addAside({ type: 'step.admitted', id: operation.id, ...limiter, order })
    // A rate counts every begin: the entry is gone before, so that the runner after a crash takes another part of the
    // rate. A slot is the same one for that runner, so the step need not wait for its entry to leave the queue.
    if (hasEntry && grant.until !== undefined) this.confirm(permit, grant)
    if (operation.kind === 'task') {
      this.journalTask(operation, limiter, order)
      this.begun(operation)
    }
    request?.begin(grant.at)
  }

  /** A task that is handed out holds its permit while its run is suspended; a replay has to know which. */
  private journalTask(operation: Operation, limiter: LimiterId, order: number): void {
    const event = { type: 'task.admitted' as const, id: operation.id, ...limiter, order }
    this.visit.buffer.add(event)
    operation.learn(event)
  }

  /** The journal first, and then the limiter: with the next commit. */
  private requestNew(operation: Operation): void {
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
    this.toSend.delete(operation)
    const holder = holderOf(run, idempotencyKey(run, operation.id), nth)
    const permit: Permit = { limiter, holder, order, state: { is: 'queued' } }
    this.permits.set(operation.id, permit)
    const entry = { ...this.entryOf(operation, permit), cost }
    buffer.send({ kind: 'acquire', limiter, spec: spec as LimitSpec, entry })
  }

  private entryOf(operation: Operation, { holder, order }: Permit): QueueEntry {
    return { run: this.visit.run.id, holder, cost: operation.limit!.cost, holds: true, lane: '', order }
  }

  granted(permits: readonly GrantedPermit[]): void {
    const granted = new Map(permits.map(({ holder, ...grant }) => [holder, grant]))
    for (const [operation, { isWaiting }] of this.requests) {
      const permit = isWaiting ? this.permits.get(operation.id) : undefined
      const found = permit && granted.get(permit.holder)
      if (!found) continue
      const { isQueued = false, ...grant } = found
      this.begin(operation, permit, grant, isQueued)
    }
  }

  release(operation: Operation, how?: 'and request again'): void {
    const permit = this.permits.get(operation.id)
    const request = this.requests.get(operation)
    const cooldownMs = request?.cooldownMs
    if (how) {
      this.toSend.add(operation)
      delete request?.cooldownMs
    } else {
      this.requests.delete(operation)
      this.toSend.delete(operation)
    }
    if (!permit) return
    this.permits.delete(operation.id)
    this.visit.buffer.send({ ...releaseOfPermit(permit), ...(cooldownMs !== undefined && { cooldownMs }) })
  }

  releaseAll(into: FrameBuffer, except?: 'begun elsewhere'): void {
    for (const [op, permit] of this.permits) {
      const operation = this.visit.replay.operations.get(op)
      const isElsewhere = operation?.kind === 'task' && operation.facts?.isHandedOut === true && !operation.settled
      if (except && (isElsewhere || (!operation && this.isOfTask(op)))) continue
      into.send(releaseOfPermit(permit))
      this.permits.delete(op)
    }
  }

  /** Before the code has run, only the journal knows what an operation is. */
  private isOfTask(op: string): boolean {
    const facts = this.visit.journal.facts.get(op)
    return facts?.kind === 'task' && facts.isHandedOut === true
  }

  leaveQueues(): void {
    for (const [operation, { isWaiting }] of this.requests)
      if (isWaiting && this.permits.has(operation.id)) this.release(operation, 'and request again')
  }

  coolDown(operation: Operation, limit: LimitOfStep, ms: number): void {
    const { name, key, spec } = limit as Limit
    const { limiter } = operation.limit ?? {}
    const isOwn = limiter?.limit === name && (key === undefined || key === limiter.key)
    const request = this.requests.get(operation)
    // Sent with the release, so that nothing is granted in between.
    if (isOwn && request) request.cooldownMs = ms
    if (isOwn && key === limiter.key) return
    const { buffer } = this.visit
    if (key === undefined) buffer.send({ kind: 'coolDown', limit: name, spec, ms })
    else {
      const nothing = { ...releaseOf({ limiter: { limit: name, key }, holder: '', order: 0 }), state: 'used' as const }
      buffer.send({ ...nothing, cooldownMs: ms })
    }
  }

  /** Its part of the rate was for a time that has passed. */
  private hasExpired({ until }: Grant): boolean {
    return until !== undefined && until < this.now()
  }

  private now(): number {
    return this.visit.world.clock.now()
  }
}

/** A start that was late once is held in its process for the next time: another wake-up might be as late. */
export const latestStart = (visit: Visit): number =>
  visit.world.clock.now() + Math.min(WAIT_HERE_MS, visit.timeLeft() / 2)

const hasEntryOf = ({ state }: Permit): boolean => state.is !== 'granted' || state.hasEntry

function releaseOfPermit(permit: Permit) {
  const { state } = permit
  if (state.is !== 'granted' || state.hasEntry) {
    const slot = state.is === 'granted' ? state.grant.slot : undefined
    return { ...releaseOf(permit), ...(slot !== undefined && { slot }) }
  }
  const { slot } = state.grant
  // Without a slot it took part of a rate, and nothing can be given back.
  if (slot === undefined) return { ...releaseOf(permit), state: 'used' as const }
  return { ...releaseOf(permit), state: 'held' as const, slot }
}
