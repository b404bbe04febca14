import { LONG_WAIT_MS } from '../base/duration.ts'
import { recordError, TimeoutError, UnknownWorkflowError } from '../base/errors.ts'
import type { Delivery, EventOf } from '../base/events.ts'
import { canonicalJson, type Json } from '../base/json.ts'
import { childRunId, digest, FORMAT } from '../base/names.ts'
import { accept } from '../base/schema.ts'
import { tagsOf } from '../base/tags.ts'
import { decode, encode, encodeIfPossible } from '../base/values.ts'
import type { Message, NewRun, RunRecord, Waiting } from '../ports/run.ts'
import type { World } from '../ports/world.ts'
import type { AnyWorkflow, WorkflowSource } from '../workflow.ts'
import { lastBeat } from './callback-heartbeat.ts'
import type { Permits } from './flow-port.ts'
import type { FrameBuffer } from './frame-buffer.ts'
import { changeKey } from './journal.ts'
import { Mailbox, type SignalMessage } from './mailbox.ts'
import type { Operation, Request } from './operation.ts'
import type { Replay } from './replay.ts'
import { refusalOfTask, taskOf } from './tasks.ts'
import type { Visit } from './visit.ts'

type RequestOf<K extends Request['kind']> = Extract<Request, { kind: K }>
type Opened<T extends 'sleep.started' | 'wait.started' | 'callback.created' | 'child.started' | 'task.dispatched'> =
  | EventOf<T>
  | undefined

/** Everything a run waits for that is not a step's body: it opens waits, and turns due timers into deliveries. */
export class Waits {
  private readonly world: World
  private readonly run: RunRecord
  private readonly replay: Replay
  private readonly buffer: FrameBuffer
  private readonly mailbox: Mailbox
  private readonly permits: Permits
  private readonly recovered: boolean
  private readonly lastGoodEpoch: number
  private readonly deadline: number | undefined
  private readonly declaredTasks: readonly string[] | undefined
  private readonly workflows: WorkflowSource
  /** The code called for something that cannot begin until it is deployed anew: the run has to be parked. */
  refusal: Error | undefined
  /** When a timer ends or resumes an operation. */
  private readonly timed = new Map<Operation, number>()
  /** Callbacks that need signs of life: how often, and when they are over anyway. */
  private readonly beats = new Map<Operation, { ms: number; until: number }>()

  constructor(visit: Visit, { timeoutMs, options }: AnyWorkflow, workflows: WorkflowSource) {
    const { world, replay, buffer, claimed } = visit
    this.world = world
    this.replay = replay
    this.run = visit.run
    this.buffer = buffer
    this.permits = visit.permits
    this.recovered = claimed.recovered
    this.lastGoodEpoch = claimed.lastGoodEpoch
    this.deadline = timeoutMs === undefined ? undefined : world.flow.countsFrom(visit) + timeoutMs
    this.declaredTasks = options.tasks
    this.workflows = workflows
    this.mailbox = new Mailbox(world, replay, buffer, () => this.openSleeps())
  }

  receive(messages: readonly (Message | SignalMessage)[]): void {
    this.mailbox.receive(messages)
  }

  /** Journals a wait that the code has just asked for, and starts to watch it. A delivery, if it is over with that. */
  async open(operation: Operation): Promise<Delivery | undefined> {
    const { request } = operation
    switch (request.kind) {
      case 'sleep':
        return void this.openSleep(operation, request)
      case 'wait':
        return void this.openSignalWait(operation, request)
      case 'callback':
        return void this.openCallback(operation, request)
      case 'child':
        return this.openChild(operation, request)
      case 'task':
        return void this.openTaskInTurn(operation, request)
    }
  }

  /** Watches a step that is to be tried or entered again later, or a task that is to be handed out again. */
  resumeLater(operation: Operation, until: number): void {
    this.timed.set(operation, until)
  }

  /** Stops watching a step. */
  forget(operation: Operation): void {
    this.timed.delete(operation)
  }

  nextDue(): number | undefined {
    let earliest = this.replay.stopRequested ? undefined : this.deadline
    for (const [operation, dueAt] of this.timed) {
      if (operation.settled) this.timed.delete(operation)
      else if (earliest === undefined || dueAt < earliest) earliest = dueAt
    }
    return earliest
  }

  /** Steps whose time to go on has come. */
  dueSteps(now: number): Operation[] {
    const due: Operation[] = []
    for (const [operation, dueAt] of this.timed) {
      if (operation.kind !== 'step' || operation.settled || dueAt > now) continue
      this.timed.delete(operation)
      due.push(operation)
    }
    return due
  }

  /** The next thing to tell the code, if any. Messages come before timers: they were accepted before the wake-up was. */
  next(now: number): Delivery | undefined | Promise<Delivery | undefined> {
    return this.mailbox.hasUnmatched
      ? this.mailbox.next().then((delivery) => delivery ?? this.nextTimer(now))
      : this.nextTimer(now)
  }

  describe(): Waiting[] {
    const waiting: Waiting[] = []
    for (const operation of this.replay.operations.values())
      if (!operation.settled)
        waiting.push(describeWait(operation, this.timed.get(operation), this.permits.waitsAt(operation)))
    // Only the first ones are kept, and what is said of an `until` is said nowhere else.
    return waiting.some(isRounds) ? [...waiting.filter(isRounds), ...waiting.filter((one) => !isRounds(one))] : waiting
  }

  /** How far each `until` has got. */
  rounds(): Waiting[] {
    return this.describe().filter(isRounds)
  }

  private nextTimer(now: number): Delivery | undefined | Promise<Delivery | undefined> {
    if (this.deadline !== undefined && now >= this.deadline && !this.replay.stopRequested)
      return { type: 'run.timedOut' }
    for (const [operation, dueAt] of this.timed) {
      if (operation.settled) this.timed.delete(operation)
      else if (dueAt > now || operation.kind === 'step') continue
      else if (operation.kind === 'task') this.lookAfterTask(operation, now)
      else if (now < (this.beats.get(operation)?.until ?? now)) return this.lookForBeat(operation, now)
      else {
        this.timed.delete(operation)
        return timerFired(operation)
      }
    }
    return undefined
  }

  /**
   * Signs of life are not journaled, and wake nobody: the run asks for the last one when it is due. What is journaled is that
   * there was none.
   */
  private async lookForBeat(operation: Operation, now: number): Promise<Delivery | undefined> {
    const { ms, until } = this.beats.get(operation)!
    const beatAt = await lastBeat(this.world.documents, this.run, operation.id)
    if (beatAt !== undefined && beatAt + ms > now) {
      this.timed.set(operation, Math.min(beatAt + ms, until))
      return this.nextTimer(now)
    }
    this.timed.delete(operation)
    return timedOut(operation.id, `gave no sign of life for ${ms / 1_000} s`)
  }

  private openSleeps(): Operation[] {
    return [...this.timed.keys()].filter(({ kind, settled }) => kind === 'sleep' && !settled)
  }

  private openSleep(operation: Operation, request: RequestOf<'sleep'>): void {
    const opened = operation.facts?.opened as Opened<'sleep.started'>
    if (opened) {
      if (request.ms !== undefined) this.reportChange(operation, 'duration', opened.ms, request.ms)
      else if (opened.ms === undefined) this.reportChange(operation, 'until', opened.until, request.until)
      return void this.timed.set(operation, opened.until)
    }
    const now = this.world.clock.now()
    const until = request.until ?? now + request.ms!
    if (until - now > LONG_WAIT_MS)
      this.warn(`sleep '${operation.id}' is longer than 30 days`, { until: new Date(until).toISOString() })
    this.buffer.add({
      type: 'sleep.started',
      id: operation.id,
      until,
      ...(request.ms !== undefined && { ms: request.ms }),
    })
    this.timed.set(operation, until)
  }

  private openSignalWait(operation: Operation, request: RequestOf<'wait'>): void {
    const { name } = request.signal
    this.openWithTimeout(operation, request.ms, (timeout) => ({
      type: 'wait.started',
      id: operation.id,
      signal: name,
      ...timeout,
    }))
    this.mailbox.awaitSignal(name, operation)
  }

  private openCallback(operation: Operation, { ms, beatMs, schema, raw, address }: RequestOf<'callback'>): void {
    const opened = operation.facts?.opened as Opened<'callback.created'>
    const beatBy = opened ? opened.beatBy : beatMs === undefined ? undefined : this.world.clock.now() + beatMs
    const kind = raw ? { raw } : schema ? { checked: true as const } : {}
    const beat = beatMs === undefined ? {} : { beatMs, beatBy: beatBy! }
    const place = address === undefined ? {} : { address }
    if (opened) this.reportChange(operation, 'heartbeatTimeout', opened.beatMs, beatMs)
    this.openWithTimeout(operation, ms, (timeout) => ({
      type: 'callback.created',
      id: operation.id,
      ...timeout,
      ...kind,
      ...beat,
      ...place,
    }))
    if (beatBy !== undefined) {
      const until = this.timed.get(operation) ?? Number.POSITIVE_INFINITY
      this.beats.set(operation, { ms: opened?.beatMs ?? beatMs!, until })
      this.timed.set(operation, Math.min(beatBy, until))
    }
    this.mailbox.look()
  }

  private openWithTimeout(
    operation: Operation,
    ms: number | undefined,
    event: (timeout: { until?: number; ms?: number }) => EventOf<'wait.started' | 'callback.created'>,
  ): void {
    const opened = operation.facts?.opened as Opened<'wait.started' | 'callback.created'>
    const until = opened ? opened.until : ms === undefined ? undefined : this.world.clock.now() + ms
    if (opened) this.reportChange(operation, 'timeout', opened.ms, ms)
    else this.buffer.add(event(ms === undefined ? {} : { until: until!, ms }))
    if (until !== undefined) this.timed.set(operation, until)
  }

  private async openChild(operation: Operation, request: RequestOf<'child'>): Promise<Delivery | undefined> {
    const { facts, id } = operation
    const opened = facts?.opened as Opened<'child.started'>
    if (opened && !facts!.isLost) {
      this.reportChildChange(operation, request, opened)
      await this.makeSureOf(operation, request, opened)
      return undefined
    }
    const { workflow, options } = request
    let accepted: Awaited<ReturnType<typeof acceptChild>>
    try {
      accepted = await acceptChild(
        this.world,
        workflow,
        request.input,
        `the input of child workflow '${workflow.name}'`,
      )
    } catch (error) {
      const run = options.id ?? childRunId(this.run, id)
      if (options.detached) return { type: 'child.failed', id, error: recordError(error) }
      this.mailbox.receiveOwn({
        id: `invalid ${id}`,
        kind: 'child',
        run,
        op: id,
        status: 'failed',
        error: recordError(error),
      })
      return undefined
    }
    if (!this.workflows.knows(workflow)) {
      const unknown = unknownChild(workflow)
      // Where other programs share the store, one of them may have it: then its run is theirs.
      if (!this.world.isShared) return void (this.refusal ??= unknown)
      this.warn(unknown.message, { child: workflow.name })
    }
    const event: EventOf<'child.started'> = {
      type: 'child.started',
      id,
      run: this.idOfChild(operation, request),
      workflow: workflow.name,
      version: workflow.version,
      input: accepted.input,
      onParentEnd: options.onParentEnd ?? (options.detached ? 'abandon' : 'cancel'),
      ...(options.detached && { detached: true as const }),
    }
    this.buffer.add(event)
    operation.learn(event)
    this.buffer.send({ kind: 'start', run: { ...this.childRun(operation, request, event), ...accepted } })
    this.mailbox.look()
    return options.detached ? { type: 'child.detached', id } : undefined
  }

  /**
   * A runner that died behind a frame may not have started what is in it. What was announced by holders that gave the run up
   * in good order was started. After a retry the child may have ended while its parent could
   * not hear of it. Otherwise nothing is started again: a child that has ended may be past its retention, and would run anew.
   */
  private async makeSureOf(
    operation: Operation,
    request: RequestOf<'child'>,
    opened: EventOf<'child.started'>,
  ): Promise<void> {
    const { journal } = this.replay
    if (this.mailbox.isAnswered(operation.id)) return
    if (this.recovered && (operation.facts!.openedBy ?? 0) > this.lastGoodEpoch) {
      // What is journaled was accepted. Where the schema has changed since, the child's own runner says so.
      const accepted = await acceptChild(
        this.world,
        request.workflow,
        decode(opened.input),
        `the input of child '${operation.id}'`,
      ).catch(() => ({
        reparse: true as const,
      }))
      this.buffer.send({ kind: 'start', run: { ...this.childRun(operation, request, opened), ...accepted } })
    } else if (!opened.detached && journal.retries > 0 && (this.recovered || journal.isJustRetried)) {
      this.buffer.send({ kind: 'start', run: this.childRun(operation, request, opened), isThere: true })
    }
  }

  /** A child that was ended with its failed parent cannot be woken up again; the next one has an id of its own. */
  private idOfChild({ id, facts }: Operation, { options }: RequestOf<'child'>): string {
    const { retries, startedBefore } = this.replay.journal
    const round = facts?.isLost || startedBefore.has(id) ? retries : 0
    if (options.id === undefined) return childRunId(this.run, id, round)
    return round === 0 ? options.id : `${options.id}~r${round}`
  }

  private childRun(operation: Operation, request: RequestOf<'child'>, started: EventOf<'child.started'>): NewRun {
    const now = this.world.clock.now()
    return {
      id: started.run,
      workflow: started.workflow,
      version: started.version,
      format: FORMAT,
      input: started.input,
      secret: this.world.ids.secret(),
      createdAt: now,
      wakeAt: now,
      ...(started.detached
        ? {}
        : { parent: { runId: this.run.id, op: operation.id, generation: this.run.generation } }),
      tags: [],
      retentionMs: request.workflow.retentionMs,
    }
  }

  private reportChildChange(
    operation: Operation,
    { input, options }: RequestOf<'child'>,
    opened: EventOf<'child.started'>,
  ): void {
    if (options.id !== undefined && !opened.run.startsWith(options.id))
      this.reportChange(operation, 'id', opened.run, options.id)
    const [was, is] = [canonicalJson(opened.input), canonicalJson(encodeIfPossible(input)?.json)]
    if (was !== is) this.reportChange(operation, 'input', digest(was), digest(is))
  }

  private openTaskInTurn(operation: Operation, request: RequestOf<'task'>): void {
    const { opened, permit, isHandedOut } = operation.facts ?? {}
    if (request.limit) this.permits.keep(operation)
    if (!request.limit || (permit && isHandedOut)) return this.openTask(operation, request)
    const begin = () => this.openTask(operation, request, opened !== undefined)
    this.permits.request(operation, (at) => (at > this.world.clock.now() ? this.timed.set(operation, at) : begin()))
  }

  /** `isHandedOutAgain`: it was taken back when the run ended. */
  private openTask(operation: Operation, request: RequestOf<'task'>, isHandedOutAgain = false): void {
    const opened = operation.facts?.opened as Opened<'task.dispatched'>
    const round = this.replay.journal.retries
    this.mailbox.look()
    if (!opened) {
      const refused = refusalOfTask(this.world.tasks, this.declaredTasks, operation.id, request)
      if (refused) {
        const { generation } = this.run
        return this.mailbox.receiveOwn({
          id: `refused ${operation.id}`,
          kind: 'task.failed',
          generation,
          round,
          op: operation.id,
          attempt: 0,
          error: refused,
        })
      }
    }
    const input = opened ? opened.input : encode(request.input, `the input of task '${operation.id}'`)
    if (!opened) {
      const event: EventOf<'task.dispatched'> = {
        type: 'task.dispatched',
        id: operation.id,
        task: request.type,
        ...(input !== undefined && { input }),
      }
      this.buffer.add(event)
      operation.learn(event)
    }
    // Doing it again is harmless. It is needed if the runner before this one died between commit and dispatch, and when
    // the run goes on after its end, which took the task back.
    const mayBeMissing = isHandedOutAgain || this.recovered || this.replay.journal.isJustRetried
    if (!opened || (!this.mailbox.isAnswered(operation.id) && mayBeMissing)) this.handOut(operation, request, input)
    const { handOutAgainMs } = this.world.tasks
    if (handOutAgainMs !== undefined)
      this.resumeLater(operation, (operation.facts?.openedAt ?? this.world.clock.now()) + handOutAgainMs)
  }

  private handOut(operation: Operation, request: RequestOf<'task'>, input: Json | undefined): void {
    const { clock } = this.world
    const permit = operation.limit && this.permits.permitOf(operation)
    this.buffer.send({
      kind: 'dispatch',
      task: taskOf(this.run, operation.id, request, input, this.replay.journal.retries, clock.now(), permit),
    })
  }

  /** Its turn has come, or it has been out for long. */
  private lookAfterTask(operation: Operation, now: number): void {
    const { opened, permit, isHandedOut } = operation.facts ?? {}
    if (opened && ((permit && isHandedOut) || !operation.limit)) return this.handOutAgain(operation, now)
    this.timed.delete(operation)
    this.openTaskInTurn(operation, operation.request as RequestOf<'task'>)
  }

  private handOutAgain(operation: Operation, now: number): void {
    const opened = operation.facts?.opened as Opened<'task.dispatched'>
    this.handOut(operation, operation.request as RequestOf<'task'>, opened?.input)
    this.timed.set(operation, now + this.world.tasks.handOutAgainMs!)
  }

  private reportChange(operation: Operation, field: string, journaled: Json | undefined, now: Json | undefined): void {
    if (journaled === now) return
    const event = { type: 'changed' as const, id: operation.id, field, journaled: journaled ?? null, now: now ?? null }
    if (this.replay.journal.reported.has(changeKey(event))) return
    this.buffer.add(event)
    this.warn(
      `the ${field} of '${operation.id}' is ${now ?? 'absent'} in the code, and was ${journaled ?? 'absent'} when the run came to it, which stands for this run`,
      {},
    )
  }

  private warn(message: string, fields: Record<string, unknown>): void {
    this.world.log('warn', message, { runId: this.run.id, workflow: this.run.workflow, ...fields })
  }
}

function timerFired(operation: Operation): Delivery {
  if (operation.kind === 'sleep') return { type: 'sleep.completed', id: operation.id }
  if (operation.kind === 'wait') return { type: 'wait.timedOut', id: operation.id }
  return timedOut(operation.id, 'was not completed in time')
}

function timedOut(id: string, how: string): Delivery {
  return { type: 'callback.failed', id, error: recordError(new TimeoutError(`callback '${id}' ${how}`)) }
}

function describeWait(
  operation: Operation,
  dueAt: number | undefined,
  limiter: ReturnType<Permits['waitsAt']>,
): Waiting {
  const { request, id, facts } = operation
  const until = dueAt === undefined ? {} : { until: dueAt }
  switch (request.kind) {
    case 'sleep':
      return { kind: 'sleep', id, ...until }
    case 'wait':
      return { kind: 'signal', id, on: request.signal.name, ...until }
    case 'callback':
      return { kind: 'callback', id, ...until }
    case 'child':
      return { kind: 'child', id, ...(facts?.opened?.type === 'child.started' && { on: facts.opened.run }) }
    case 'task':
      if (limiter) return { ...atLimit(id, limiter), ...until }
      return { kind: 'task', id, on: request.type }
    case 'step':
      if (limiter) return { ...atLimit(id, limiter), ...until }
      if (facts?.repeating) return describeRounds(operation, until)
      return { kind: facts?.paused ? 'pause' : 'retry', id, ...until }
  }
}

const atLimit = (id: string, { limit: on, key }: { limit: string; key?: string }): Waiting => ({
  kind: 'limit',
  id,
  on,
  ...(key !== undefined && { key }),
})

const isRounds = ({ kind }: Waiting): boolean => kind === 'until'

function describeRounds({ id, rounds: { vain, failures } }: Operation, until: { until?: number }): Waiting {
  return { kind: 'until', id, ...until, round: vain, ...(failures > 0 && { failures }) }
}

/** Its run would find no code and be parked, and the parent would never hear of it. */
function unknownChild({ name, version }: AnyWorkflow): UnknownWorkflowError {
  return new UnknownWorkflowError(
    `ctx.run was given workflow '${name}' (version ${version}), which the runner of this run does not know. ` +
      'Export it from the entry file, or list it in `workflows`, deploy, and retry the run',
  )
}

async function acceptChild({ flow, clock }: World, workflow: AnyWorkflow, input: unknown, what: string) {
  const accepted = await accept(workflow.options.input, input, what)
  return { ...(await tagsOf(workflow, accepted)), ...(await flow.childOf(workflow, accepted, clock.now())) }
}
