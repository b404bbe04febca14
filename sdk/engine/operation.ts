import type { CallbackOptions, ChildOptions, StepOptions, StepTools } from '../context.ts'
import type { TaskPolicy } from '../tasks/task.ts'
import type { AnyWorkflow, Signal } from '../workflow.ts'
import type { OpKind } from './events.ts'
import type { Facts } from './journal.ts'

/** What the code asked for, by kind. */
export type Request =
  | { kind: 'step'; body: (tools: StepTools) => unknown; options: StepOptions; timeoutMs: number | undefined }
  /** `until` for a point in time, `ms` for a duration. */
  | { kind: 'sleep'; until?: number; ms?: number }
  | { kind: 'wait'; signal: Signal; ms?: number }
  | { kind: 'callback'; ms?: number; schema: CallbackOptions<unknown>['schema'] }
  | { kind: 'child'; workflow: AnyWorkflow; input: unknown; runId: string; options: ChildOptions }
  | { kind: 'task'; type: string; input: unknown; policy: TaskPolicy }

/** One call of the workflow code, from the call to its settlement. */
export class Operation {
  readonly id: string
  readonly request: Request
  facts: Facts | undefined
  readonly promise: Promise<unknown>
  settled = false
  /** Called before the run was asked to stop; what is called afterwards is clean-up and runs as usual. */
  readonly calledBeforeStop: boolean
  /** When a timer ends or resumes it. */
  dueAt: number | undefined
  private resolvePromise!: (value: unknown) => void
  private rejectPromise!: (error: Error) => void

  constructor(id: string, request: Request, facts: Facts | undefined, calledBeforeStop: boolean) {
    this.id = id
    this.request = request
    this.facts = facts
    this.calledBeforeStop = calledBeforeStop
    this.promise = new Promise((resolve, reject) => {
      this.resolvePromise = resolve
      this.rejectPromise = reject
    })
  }

  get kind(): OpKind {
    return this.request.kind
  }

  resolve(value: unknown): void {
    this.settled = true
    this.resolvePromise(value)
  }

  reject(error: Error): void {
    this.settled = true
    // A branch that nobody awaits any more must not take the whole process down.
    this.promise.catch(() => {})
    this.rejectPromise(error)
  }
}
