import type { Message, NewRun, RunRecord, Waiting, World } from '../ports.ts'
import { validate } from '../schema.ts'
import { LONG_WAIT_MS } from './duration.ts'
import { ChildRunError, InvalidInputError, recordError, reviveError, TimeoutError } from './errors.ts'
import type { EventOf } from './events.ts'
import type { FrameBuffer } from './frame-buffer.ts'
import { changeKey, type Delivery } from './journal.ts'
import { assertSurvivesJson, type Json, throughJson } from './json.ts'
import type { Operation, Request } from './operation.ts'
import type { Replay } from './replay.ts'
import { refusalOfTask, taskOf } from './task-dispatch.ts'

type RequestOf<K extends Request['kind']> = Extract<Request, { kind: K }>

/**
 * Everything a run waits for that is not a step's body: timers, signals, callbacks, children, tasks, cancellation. It
 * opens waits, and turns messages and due timers into deliveries.
 */
export class Waits {
  private readonly world: World
  private readonly run: RunRecord
  private readonly replay: Replay
  private readonly buffer: FrameBuffer
  private readonly recovered: boolean
  private readonly deadline: number | undefined
  /** Open operations that a timer may end or resume. */
  private readonly timed = new Set<Operation>()
  private readonly signalWaits = new Map<string, Operation[]>()
  private readonly signals = new Map<string, Extract<Message, { kind: 'signal' }>[]>()
  private readonly others: Exclude<Message, { kind: 'signal' }>[] = []
  private readonly known = new Set<string>()
  /** Set when there may be a match that was not tried yet. */
  private unmatched = false

  constructor(world: World, replay: Replay, buffer: FrameBuffer, options: { recovered: boolean; timeoutMs: number | undefined }) {
    this.world = world
    this.replay = replay
    this.run = replay.run
    this.buffer = buffer
    this.recovered = options.recovered
    this.deadline = options.timeoutMs === undefined ? undefined : (this.run.startedAt ?? this.run.createdAt) + options.timeoutMs
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

  /** Journals a wait that the code has just asked for, and starts to watch it. */
  async open(operation: Operation): Promise<void> {
    const { request } = operation
    switch (request.kind) {
      case 'sleep':
        return this.openSleep(operation, request)
      case 'wait':
        return this.openSignalWait(operation, request)
      case 'callback':
        return this.openCallback(operation, request)
      case 'child':
        return this.openChild(operation, request)
      case 'task':
        return this.openTask(operation, request)
    }
  }

  /** Watches a step that is to be tried or entered again later, or a task that is to be handed out again. */
  resumeLater(operation: Operation, until: number): void {
    operation.dueAt = until
    this.timed.add(operation)
  }

  /** Stops watching a step. */
  forget(operation: Operation): void {
    this.timed.delete(operation)
  }

  nextDue(): number | undefined {
    let earliest = this.replay.stopRequested ? undefined : this.deadline
    for (const operation of this.timed) {
      if (operation.settled) this.timed.delete(operation)
      else if (earliest === undefined || operation.dueAt! < earliest) earliest = operation.dueAt
    }
    return earliest
  }

  /** Steps whose time to go on has come. */
  dueSteps(now: number): Operation[] {
    const due: Operation[] = []
    for (const operation of this.timed) {
      if (operation.kind !== 'step' || operation.settled || operation.dueAt! > now) continue
      this.timed.delete(operation)
      due.push(operation)
    }
    return due
  }

  /** The next thing to tell the code, if any. Messages come before timers: they were accepted before the wake-up was. */
  next(now: number): Delivery | undefined | Promise<Delivery | undefined> {
    return this.unmatched ? this.nextMessageOrTimer(now) : this.nextTimer(now)
  }

  private async nextMessageOrTimer(now: number): Promise<Delivery | undefined> {
    const delivery = await this.nextMessage()
    if (delivery) return delivery
    this.unmatched = false
    return this.nextTimer(now)
  }

  private nextTimer(now: number): Delivery | undefined {
    if (this.deadline !== undefined && now >= this.deadline && !this.replay.stopRequested) return { type: 'run.timedOut' }
    for (const operation of this.timed) {
      if (operation.settled) this.timed.delete(operation)
      else if (operation.kind === 'task' && operation.dueAt! <= now) this.handOutAgain(operation, now)
      else if (operation.kind !== 'step' && operation.dueAt! <= now) {
        this.timed.delete(operation)
        return timerFired(operation)
      }
    }
    return undefined
  }

  describe(): Waiting[] {
    const waiting: Waiting[] = []
    for (const operation of this.replay.operations.values()) if (!operation.settled) waiting.push(describeWait(operation))
    return waiting
  }

  private openSleep(operation: Operation, request: RequestOf<'sleep'>): void {
    const opened = operation.facts?.opened as EventOf<'sleep.started'> | undefined
    if (opened) {
      if (request.ms !== undefined) this.reportChange(operation, 'duration', opened.ms, request.ms)
      else if (opened.ms === undefined) this.reportChange(operation, 'until', opened.until, request.until)
      operation.dueAt = opened.until
    } else {
      const now = this.world.clock.now()
      const until = request.until ?? now + request.ms!
      if (until - now > LONG_WAIT_MS) this.warn(`sleep '${operation.id}' is longer than 30 days`, { until: new Date(until).toISOString() })
      this.buffer.add({ type: 'sleep.started', id: operation.id, until, ...(request.ms !== undefined && { ms: request.ms }) })
      operation.dueAt = until
    }
    this.timed.add(operation)
  }

  private openSignalWait(operation: Operation, request: RequestOf<'wait'>): void {
    const { name } = request.signal
    this.openWithTimeout(operation, request.ms, (timeout) => ({ type: 'wait.started', id: operation.id, signal: name, ...timeout }))
    const waits = this.signalWaits.get(name)
    if (waits) waits.push(operation)
    else this.signalWaits.set(name, [operation])
    if (this.signals.size > 0) this.unmatched = true
  }

  private openCallback(operation: Operation, request: RequestOf<'callback'>): void {
    this.openWithTimeout(operation, request.ms, (timeout) => ({ type: 'callback.created', id: operation.id, ...timeout }))
    if (this.others.length > 0) this.unmatched = true
  }

  private openWithTimeout(
    operation: Operation,
    ms: number | undefined,
    event: (timeout: { until?: number; ms?: number }) => EventOf<'wait.started' | 'callback.created'>,
  ): void {
    const opened = operation.facts?.opened as EventOf<'wait.started' | 'callback.created'> | undefined
    if (opened) this.reportChange(operation, 'timeout', opened.ms, ms)
    else this.buffer.add(event(ms === undefined ? {} : { until: this.world.clock.now() + ms, ms }))
    operation.dueAt = opened ? opened.until : ms === undefined ? undefined : this.world.clock.now() + ms
    if (operation.dueAt !== undefined) this.timed.add(operation)
  }

  private async openChild(operation: Operation, request: RequestOf<'child'>): Promise<void> {
    const opened = operation.facts?.opened as EventOf<'child.started'> | undefined
    if (opened) {
      // Starting it again is harmless, and needed if the runner before this one died between commit and start.
      if (this.recovered) this.buffer.send({ kind: 'start', run: this.childRun(operation, request, opened) })
      return
    }
    const { workflow, options } = request
    try {
      assertSurvivesJson(request.input, `the input of child workflow '${workflow.name}'`)
      const checked = await validate(workflow.options.input, request.input)
      if (!checked.ok) throw new InvalidInputError(`the input of child workflow '${workflow.name}' does not fit its schema`, checked.problems)
    } catch (error) {
      this.others.push({ id: `invalid ${operation.id}`, kind: 'child', run: request.runId, op: operation.id, status: 'failed', error: recordError(error) })
      this.unmatched = true
      return
    }
    const event: EventOf<'child.started'> = {
      type: 'child.started',
      id: operation.id,
      run: request.runId,
      workflow: workflow.name,
      version: workflow.version,
      input: throughJson(request.input) as Json | undefined,
      onParentEnd: options.onParentEnd ?? (options.detached ? 'abandon' : 'cancel'),
      ...(options.detached && { detached: true as const }),
    }
    this.buffer.add(event)
    this.buffer.send({ kind: 'start', run: this.childRun(operation, request, event) })
    if (this.others.length > 0) this.unmatched = true
  }

  private childRun(operation: Operation, request: RequestOf<'child'>, started: EventOf<'child.started'>): NewRun {
    const now = this.world.clock.now()
    return {
      id: started.run,
      workflow: started.workflow,
      version: started.version,
      input: started.input,
      secret: this.world.ids.secret(),
      createdAt: now,
      wakeAt: now,
      ...(started.detached ? {} : { parent: { runId: this.run.id, op: operation.id } }),
      tags: [...(request.workflow.options.tags ?? [])],
      retentionMs: request.workflow.retentionMs,
    }
  }

  private openTask(operation: Operation, request: RequestOf<'task'>): void {
    const opened = operation.facts?.opened as EventOf<'task.dispatched'> | undefined
    const round = this.replay.journal.retries
    if (this.others.length > 0) this.unmatched = true
    if (!opened) {
      const refused = refusalOfTask(this.world.tasks, operation.id, request)
      if (refused) {
        this.others.push({
          id: `refused ${operation.id}`,
          kind: 'task.failed',
          generation: this.run.generation,
          round,
          op: operation.id,
          attempt: 0,
          error: refused,
        })
        this.unmatched = true
        return
      }
    }
    const input = opened ? opened.input : (throughJson(request.input) as Json | undefined)
    if (!opened) this.buffer.add({ type: 'task.dispatched', id: operation.id, task: request.type, ...(input !== undefined && { input }) })
    // Doing it again is harmless. It is needed if the runner before this one died between commit and dispatch, and when
    // the run goes on after its end, which took the task back.
    const isAnswered = this.others.some((message) => message.kind !== 'cancel' && message.kind !== 'wake' && message.op === operation.id)
    if (!opened || (!isAnswered && (this.recovered || round > 0))) this.handOut(operation, request, input)
    const { handOutAgainMs } = this.world.tasks
    if (handOutAgainMs !== undefined) this.resumeLater(operation, (operation.facts?.openedAt ?? this.world.clock.now()) + handOutAgainMs)
  }

  private handOut(operation: Operation, request: RequestOf<'task'>, input: Json | undefined): void {
    const { clock } = this.world
    this.buffer.send({ kind: 'dispatch', task: taskOf(this.run, operation.id, request, input, this.replay.journal.retries, clock.now()) })
  }

  private handOutAgain(operation: Operation, now: number): void {
    const opened = operation.facts?.opened as EventOf<'task.dispatched'> | undefined
    this.handOut(operation, operation.request as RequestOf<'task'>, opened?.input)
    operation.dueAt = now + this.world.tasks.handOutAgainMs!
  }

  private async nextMessage(): Promise<Delivery | undefined> {
    for (const [index, message] of this.others.entries()) {
      const delivery = await this.fromMessage(message)
      if (delivery === 'keep') continue
      if (delivery !== 'skipped sleep') {
        this.others.splice(index, 1)
        this.buffer.consume(message.id)
      }
      if (delivery === 'drop') return this.nextMessage()
      return delivery === 'skipped sleep' ? this.skipSleep(message.id) : delivery
    }
    for (const [name, queue] of this.signals) {
      const delivery = await this.fromSignals(name, queue)
      if (delivery) return delivery
    }
    return undefined
  }

  private async fromMessage(message: Exclude<Message, { kind: 'signal' }>): Promise<Delivery | 'keep' | 'drop' | 'skipped sleep'> {
    if (message.kind === 'cancel')
      return this.replay.stopRequested
        ? 'drop'
        : { type: 'run.cancelRequested', from: message.id, ...(message.reason !== undefined && { reason: message.reason }) }
    if (message.kind === 'wake') return this.sleepToSkip() ? 'skipped sleep' : 'drop'
    // A child, callback or task of an earlier generation may bear the name of one of this generation.
    if (message.kind !== 'child' && message.generation !== this.run.generation) return 'drop'
    const operation = this.replay.operations.get(message.op)
    if (!operation) return message.kind === 'child' ? 'drop' : 'keep'
    if (message.kind === 'child' && message.run !== (operation.request as RequestOf<'child'>).runId) return 'drop'
    if (operation.settled) return 'drop'
    const id = operation.id
    if (message.kind === 'task') {
      const { result, attempt, iteration } = message
      return { type: 'task.completed', id, ...(result !== undefined && { result }), ...(attempt > 1 && { attempt }), ...(iteration > 0 && { iteration }) }
    }
    if (message.kind === 'task.failed') {
      // Given up before an operator let the run go on: another worker is at it.
      if (message.round < this.replay.journal.retries) return 'drop'
      return { type: 'task.failed', id, attempt: message.attempt, error: message.error }
    }
    if (message.kind === 'callback.failed') return { type: 'callback.failed', id, error: message.error }
    if (message.kind === 'child') {
      if (message.status === 'completed') return { type: 'child.completed', id, result: message.result }
      const { runId } = operation.request as RequestOf<'child'>
      const cause = message.error && reviveError(message.error)
      return { type: 'child.failed', id, error: recordError(new ChildRunError(runId, message.status, cause)) }
    }
    const checked = await validate((operation.request as RequestOf<'callback'>).schema, message.result)
    if (checked.ok) return { type: 'callback.completed', id, result: throughJson(checked.value) as Json | undefined }
    return {
      type: 'callback.failed',
      id,
      error: recordError(new InvalidInputError(`the result of callback '${id}' does not fit its schema`, checked.problems)),
    }
  }

  /** One message skips every sleep the run is in; each becomes a delivery of its own. */
  private sleepToSkip(): Operation | undefined {
    for (const operation of this.timed) if (operation.kind === 'sleep' && !operation.settled) return operation
    return undefined
  }

  private skipSleep(messageId: string): Delivery {
    const sleep = this.sleepToSkip()!
    this.timed.delete(sleep)
    return { type: 'sleep.completed', id: sleep.id, skippedBy: messageId }
  }

  private async fromSignals(name: string, queue: Extract<Message, { kind: 'signal' }>[]): Promise<Delivery | undefined> {
    const waits = this.signalWaits.get(name)
    while (waits && waits.length > 0 && queue.length > 0) {
      const operation = waits[0]!
      if (operation.settled) {
        waits.shift()
        continue
      }
      const message = queue.shift()!
      this.buffer.consume(message.id)
      const { signal } = operation.request as RequestOf<'wait'>
      const checked = await validate(signal.schema, message.payload)
      if (!checked.ok) {
        const reason = new InvalidInputError(`signal '${name}' does not fit its schema`, checked.problems).message
        this.buffer.add({ type: 'signal.rejected', id: operation.id, from: message.id, reason })
        this.warn(`a signal was set aside: ${reason}`, { signal: name, message: message.id })
        continue
      }
      waits.shift()
      return { type: 'wait.completed', id: operation.id, from: message.id, payload: throughJson(checked.value) as Json | undefined }
    }
    return undefined
  }

  private reportChange(operation: Operation, field: string, journaled: number | undefined, now: number | undefined): void {
    if (journaled === now) return
    const event = { type: 'changed' as const, id: operation.id, field, journaled: journaled ?? null, now: now ?? null }
    if (this.replay.journal.reported.has(changeKey(event))) return
    this.buffer.add(event)
    this.warn(`the ${field} of '${operation.id}' is ${now ?? 'absent'} in the code and ${journaled ?? 'absent'} in the journal; the journaled one stands`, {})
  }

  private warn(message: string, fields: Record<string, unknown>): void {
    this.world.log('warn', message, { runId: this.run.id, workflow: this.run.workflow, ...fields })
  }
}

function timerFired(operation: Operation): Delivery {
  if (operation.kind === 'sleep') return { type: 'sleep.completed', id: operation.id }
  if (operation.kind === 'wait') return { type: 'wait.timedOut', id: operation.id }
  return { type: 'callback.failed', id: operation.id, error: recordError(new TimeoutError(`callback '${operation.id}' was not completed in time`)) }
}

function describeWait(operation: Operation): Waiting {
  const { request, id, facts, dueAt } = operation
  const until = dueAt === undefined ? {} : { until: dueAt }
  switch (request.kind) {
    case 'sleep':
      return { kind: 'sleep', id, ...until }
    case 'wait':
      return { kind: 'signal', id, on: request.signal.name, ...until }
    case 'callback':
      return { kind: 'callback', id, ...until }
    case 'child':
      return { kind: 'child', id, on: request.runId }
    case 'task':
      return { kind: 'task', id, on: request.type }
    case 'step':
      return { kind: facts?.paused ? 'pause' : 'retry', id, ...until }
  }
}
