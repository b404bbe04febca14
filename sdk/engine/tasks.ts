import { recordError } from '../base/error-records.ts'
import { FatalError, InvalidInputError } from '../base/errors.ts'
import type { ErrorRecord, EventOf } from '../base/events.ts'
import type { Json } from '../base/json.ts'
import { taskId } from '../base/names.ts'
import { encode } from '../base/values.ts'
import type { TaskStore } from '../ports/tasks.ts'
import { MOST_PAYLOAD_BYTES, type NewTask } from '../tasks/task.ts'
import type { Mailbox } from './mailbox.ts'
import type { Operation, RequestOf } from './operation.ts'
import type { Timers } from './timers.ts'
import type { Visit } from './visit.ts'

type TaskRequest = RequestOf<'task'>

/** The tasks that the code hands to workers. Each is dispatched with the commit that journals it (I3). */
export class Tasks {
  private readonly visit: Visit
  private readonly declared: readonly string[] | undefined
  private readonly timers: Timers
  private readonly mailbox: Mailbox

  /** `declared`: the task types that the workflow says it uses, if it says so. */
  constructor(visit: Visit, declared: readonly string[] | undefined, timers: Timers, mailbox: Mailbox) {
    this.visit = visit
    this.declared = declared
    this.timers = timers
    this.mailbox = mailbox
  }

  /** Dispatches the task, or asks for its permit first. */
  open(operation: Operation, request: TaskRequest): void {
    const { opened, permit, isHandedOut } = operation.facts ?? {}
    const { permits, world } = this.visit
    if (request.limit) permits.keep(operation)
    if (!request.limit || (permit && isHandedOut)) return this.dispatch(operation, request)
    const begin = () => this.dispatch(operation, request, opened !== undefined)
    permits.request(operation, (at) => (at > world.clock.now() ? this.timers.set(operation, at) : begin()))
  }

  /** The timer of a task is due: its permit may be used now, or a worker has had it for long. */
  timerDue(operation: Operation, now: number): void {
    const { opened, permit, isHandedOut } = operation.facts ?? {}
    if (opened && ((permit && isHandedOut) || !operation.limit)) return this.dispatchAgain(operation, now)
    this.timers.delete(operation)
    this.open(operation, operation.request as TaskRequest)
  }

  /** `wasWithdrawn`: the end of the run took the task back, and an operator let the run go on. */
  private dispatch(operation: Operation, request: TaskRequest, wasWithdrawn = false): void {
    const { world, buffer, claimed, replay } = this.visit
    const opened = operation.facts?.opened as EventOf<'task.dispatched'> | undefined
    this.mailbox.look()
    if (!opened && this.refuse(operation, request)) return
    const input = opened ? opened.input : encode(request.input, `the input of task '${operation.id}'`)
    if (!opened) {
      const event: EventOf<'task.dispatched'> = {
        type: 'task.dispatched',
        id: operation.id,
        task: request.type,
        ...(input !== undefined && { input }),
      }
      buffer.add(event)
      operation.learn(event)
    }
    // Dispatching again is harmless. It is needed if the runner before this one died between commit and dispatch, and
    // when a run goes on after its end, which took the task back.
    const mayBeMissing = wasWithdrawn || claimed.recovered || replay.journal.isJustRetried
    if (!opened || (!this.mailbox.isAnswered(operation.id) && mayBeMissing)) this.send(operation, request, input)
    const { handOutAgainMs } = world.tasks
    if (handOutAgainMs !== undefined)
      this.timers.set(operation, (operation.facts?.openedAt ?? world.clock.now()) + handOutAgainMs)
  }

  /** A task that no worker could take fails at once, and nothing is written for workers. */
  private refuse(operation: Operation, request: TaskRequest): boolean {
    const { world, run, replay } = this.visit
    const error = refusalOf(world.tasks, this.declared, operation.id, request)
    if (!error) return false
    this.mailbox.receiveOwn({
      id: `refused ${operation.id}`,
      kind: 'task.failed',
      generation: run.generation,
      round: replay.journal.retries,
      op: operation.id,
      attempt: 0,
      error,
    })
    return true
  }

  private dispatchAgain(operation: Operation, now: number): void {
    const opened = operation.facts?.opened as EventOf<'task.dispatched'> | undefined
    this.send(operation, operation.request as TaskRequest, opened?.input)
    this.timers.set(operation, now + this.visit.world.tasks.handOutAgainMs!)
  }

  private send(operation: Operation, { type, policy }: TaskRequest, input: Json | undefined): void {
    const { world, run, replay, buffer, permits } = this.visit
    const inside = operation.limit && permits.permitOf(operation)
    const task: NewTask = {
      id: taskId(run, operation.id),
      runId: run.id,
      life: run.createdAt,
      op: operation.id,
      generation: run.generation,
      round: replay.journal.retries,
      type,
      policy,
      dispatchedAt: world.clock.now(),
      ...(input !== undefined && { input }),
      ...(inside && { inside }),
    }
    buffer.send({ kind: 'dispatch', task })
  }
}

/** Why a task cannot go to a worker, if it cannot. */
function refusalOf(
  tasks: TaskStore,
  declared: readonly string[] | undefined,
  op: string,
  { type, input }: TaskRequest,
): ErrorRecord | undefined {
  try {
    if (declared && !declared.includes(type)) {
      throw new FatalError(
        `the workflow does not declare tasks of type '${type}'; add it to its \`tasks\`, which are: ` +
          `${declared.join(', ') || 'none'}`,
      )
    }
    const size = Buffer.byteLength(JSON.stringify(encode(input, `the input of task '${op}'`)) ?? '')
    if (size > MOST_PAYLOAD_BYTES)
      throw new InvalidInputError(
        `the input of task '${op}' has ${size} bytes, and a task takes ${MOST_PAYLOAD_BYTES}; store it ` +
          'elsewhere and give a link to it',
      )
    const refusal = tasks.refusal(type)
    if (refusal !== undefined) throw new FatalError(refusal)
  } catch (error) {
    return recordError(error)
  }
  return undefined
}
