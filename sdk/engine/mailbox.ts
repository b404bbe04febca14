import type { Message, RunRecord, World } from '../ports.ts'
import { type Schema, validate } from '../schema.ts'
import { isRequest } from '../workflow.ts'
import { asError, ChildRunError, InvalidInputError, recordError, reviveError } from './errors.ts'
import type { Delivery } from './events.ts'
import type { FrameBuffer } from './frame-buffer.ts'
import type { Json } from './json.ts'
import type { Operation, Request } from './operation.ts'
import type { Replay } from './replay.ts'
import { outgoingReply } from './requests.ts'
import { decode, encode } from './values.ts'

type SignalMessage = Extract<Message, { kind: 'signal' }>
type OtherMessage = Exclude<Message, { kind: 'signal' }>
type Answer = Extract<Message, { op: string }>

/** What reaches a run from outside, and what becomes of it: each message turns into a delivery, waits, or is dropped. */
export class Mailbox {
  private readonly run: RunRecord
  private readonly replay: Replay
  private readonly buffer: FrameBuffer
  private readonly warn: (message: string, fields: Record<string, unknown>) => void
  private readonly sleepToSkip: () => Operation | undefined
  private readonly signalWaits = new Map<string, Operation[]>()
  private readonly signals = new Map<string, SignalMessage[]>()
  private readonly others: OtherMessage[] = []
  private readonly known = new Set<string>()
  /** Set when there may be a match that was not tried yet. */
  private unmatched = false

  constructor(world: World, replay: Replay, buffer: FrameBuffer, sleepToSkip: () => Operation | undefined) {
    this.replay = replay
    this.run = replay.run
    this.buffer = buffer
    this.sleepToSkip = sleepToSkip
    this.warn = (message, fields) => world.log('warn', message, { runId: this.run.id, workflow: this.run.workflow, ...fields })
  }

  get hasUnmatched(): boolean {
    return this.unmatched
  }

  /** Takes new messages in; those that the journal or this run has already are skipped. */
  receive(messages: readonly Message[]): void {
    for (const message of messages) {
      if (this.known.has(message.id)) continue
      this.known.add(message.id)
      if (this.replay.journal.consumed.has(message.id)) {
        this.buffer.consume(message.id)
        continue
      }
      this.unmatched = true
      if (message.kind !== 'signal') this.others.push(message)
      else if (this.signals.has(message.name)) this.signals.get(message.name)!.push(message)
      else this.signals.set(message.name, [message])
    }
  }

  /** For what is known without asking anybody: a child that cannot be started, a task that nobody would take. */
  receiveOwn(message: Answer): void {
    this.others.push(message)
    this.unmatched = true
  }

  /** An operation has been opened that a message may be for. */
  look(): void {
    if (this.others.length > 0) this.unmatched = true
  }

  awaitSignal(name: string, operation: Operation): void {
    const waits = this.signalWaits.get(name)
    if (waits) waits.push(operation)
    else this.signalWaits.set(name, [operation])
    if (this.signals.size > 0) this.unmatched = true
  }

  isAnswered(op: string): boolean {
    return this.others.some((message) => 'op' in message && message.op === op)
  }

  async next(): Promise<Delivery | undefined> {
    for (const [index, message] of this.others.entries()) {
      const delivery = await this.fromMessage(message)
      if (delivery === 'keep') continue
      if (delivery !== 'skips a sleep') {
        this.others.splice(index, 1)
        this.buffer.consume(message.id)
      }
      if (delivery === 'drop') return this.next()
      return delivery === 'skips a sleep' ? { type: 'sleep.completed', id: this.sleepToSkip()!.id, skippedBy: message.id } : delivery
    }
    for (const [name, queue] of this.signals) {
      const delivery = await this.fromSignals(name, queue)
      if (delivery) return delivery
    }
    this.unmatched = false
    return undefined
  }

  private async fromMessage(message: OtherMessage): Promise<Delivery | 'keep' | 'drop' | 'skips a sleep'> {
    if (message.kind === 'cancel') return { type: 'run.cancelRequested', from: message.id, ...(message.reason !== undefined && { reason: message.reason }) }
    // One message skips every sleep the run is in; each becomes a delivery of its own.
    if (message.kind === 'wake') return this.sleepToSkip() ? 'skips a sleep' : 'drop'
    if (message.kind === 'child') {
      const operation = this.waitingFor(message)
      return operation ? this.fromAnswer(operation, message) : 'drop'
    }
    // A callback or task of an earlier generation may bear the name of one of this generation.
    if (message.generation !== this.run.generation) return 'drop'
    const operation = this.replay.operations.get(message.op)
    if (!operation) return 'keep'
    return operation.settled ? 'drop' : this.fromAnswer(operation, message)
  }

  /**
   * The journal says which child a call waits for, whatever the code would call it today. A child with an id of its own
   * may have been started by an earlier generation, for another call: what counts is which run it is.
   */
  private waitingFor({ run, op }: Extract<Message, { kind: 'child' }>): Operation | undefined {
    const called = this.replay.operations.get(op)
    if (called && !called.settled && (childOf(called) ?? run) === run) return called
    for (const operation of this.replay.operations.values()) if (!operation.settled && childOf(operation) === run) return operation
    return undefined
  }

  private async fromAnswer(operation: Operation, message: Answer): Promise<Delivery | 'drop'> {
    const { id } = operation
    switch (message.kind) {
      case 'task': {
        const { result, attempt, iteration } = message
        return { type: 'task.completed', id, ...(result !== undefined && { result }), ...(attempt > 1 && { attempt }), ...(iteration > 0 && { iteration }) }
      }
      case 'task.failed':
        // Given up before an operator let the run go on: another worker is at it.
        if (message.round < this.replay.journal.retries) return 'drop'
        return { type: 'task.failed', id, attempt: message.attempt, error: message.error }
      case 'child': {
        if (message.status === 'completed') return { type: 'child.completed', id, result: message.result }
        const cause = message.error && reviveError(message.error)
        return { type: 'child.failed', id, error: recordError(new ChildRunError(message.run, message.status, cause)) }
      }
      case 'callback.failed':
        return { type: 'callback.failed', id, error: message.error }
      case 'callback':
        return this.fromCallback(operation, message)
    }
  }

  private async fromCallback(operation: Operation, { id: from, result }: Extract<Message, { kind: 'callback' }>): Promise<Delivery | 'drop'> {
    const { id, request } = operation
    const { schema } = request as Extract<Request, { kind: 'callback' }>
    const fitted = await fitting(schema, result, `the result of callback '${id}'`)
    if (fitted.ok) return { type: 'callback.completed', id, ...(fitted.json !== undefined && { result: fitted.json }) }
    const { reason } = fitted
    this.buffer.add({ type: 'callback.rejected', id, from, reason })
    // Why may quote what was sent, which is no business of logs.
    this.warn(`what came for callback '${id}' does not fit its schema and was set aside; the history says why`, { callback: id })
    return 'drop'
  }

  private async fromSignals(name: string, queue: SignalMessage[]): Promise<Delivery | undefined> {
    while (queue.length > 0) {
      const operation = this.nextWaitFor(name)
      if (!operation) return undefined
      const message = queue.shift()!
      this.buffer.consume(message.id)
      const { signal } = operation.request as Extract<Request, { kind: 'wait' }>
      const kind = isRequest(signal) ? 'request' : 'signal'
      const fitted = await fitting(signal.schema, message.payload, `${kind} '${name}'`)
      if (fitted.ok && message.asks && kind === 'signal') this.refuse(operation, message, `the run takes '${name}' as a signal, to which there is no reply`)
      if (fitted.ok) return { type: 'wait.completed', id: operation.id, from: message.id, ...(fitted.json !== undefined && { payload: fitted.json }) }
      const { reason } = fitted
      this.buffer.add({ type: 'signal.rejected', id: operation.id, from: message.id, reason })
      if (kind === 'request') this.refuse(operation, message, reason)
      this.warn(`${kind} '${name}' does not fit its schema and was set aside; the history says why`, { signal: name, message: message.id })
    }
    return undefined
  }

  /** Whoever asked hears why nobody will look at it. */
  private refuse({ id }: Operation, { id: to }: SignalMessage, message: string): void {
    const event = { type: 'request.refused' as const, id, to, error: { name: 'InvalidInputError', message } }
    this.buffer.add(event)
    this.buffer.send(outgoingReply(event))
  }

  /**
   * The wait that was opened last: one before it may be the loser of a race that nobody listens to any more. Waits that
   * were opened in the same breath are served in their order.
   */
  private nextWaitFor(name: string): Operation | undefined {
    const open = (this.signalWaits.get(name) ?? []).filter((operation) => !operation.settled)
    this.signalWaits.set(name, open)
    const latest = open.at(-1)?.turn
    return open.find(({ turn }) => turn === latest)
  }
}

/** Which child an operation waits for; undefined where none was started. */
function childOf({ facts }: Operation): string | undefined {
  return facts?.opened?.type === 'child.started' ? facts.opened.run : undefined
}

/** What a schema makes of something that was sent, as the journal keeps it; or why it cannot be taken. */
async function fitting(
  schema: Schema | undefined,
  sent: Json | undefined,
  what: string,
): Promise<{ ok: true; json: Json | undefined } | { ok: false; reason: string }> {
  if (!schema) return { ok: true, json: sent }
  const checked = await validate(schema, decode(sent))
  if (!checked.ok) return { ok: false, reason: new InvalidInputError(`${what} does not fit its schema`, checked.problems).message }
  try {
    return { ok: true, json: encode(checked.value, `what its schema makes of ${what}`) }
  } catch (error) {
    return { ok: false, reason: asError(error).message }
  }
}
