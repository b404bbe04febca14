import { EMPTY, type GateState, sinceOf } from '../flow/gate.ts'
import type { Limit, LimitSpec } from '../flow/limit.ts'
import { type GateId, gateKey, gateOf, gatesOf, holderOf, isOfStep, isSameGate, lineOf, runOf, type Ticket } from '../flow/line.ts'
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
  /** Let in, and not yet out again. */
  private readonly inside = new Set<Operation>()
  /** Operations to ask for; those that were told to wait are asked for again when somebody has said so. */
  private toAsk = new Set<Operation>()
  /** Known to stand in line: their gate is looked at, and nothing else. */
  private readonly inLine = new Set<Operation>()
  /** What they were when the run was last given up says nothing of the next attempt. */
  private readonly wanted = new Set<Operation>()
  private readonly recovered: boolean
  private readonly toAttend: GateId[] = []

  constructor(world: World, replay: Replay, buffer: FrameBuffer, recovered: boolean) {
    this.recovered = recovered
    this.world = world
    this.replay = replay
    this.buffer = buffer
  }

  /** `letIn` is called once it is known when that is. What the journal says of an earlier visit is asked again: its end, a pause or people may have come in between. */
  want(operation: Operation, letIn: (at: number) => void): void {
    const { admitted } = operation.facts ?? {}
    // Those behind it were told to wait for it.
    if (admitted?.notBefore !== undefined) this.toAttend.push(gateOf(admitted))
    const former = this.wanted.has(operation) ? undefined : this.formerOf(operation)
    this.wanted.add(operation)
    if (former && !isSameGate(former.gate, operation.limit!.gate)) this.leaveGate(operation, former.gate)
    else if (former && !former.isLeft && !this.recovered) this.inLine.add(operation)
    this.waiting.set(operation, letIn)
    this.toAsk.add(operation)
  }

  /** It is inside since an earlier visit. */
  goOn(operation: Operation): void {
    this.inside.add(operation)
  }

  /** Where it stood in line when the run was last given up. */
  private formerOf({ id }: Operation): { gate: GateId; isLeft: boolean } | undefined {
    const { on, key, isLeft, until } = this.replay.run.waitingFor?.find((waiting) => waiting.kind === 'limit' && waiting.id === id) ?? {}
    return on === undefined ? undefined : { gate: gateOf({ limit: on, key }), isLeft: isLeft === true || until !== undefined }
  }

  private leaveGate(operation: Operation, gate: GateId): void {
    this.buffer.send({ ...leavingLimit(this.replay.run, { id: operation.id, order: this.orderOf(operation), ...gate }), isInLine: true })
  }

  /** A runner that died may not have said that these are not wanted any more. */
  leaveEnded(): void {
    for (const { kind, id, on, key } of this.replay.run.waitingFor ?? []) {
      const operation = kind === 'limit' && on !== undefined ? this.replay.operations.get(id) : undefined
      if (operation?.settled && operation.limit) this.leaveGate(operation, gateOf({ limit: on!, key }))
    }
  }

  /** The run ends, or is paused: nothing of it stands in line, and nothing is inside that has not begun. */
  leaveAll(): void {
    for (const operation of [...this.waiting.keys(), ...this.inside]) if (this.waiting.has(operation) || operation.kind === 'step') this.leave(operation)
  }

  /** The run is paused, and something of it goes on: meanwhile others are to have the turns of those in line, who ask again then. */
  stepBack(): void {
    for (const operation of this.inLine) {
      this.leaveGate(operation, operation.limit!.gate)
      this.toAsk.add(operation)
    }
    this.inLine.clear()
  }

  /** Whatever has ended, or is not wanted any more, leaves with the commit that says so. */
  leaveSettled(restOf: (operation: Operation) => number | undefined): void {
    for (const operation of this.waiting.keys()) if (operation.settled) this.leave(operation, restOf(operation))
    for (const operation of this.inside) if (operation.settled) this.leave(operation, restOf(operation))
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
    const before = new Set(this.inLine)
    await this.lookForTurns(operations.filter((operation) => before.has(operation)))
    for (const operation of operations) {
      if (operation.settled || this.inLine.has(operation) || !this.waiting.has(operation)) continue
      const { gate, spec } = operation.limit!
      const ticket = this.ticketOf(operation)
      const { at, wakes } = await store.enter(gate, ticket, spec, this.replay.run.epoch)
      if (wakes.length > 0) await wakeups.send(wakes)
      if (at !== undefined) this.letIn(operation, ticket.order, at)
      else this.inLine.add(operation)
    }
    // Whoever is inside may be of this run, and nobody's any more.
    await this.lookForTurns(operations.filter((operation) => this.inLine.has(operation) && !before.has(operation)))
    if (this.toAttend.length > 0) await wakeups.send(await store.attend(this.toAttend.splice(0)))
  }

  /** One look at each gate, however many of this run are in its line. */
  private async lookForTurns(operations: readonly Operation[]): Promise<void> {
    const gates = new Map(operations.map(({ limit }) => [lineOf(limit!.gate), limit!.gate]))
    for (const [line, gate] of gates) {
      const found = await this.world.documents.get(gatesOf(gate.limit), gateKey(gate))
      const state = (found?.value as unknown as GateState | undefined) ?? EMPTY
      this.leaveUnknown(gate, state)
      for (const operation of operations) {
        if (operation.settled || lineOf(operation.limit!.gate) !== line) continue
        const { holder, order } = this.ticketOf(operation)
        const at = sinceOf(state, holder)
        if (at !== undefined) this.letIn(operation, order, at)
      }
    }
  }

  /** A runner that should have been dead may have put something into the line that has ended since. */
  private leaveUnknown(gate: GateId, { holders }: GateState): void {
    const { run, operations } = this.replay
    const mine = Object.keys(holders).filter((holder) => isOfStep(holder) && runOf(holder) === run.id)
    if (mine.length === 0) return
    const wanted = new Set([...operations.values()].flatMap(({ id, limit, settled }) => (limit && !settled ? [holderOf(run, idempotencyKey(run, id))] : [])))
    for (const holder of mine) if (!wanted.has(holder)) this.buffer.send({ kind: 'leave', gate, holder, lane: '', order: 0 })
  }

  /** It has ended, or its attempt has, or nobody wants it any more. `restMs`: whoever is behind the limit asked for a rest. */
  leave(operation: Operation, restMs?: number): void {
    const { admitted } = operation.facts ?? {}
    const isWaiting = this.waiting.delete(operation)
    this.inLine.delete(operation)
    this.inside.delete(operation)
    if (!admitted && !isWaiting) return
    const { gate } = operation.limit ?? { gate: gateOf(admitted!) }
    const place = { id: operation.id, order: admitted?.order ?? this.orderOf(operation), ...(admitted ? gateOf(admitted) : gate) }
    this.buffer.send({ ...leavingLimit(this.replay.run, place), isInLine: isWaiting, ...(restMs !== undefined && { restMs }) })
  }

  /** Whoever is behind a limit needs a rest: all of it, or one key. */
  rest({ name, key, spec }: Limit, ms: number): void {
    if (key === undefined) this.buffer.send({ kind: 'rest', limit: name, spec, ms })
    else this.buffer.send({ kind: 'leave', gate: { limit: name, key }, holder: '', lane: '', order: 0, restMs: ms })
  }

  private letIn(operation: Operation, order: number, at: number): void {
    const { gate } = operation.limit!
    const letIn = this.waiting.get(operation)
    this.waiting.delete(operation)
    this.inLine.delete(operation)
    this.inside.add(operation)
    const isLater = at > this.world.clock.now()
    const type = operation.kind === 'task' ? 'task.admitted' : 'step.admitted'
    const event: EventOf<'step.admitted' | 'task.admitted'> = { type, id: operation.id, ...gate, order, ...(isLater && { notBefore: at }) }
    const { admitted } = operation.facts ?? {}
    // Its time has come, or is still to come, or its runner has died: the journal has it already.
    if (!admitted || !isSameGate(admitted, gate) || (isLater && admitted.notBefore !== at)) {
      this.buffer.add(event)
      operation.learn(event)
    }
    letIn?.(at)
  }

  private ticketOf(operation: Operation): Ticket {
    const { run } = this.replay
    return {
      run: run.id,
      holder: holderOf(run, idempotencyKey(run, operation.id)),
      cost: operation.limit!.cost,
      holds: true,
      lane: '',
      order: this.orderOf(operation),
    }
  }

  /** The same in every replay: when the code called for it, or when its next attempt was due. */
  private orderOf({ facts, limit }: Operation): number {
    return facts?.until ?? limit!.calledAt
  }
}
