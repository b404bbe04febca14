import type { LimitSpec } from '../flow/limit.ts'
import type { GateId, Ticket } from '../flow/line.ts'
import type { World } from '../ports.ts'
import { leavingLimit } from './ending.ts'
import type { EventOf } from './events.ts'
import type { FrameBuffer } from './frame-buffer.ts'
import { idempotencyKey } from './names.ts'
import type { Operation } from './operation.ts'
import type { Replay } from './replay.ts'

/** What an operation has to be let in to. */
export interface LimitRequest {
  gate: GateId
  spec: LimitSpec
  cost: number
  /** The time of the run when the code called for it. */
  calledAt: number
}

/** Steps and tasks that wait for their turn at a limit. Being let in is journaled, so that whoever ends the run knows what it has to leave. */
export class Passes {
  private readonly world: World
  private readonly replay: Replay
  private readonly buffer: FrameBuffer
  private readonly waiting = new Map<Operation, (at: number) => void>()
  /** Operations to ask for; those that were told to wait are asked for again when somebody has said so. */
  private toAsk = new Set<Operation>()
  private readonly toAttend: GateId[] = []

  constructor(world: World, replay: Replay, buffer: FrameBuffer) {
    this.world = world
    this.replay = replay
    this.buffer = buffer
  }

  /** `letIn` is called once it is known when that is. */
  want(operation: Operation, letIn: (at: number) => void): void {
    const { admitted } = operation.facts ?? {}
    if (admitted) {
      // Those behind it were told to wait for it.
      if (admitted.notBefore !== undefined) this.toAttend.push(gateOf(admitted))
      return letIn(admitted.notBefore ?? 0)
    }
    this.leaveFormer(operation)
    this.waiting.set(operation, letIn)
    this.toAsk.add(operation)
  }

  /** The code has another limit for it than when it was put in line. */
  private leaveFormer(operation: Operation): void {
    const { limit, key } = operation.limit!.gate
    const former = this.replay.run.waitingFor?.find((waiting) => waiting.kind === 'limit' && waiting.id === operation.id)
    if (!former?.on || (former.on === limit && former.key === key)) return
    const gate = { limit: former.on, ...(former.key !== undefined && { key: former.key }) }
    this.buffer.send({ ...leavingLimit(this.replay.run, { id: operation.id, order: this.orderOf(operation), ...gate }), isInLine: true })
  }

  /** The run goes on without those that stand in line. */
  leaveAll(): void {
    for (const operation of this.waiting.keys()) this.leave(operation)
  }

  get areWanted(): boolean {
    return this.toAsk.size > 0 || this.toAttend.length > 0
  }

  /** The limit that it stands in line for. */
  lineOf(operation: Operation): GateId | undefined {
    return this.waiting.has(operation) ? operation.limit!.gate : undefined
  }

  /** Something has come from outside: it may be a turn. */
  askAgain(): void {
    for (const operation of this.waiting.keys()) this.toAsk.add(operation)
  }

  /** Only after a commit (I3): who asks for a turn must be here to take it. */
  async obtain(): Promise<void> {
    const { store, wakeups } = this.world
    const operations = [...this.toAsk]
    this.toAsk = new Set()
    for (const operation of operations) {
      if (operation.settled) continue
      const { gate, spec } = operation.limit!
      const ticket = this.ticketOf(operation)
      const { at, wakes } = await store.enter(gate, ticket, spec)
      if (wakes.length > 0) await wakeups.send(wakes)
      if (at !== undefined) this.letIn(operation, ticket.order, at)
    }
    if (this.toAttend.length > 0) await wakeups.send(await store.attend(this.toAttend.splice(0)))
  }

  /** It has ended, or its attempt has, or nobody wants it any more. `restMs`: whoever is behind the limit asked for a rest. */
  leave(operation: Operation, restMs?: number): void {
    const { admitted } = operation.facts ?? {}
    const isWaiting = this.waiting.delete(operation)
    if (!admitted && !isWaiting) return
    const { gate } = operation.limit ?? { gate: gateOf(admitted!) }
    const place = { id: operation.id, order: admitted?.order ?? this.orderOf(operation), ...(admitted ? gateOf(admitted) : gate) }
    this.buffer.send({ ...leavingLimit(this.replay.run, place), isInLine: isWaiting, ...(restMs !== undefined && { restMs }) })
  }

  /** Those that a race went on without do not stand in line any more. */
  dropWithdrawn(): void {
    for (const operation of this.waiting.keys()) if (operation.settled) this.leave(operation)
  }

  /** Somebody who is not at that limit has been told that it needs a rest. */
  rest(gate: GateId, restMs: number): void {
    this.buffer.send({ kind: 'leave', gate, holder: '', lane: '', order: 0, restMs })
  }

  private letIn(operation: Operation, order: number, at: number): void {
    const { gate } = operation.limit!
    const letIn = this.waiting.get(operation)
    this.waiting.delete(operation)
    const isLater = at > this.world.clock.now()
    const type = operation.kind === 'task' ? 'task.admitted' : 'step.admitted'
    const event: EventOf<'step.admitted' | 'task.admitted'> = { type, id: operation.id, ...gate, order, ...(isLater && { notBefore: at }) }
    this.buffer.add(event)
    operation.learn(event)
    letIn?.(at)
  }

  private ticketOf(operation: Operation): Ticket {
    const { run } = this.replay
    return { run: run.id, holder: idempotencyKey(run, operation.id), cost: operation.limit!.cost, holds: true, lane: '', order: this.orderOf(operation) }
  }

  /** The same in every replay: when the code called for it, or when its next attempt was due. */
  private orderOf({ facts, limit }: Operation): number {
    return facts?.until ?? limit!.calledAt
  }
}

const gateOf = ({ limit, key }: { limit: string; key?: string }): GateId => ({ limit, ...(key !== undefined && { key }) })
