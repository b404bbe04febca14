import type { FactEvent, OpKind } from '../base/events.ts'
import type { CallbackOptions, ChildOptions, StepOptions, StepTools } from '../context.ts'
import type { TaskPolicy } from '../tasks/task.ts'
import type { AnyRequest, AnySignal, AnyWorkflow } from '../workflow.ts'
import type { AddCaller } from './call-sites.ts'
import { applyFact, type Facts } from './facts.ts'
import type { PermitRequest } from './flow-port.ts'
import { NO_ROUNDS, type Rhythm, type Rounds } from './rounds.ts'

/** What the code asked for, by kind. */
export type Request =
  | StepRequest
  /** `until` for a point in time, `ms` for a duration. */
  | { kind: 'sleep'; until?: number; ms?: number }
  /** The same for its timeout, if it has one. */
  | { kind: 'wait'; signal: AnySignal | AnyRequest; until?: number | undefined; ms?: number | undefined }
  | CallbackRequest
  | { kind: 'child'; workflow: AnyWorkflow; input: unknown; options: ChildOptions }
  | { kind: 'task'; type: string; input: unknown; policy: TaskPolicy; limit?: PermitRequest | undefined }

export type RequestOf<K extends Request['kind']> = Extract<Request, { kind: K }>

export interface StepRequest {
  kind: 'step'
  body: (tools: StepTools) => unknown
  options: StepOptions
  timeoutMs: number | undefined
  limit?: PermitRequest | undefined
  /** Of what the code says the body works with. */
  inputDigest?: string | undefined
  /** It is asked again until its result is truthy. */
  rhythm?: Rhythm
  /** Adds the line that called it to the stack of an error. */
  addCaller?: AddCaller
}

export interface CallbackRequest {
  kind: 'callback'
  ms?: number | undefined
  beatMs?: number | undefined
  schema: CallbackOptions<unknown>['schema']
  question?: string | undefined
  raw?: true
  /** What its URL begins with, where the journal does not say otherwise. */
  address?: string | undefined
}

/** One call of the workflow code, from the call to its settlement. */
export class Operation {
  readonly id: string
  readonly request: Request
  /** What it needs a permit of. */
  readonly limit: PermitRequest | undefined
  /** In which turn it was called: what is called later knows more. */
  readonly turn: number
  readonly promise: Promise<unknown>
  /** How far an `until` has got. The journal does not know. */
  rounds: Rounds = NO_ROUNDS
  /** Called once, when it settles or is withdrawn. Only live: nothing sets it while the journal is replayed. */
  onSettled: (() => void) | undefined
  /**
   * How often the run had been asked to stop by then. Infinity for a compensation, which no such request is meant
   * for.
   */
  private readonly stopsBefore: number
  private known: Facts | undefined
  private isSettled = false
  private resolvePromise!: (value: unknown) => void
  private rejectPromise!: (error: Error) => void

  constructor(id: string, request: Request, facts: Facts | undefined, turn: number, stopsBefore: number) {
    this.id = id
    this.request = request
    this.limit = request.kind === 'step' || request.kind === 'task' ? request.limit : undefined
    this.known = facts
    this.turn = turn
    this.stopsBefore = stopsBefore
    this.promise = new Promise((resolve, reject) => {
      this.resolvePromise = resolve
      this.rejectPromise = reject
    })
  }

  get kind(): OpKind {
    return this.request.kind
  }

  get settled(): boolean {
    return this.isSettled
  }

  /** What the journal says of it. */
  get facts(): Facts | undefined {
    return this.known
  }

  /** The journal says more of it from now on. */
  learn(event: FactEvent): void {
    this.known = applyFact(this.known ?? { kind: this.kind, failures: 0 }, event)
  }

  /** The child it waits for was ended with its failed parent. */
  lose(): void {
    if (this.known) this.known.isLost = true
  }

  /** Whether the nth request to stop the run is meant for it: not for an undo, nor for what was called since. */
  isStoppedBy(nth: number): boolean {
    return this.stopsBefore < nth
  }

  /** Its race or map goes on without it. Code that awaits its promise waits for ever. */
  withdraw(): void {
    this.end()
  }

  resolve(value: unknown): void {
    this.end()
    this.resolvePromise(value)
  }

  reject(error: Error): void {
    this.end()
    // A rejected branch that no code awaits must not take the whole process down.
    this.promise.catch(() => {})
    this.rejectPromise(error)
  }

  private end(): void {
    this.isSettled = true
    this.onSettled?.()
  }
}

/** A detached child: the code does not wait for its end. */
export function isDetached({ request }: Operation): boolean {
  return request.kind === 'child' && request.options.detached === true
}

/** Something of it is in other hands: a run of its own, a worker. */
export function isElsewhere(operation: Operation | undefined): boolean {
  return operation?.kind === 'child' || operation?.kind === 'task'
}
