import { asError, recordError, reviveError } from '../base/error-records.ts'
import { ChildRunError, InvalidInputError } from '../base/errors.ts'
import type { Delivery } from '../base/events.ts'
import type { Json } from '../base/json.ts'
import { type Schema, validate } from '../base/schema.ts'
import { decode, encode } from '../base/values.ts'
import type { Message, RunRecord } from '../ports/run.ts'
import type { World } from '../ports/world.ts'
import { isRequest } from '../workflow.ts'
import type { FrameBuffer } from './frame-buffer.ts'
import type { Operation, Request } from './operation.ts'
import type { Replay } from './replay.ts'
import { outgoingReply } from './requests.ts'

/** A signal as it came, or returned by the replay because an operator undid the wait that had consumed it. */
export type SignalMessage = Extract<Message, { kind: 'signal' }> & { isReturned?: true }
type OtherMessage = Exclude<Message, { kind: 'signal' }>
type Answer = Extract<Message, { op: string }>
type Command = Exclude<OtherMessage, Answer>

interface AwaitedSignal {
  message: SignalMessage
  operation: Operation
}

/** Messages from outside, and what becomes of them: each turns into a delivery, waits, or is dropped. */
export class Mailbox {
  private readonly run: RunRecord
  private readonly replay: Replay
  private readonly buffer: FrameBuffer
  private readonly warn: (message: string, fields: Record<string, unknown>) => void
  private readonly openSleeps: () => Operation[]
  private readonly signalWaits = new Map<string, Operation[]>()
  private readonly signals = new Map<string, SignalMessage[]>()
  private readonly others: OtherMessage[] = []
  /** The place of each message, by its id, in the order in which messages arrived. */
  private readonly arrivals = new Map<string, number>()
  /** The sleeps that a wake-up is about to skip. */
  private skipping: Operation[] | undefined
  /** Set when there may be a match that was not tried yet. */
  private unmatched = false

  constructor(world: World, replay: Replay, buffer: FrameBuffer, openSleeps: () => Operation[]) {
    this.replay = replay
    this.run = replay.run
    this.buffer = buffer
    this.openSleeps = openSleeps
    this.warn = (message, fields) =>
      world.log('warn', message, { runId: this.run.id, workflow: this.run.workflow, ...fields })
  }

  get hasUnmatched(): boolean {
    return this.unmatched
  }

  /** Takes new messages in; those that the journal or this run has already are skipped. */
  receive(messages: readonly (Message | SignalMessage)[]): void {
    for (const message of messages) {
      if (this.arrivals.has(message.id)) continue
      this.arrivals.set(message.id, this.arrivals.size)
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

  /**
   * For answers that this runner knows by itself: a child that cannot be started, a task that no worker could take.
   */
  receiveOwn(message: Answer): void {
    this.arrivals.set(message.id, this.arrivals.size)
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

  /**
   * The oldest message that an open call waits for, whatever its name. Only an operator's cancel or wake-up overtakes
   * signals: a run can be stopped however many of them it has to work through.
   */
  async next(): Promise<Delivery | undefined> {
    for (;;) {
      const other = this.others.find((message) => isCommand(message) || !this.isEarly(message))
      const signal = this.oldestAwaitedSignal()
      if (!other && !signal) break
      const takesOther = other && (!signal || isCommand(other) || this.isOlder(other, signal.message))
      const delivery = takesOther ? await this.takeOther(other) : await this.takeSignal(signal!)
      if (delivery) return delivery
    }
    this.unmatched = false
    return undefined
  }

  private takeOther(message: OtherMessage): Delivery | undefined | Promise<Delivery | undefined> {
    return isCommand(message) ? this.carryOut(message) : this.takeAnswer(message)
  }

  private isOlder(one: Message, other: Message): boolean {
    return this.arrivals.get(one.id)! < this.arrivals.get(other.id)!
  }

  /** An answer to a call that the code has not come to yet. */
  private isEarly(message: Answer): boolean {
    if (message.kind === 'child') return false
    return message.generation === this.run.generation && !this.replay.operations.has(message.op)
  }

  private oldestAwaitedSignal(): AwaitedSignal | undefined {
    let oldest: AwaitedSignal | undefined
    for (const [name, [message]] of this.signals) {
      if (oldest && !this.isOlder(message!, oldest.message)) continue
      const operation = this.nextWaitFor(name)
      if (operation) oldest = { message: message!, operation }
    }
    return oldest
  }

  private carryOut(command: Command): Delivery | undefined {
    if (command.kind === 'cancel') {
      this.takeOut(command)
      return {
        type: 'run.cancelRequested',
        from: command.id,
        ...(command.reason !== undefined && { reason: command.reason }),
      }
    }
    // One wake-up skips every sleep that the run is in when it comes, each by a delivery of its own.
    this.skipping ??= this.openSleeps()
    const sleep = this.skipping.find(({ settled }) => !settled)
    if (sleep) return { type: 'sleep.completed', id: sleep.id, skippedBy: command.id }
    this.skipping = undefined
    this.takeOut(command)
    return undefined
  }

  private takeOut(message: OtherMessage): void {
    this.others.splice(this.others.indexOf(message), 1)
    this.buffer.consume(message.id)
  }

  /** Undefined if the answer says nothing to the code as it is now. */
  private async takeAnswer(message: Answer): Promise<Delivery | undefined> {
    this.takeOut(message)
    if (message.kind === 'child') {
      const operation = this.waitingFor(message)
      return operation && this.fromAnswer(operation, message)
    }
    // A callback or task of an earlier generation may bear the name of one of this generation.
    if (message.generation !== this.run.generation) return undefined
    const operation = this.replay.operations.get(message.op)!
    return operation.settled ? undefined : this.fromAnswer(operation, message)
  }

  /**
   * The journal says which child a call waits for, whatever the code would call it today. A child with an id of its own
   * may have been started by an earlier generation, for another call: what counts is which run it is.
   */
  private waitingFor({ run, op }: Extract<Message, { kind: 'child' }>): Operation | undefined {
    const called = this.replay.operations.get(op)
    if (called && !called.settled && (childOf(called) ?? run) === run) return called
    for (const operation of this.replay.operations.values())
      if (!operation.settled && childOf(operation) === run) return operation
    return undefined
  }

  private async fromAnswer(operation: Operation, message: Answer): Promise<Delivery | undefined> {
    const { id } = operation
    switch (message.kind) {
      case 'task': {
        const { result, attempt, iteration } = message
        return {
          type: 'task.completed',
          id,
          ...(result !== undefined && { result }),
          ...(attempt > 1 && { attempt }),
          ...(iteration > 0 && { iteration }),
        }
      }
      case 'task.failed':
        // The worker failed before an operator retried the run: another worker has the task now.
        if (message.round < this.replay.journal.retries) return undefined
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

  private async fromCallback(
    operation: Operation,
    { id: from, result }: Extract<Message, { kind: 'callback' }>,
  ): Promise<Delivery | undefined> {
    const { id, request } = operation
    const { schema } = request as Extract<Request, { kind: 'callback' }>
    const fitted = await fitting(schema, result, `the result of callback '${id}'`)
    if (fitted.ok) return { type: 'callback.completed', id, ...(fitted.json !== undefined && { result: fitted.json }) }
    const { reason } = fitted
    this.buffer.add({ type: 'callback.rejected', id, from, reason })
    // Why may quote what was sent, which is no business of logs.
    this.warn(`what came for callback '${id}' does not fit its schema and was set aside; the history says why`, {
      callback: id,
    })
    return undefined
  }

  private async takeSignal({ message, operation }: AwaitedSignal): Promise<Delivery | undefined> {
    const { name } = message
    const queue = this.signals.get(name)!
    queue.shift()
    if (queue.length === 0) this.signals.delete(name)
    this.buffer.consume(message.id)
    const { signal } = operation.request as Extract<Request, { kind: 'wait' }>
    const kind = isRequest(signal) ? 'request' : 'signal'
    // The payload of a returned signal is what the schema made of it then.
    const schema = message.isReturned ? undefined : signal.schema
    const fitted = await fitting(schema, message.payload, `${kind} '${name}'`)
    if (!fitted.ok) {
      this.setAside(operation, message, kind, fitted.reason)
      return undefined
    }
    if (message.asks && kind === 'signal')
      this.refuse(operation, message, `the run takes '${name}' as a signal, to which there is no reply`)
    // A timeout gives the code `undefined`, so a signal that carries nothing must give it something.
    const payload = fitted.json === undefined && kind === 'signal' ? true : fitted.json
    return { type: 'wait.completed', id: operation.id, from: message.id, ...(payload !== undefined && { payload }) }
  }

  private setAside(operation: Operation, message: SignalMessage, kind: 'signal' | 'request', reason: string): void {
    this.buffer.add({ type: 'signal.rejected', id: operation.id, from: message.id, reason })
    if (kind === 'request') this.refuse(operation, message, reason)
    const fields = { signal: message.name, message: message.id }
    this.warn(`${kind} '${message.name}' does not fit its schema and was set aside; the history says why`, fields)
  }

  /** Replies to the caller why the run does not take the request. */
  private refuse({ id }: Operation, { id: to }: SignalMessage, message: string): void {
    const event = { type: 'request.refused' as const, id, to, error: { name: 'InvalidInputError', message } }
    this.buffer.add(event)
    this.buffer.send(outgoingReply(event))
  }

  /**
   * The wait that was opened last: an earlier one may belong to the loser of a race. Waits that were opened in the
   * same turn are served in their order.
   */
  private nextWaitFor(name: string): Operation | undefined {
    const open = (this.signalWaits.get(name) ?? []).filter((operation) => !operation.settled)
    this.signalWaits.set(name, open)
    const latest = open.at(-1)?.turn
    return open.find(({ turn }) => turn === latest)
  }
}

const isCommand = (message: OtherMessage): message is Command => message.kind === 'cancel' || message.kind === 'wake'

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
  if (!checked.ok)
    return { ok: false, reason: new InvalidInputError(`${what} does not fit its schema`, checked.problems).message }
  try {
    return { ok: true, json: encode(checked.value, `what its schema makes of ${what}`) }
  } catch (error) {
    return { ok: false, reason: asError(error).message }
  }
}
