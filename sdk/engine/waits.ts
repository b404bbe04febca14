import type { Delivery } from '../base/events.ts'
import type { Message, Waiting } from '../ports/run.ts'
import type { AnyWorkflow, WorkflowSource } from '../workflow.ts'
import { Callbacks, timedOut } from './callbacks.ts'
import { Children } from './children.ts'
import { describeWaits, isUntil } from './described-waits.ts'
import { Mailbox, type SignalMessage } from './mailbox.ts'
import type { Operation, RequestOf } from './operation.ts'
import { ReportedChanges } from './reported-changes.ts'
import { Tasks } from './tasks.ts'
import { Timers } from './timers.ts'
import type { Visit } from './visit.ts'

/** What a run waits for except step bodies. It opens waits, and turns messages and due timers into deliveries. */
export class Waits {
  private readonly visit: Visit
  private readonly timers: Timers
  private readonly mailbox: Mailbox
  private readonly children: Children
  private readonly tasks: Tasks
  private readonly callbacks: Callbacks
  /** When the timeout of the workflow is over. */
  private readonly deadline: number | undefined

  constructor(visit: Visit, { timeoutMs, options }: AnyWorkflow, workflows: WorkflowSource) {
    const { world, replay, buffer } = visit
    const changes = new ReportedChanges(visit)
    this.visit = visit
    this.deadline = timeoutMs === undefined ? undefined : world.flow.countsFrom(visit) + timeoutMs
    this.timers = new Timers(visit, changes)
    this.mailbox = new Mailbox(world, replay, buffer, () => this.timers.openSleeps())
    this.children = new Children(visit, workflows, this.mailbox, changes)
    this.tasks = new Tasks(visit, options.tasks, this.timers, this.mailbox)
    this.callbacks = new Callbacks(visit, this.timers, this.mailbox, changes)
  }

  /** Why the run has to be parked: its code started a workflow that is not deployed. */
  get refusal(): Error | undefined {
    return this.children.refusal
  }

  receive(messages: readonly (Message | SignalMessage)[]): void {
    this.mailbox.receive(messages)
  }

  /** Journals a wait that the code has just asked for, and begins to watch it. A delivery, if that ends the wait. */
  async open(operation: Operation): Promise<Delivery | undefined> {
    const { request } = operation
    switch (request.kind) {
      case 'sleep':
        return void this.timers.sleep(operation, request)
      case 'wait':
        return void this.openSignalWait(operation, request)
      case 'callback':
        return void this.callbacks.open(operation, request)
      case 'child':
        return this.children.open(operation, request)
      case 'task':
        return void this.tasks.open(operation, request)
      case 'step':
        throw new Error(`step '${operation.id}' is no wait; Steps prepares it`)
      default:
        return request satisfies never
    }
  }

  private openSignalWait(operation: Operation, { signal: { name: signal }, ms, until }: RequestOf<'wait'>): void {
    const { id } = operation
    this.timers.openWait(operation, { ms, until }, (timeout) => ({ type: 'wait.started', id, signal, ...timeout }))
    this.mailbox.awaitSignal(signal, operation)
  }

  /** Sets the timer of a step that is tried or entered again later. */
  resumeLater(operation: Operation, until: number): void {
    this.timers.set(operation, until)
  }

  /** Drops the timer of a step. */
  forget(operation: Operation): void {
    this.timers.delete(operation)
  }

  nextDue(): number | undefined {
    return this.timers.nextDue(this.visit.replay.stopRequested ? undefined : this.deadline)
  }

  /** Steps whose time to go on has come. */
  dueSteps(now: number): Operation[] {
    return this.timers.takeDueSteps(now)
  }

  /** The next delivery, if there is one. Messages come before timers: the store accepted them before the wake-up. */
  next(now: number): Delivery | undefined | Promise<Delivery | undefined> {
    return this.mailbox.hasUnmatched
      ? this.mailbox.next().then((delivery) => delivery ?? this.nextTimer(now))
      : this.nextTimer(now)
  }

  describe(): Waiting[] {
    return describeWaits(this.visit.replay.operations.values(), this.timers, this.visit.permits)
  }

  /** How far each `until` has got. */
  rounds(): Waiting[] {
    return this.describe().filter(isUntil)
  }

  private nextTimer(now: number): Delivery | undefined | Promise<Delivery | undefined> {
    if (this.deadline !== undefined && now >= this.deadline && !this.visit.replay.stopRequested)
      return { type: 'run.timedOut' }
    for (const [operation, dueAt] of this.timers) {
      if (operation.settled) this.timers.delete(operation)
      else if (dueAt > now || operation.kind === 'step') continue
      else if (operation.kind === 'task') this.tasks.timerDue(operation, now)
      else if (this.callbacks.owesHeartbeat(operation, now)) return this.checkHeartbeat(operation, now)
      else {
        this.timers.delete(operation)
        return timerFired(operation)
      }
    }
    return undefined
  }

  private async checkHeartbeat(operation: Operation, now: number): Promise<Delivery | undefined> {
    return (await this.callbacks.checkHeartbeat(operation, now)) ?? this.nextTimer(now)
  }
}

function timerFired({ kind, id }: Operation): Delivery {
  if (kind === 'sleep') return { type: 'sleep.completed', id }
  if (kind === 'wait') return { type: 'wait.timedOut', id }
  return timedOut(id, 'was not completed in time')
}
