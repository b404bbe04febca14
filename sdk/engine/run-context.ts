import { type Duration, milliseconds, millisecondsOrZero, pointInTime } from '../base/duration.ts'
import { FatalError, InvalidInputError } from '../base/errors.ts'
import { canonicalJson, type Json } from '../base/json.ts'
import { checkName, checkRunId, digest, escapeName } from '../base/names.ts'
import { decode, encode, encodePlain } from '../base/values.ts'
import type {
  Branches,
  Callback,
  CallbackOptions,
  CheckTools,
  ChildOptions,
  Context,
  InvokeOptions,
  Logger,
  MapBody,
  MapOptions,
  RaceOptions,
  RawCallbackOptions,
  RunInfo,
  StepOptions,
  StepTools,
  TaskOptions,
  UntilOptions,
  WaitOptions,
} from '../context.ts'
import type { Functions, LogLevel, LogSink } from '../ports/world.ts'
import type { AnyRequest, AnySignal, AnyWorkflow } from '../workflow.ts'
import { Branch } from './branch.ts'
import type { AddCaller } from './call-sites.ts'
import { callbackRequest } from './callback-request.ts'
import { callbackToken, callbackUrl } from './callback-token.ts'
import type { PermitRequest } from './flow-port.ts'
import { limitRequest } from './limit-request.ts'
import { mapAll, mapSome } from './map.ts'
import type { StepRequest } from './operation.ts'
import { checkRace, race } from './race.ts'
import type { Replay } from './replay.ts'
import { checkRetryPolicy } from './retry.ts'
import { rhythmOf } from './rounds.ts'
import { placeOf, running } from './running.ts'
import { taskPolicy } from './task-policy.ts'
import type { Timeout } from './timers.ts'

export interface Compensation {
  name: string
  undo: StepBody
  options: StepOptions | undefined
}

/** What the contexts of one execution share. */
export interface Shared {
  replay: Replay
  info: RunInfo
  log: Logger
  compensations: Compensation[]
  setProgress: (value: Json) => void
  functions: Functions | undefined
  /** What the URLs of callbacks begin with. */
  publicUrl: string | undefined
  /** Those that the workflow declares, if it does. */
  signals?: readonly (AnySignal | AnyRequest)[]
  /** Failed steps are to show the lines that called them. */
  traceCall?: () => AddCaller
  /** Bodies that stand in for steps of that name. */
  stubs: ReadonlyMap<string, StepBody> | undefined
}

export type StepBody = (tools: StepTools) => unknown

/** The `ctx` of workflow code. `scope` is the prefix of every identity made through it. */
export class RunContext implements Context {
  private readonly shared: Shared
  private readonly replay: Replay
  private readonly path: string
  private readonly isCleanUp: boolean
  private readonly branch: Branch | undefined

  constructor(shared: Shared, path = '', isCleanUp = false, branch?: Branch) {
    this.shared = shared
    this.replay = shared.replay
    this.path = path
    this.isCleanUp = isCleanUp
    this.branch = branch
  }

  get info(): RunInfo {
    return this.shared.info
  }

  get log(): Logger {
    return this.shared.log
  }

  step<T>(name: string, body: (tools: StepTools) => T | Promise<T>, options: StepOptions = NO_OPTIONS): Promise<T> {
    checkName('a step name', name)
    if (typeof body !== 'function')
      throw new InvalidInputError(
        `step '${name}': the second argument must be the function to run, as in ctx.step('${name}', () => …)`,
      )
    let timeoutMs: number | undefined
    let inputDigest: string | undefined
    let limit: PermitRequest | undefined
    if (options !== NO_OPTIONS) {
      if (options.limit !== undefined || options.cost !== undefined)
        limit = this.limited(options, options.input, `step '${name}'`)
      if (options.input !== undefined)
        inputDigest = digest(canonicalJson(encode(options.input, `the input of step '${name}'`)))
      if (options.retry) checkRetryPolicy(options.retry, `step '${name}'`)
      if (options.timeout !== undefined) timeoutMs = milliseconds(options.timeout, `the timeout of step '${name}'`)
    }
    const stub = this.shared.stubs?.get(name)
    const request: StepRequest = { kind: 'step', body: stub ?? body, options, timeoutMs, inputDigest }
    if (limit) request.limit = limit
    const operation = this.replay.call(this.path, name, request, this.isCleanUp, this.branch)
    // Only for a body that is about to run: in replay there are very many that are not.
    if (this.shared.traceCall && (!operation.facts || operation.facts.failures > 0))
      request.addCaller = this.shared.traceCall()
    return operation.promise as Promise<T>
  }

  // biome-ignore lint/suspicious/noExplicitAny: the interface's overloads carry the types
  until<T>(name: string, check: (round: CheckTools) => T | Promise<T>, options = {} as UntilOptions): Promise<any> {
    checkName('the name of an until', name)
    if (typeof check !== 'function')
      throw new InvalidInputError(
        `until '${name}': the second argument must be the function that looks, as in ctx.until('${name}', () ` +
          "=> …, { every: '1m' })",
      )
    const rhythm = rhythmOf(options, `until '${name}'`)
    if (options.retry) checkRetryPolicy(options.retry, `until '${name}'`)
    const stepOptions = options.retry ? { retry: options.retry } : NO_OPTIONS
    const body = this.shared.stubs?.get(name) ?? ((tools: StepTools) => check(tools as StepTools & CheckTools))
    return this.replay.call(
      this.path,
      name,
      { kind: 'step', body, options: stepOptions, timeoutMs: undefined, rhythm },
      this.isCleanUp,
      this.branch,
    ).promise
  }

  invoke<T>(functionName: string, payload?: unknown, options: InvokeOptions = {}): Promise<T> {
    const { functions } = this.shared
    const plain = encodePlain(payload, `the payload for function '${functionName}'`)
    const { name = functionName.slice(functionName.lastIndexOf(':') + 1), ...stepOptions } = options
    const call = ({ idempotencyKey, signal }: StepTools): Promise<unknown> => {
      if (!functions)
        throw new FatalError(
          `there are no functions here that ctx.invoke('${functionName}') could call; give some ` +
            `(\`functions\`), or in a test stub the step '${name}'`,
        )
      return functions.invoke(functionName, plain, { idempotencyKey, signal })
    }
    return this.step(name, call, stepOptions) as Promise<T>
  }

  task<T>(type: string, input?: unknown, options: TaskOptions = {}): Promise<T> {
    checkName('a task type', type)
    const { name = type } = options
    checkName('a task name', name)
    const policy = taskPolicy(options, `task '${name}'`)
    const limit = this.limited(options, input, `task '${name}'`)
    return this.replay.call(this.path, name, { kind: 'task', type, input, policy, limit }, false, this.branch)
      .promise as Promise<T>
  }

  private limited(options: StepOptions | TaskOptions, input: unknown, what: string): PermitRequest | undefined {
    return limitRequest(options, input, what, this.replay.now)
  }

  sleep(nameOrDuration: string | Duration, maybeDuration?: Duration): Promise<void> {
    const [name, duration] =
      maybeDuration === undefined ? ['sleep', nameOrDuration as Duration] : [nameOrDuration as string, maybeDuration]
    checkName('a sleep name', name)
    const ms = millisecondsOrZero(duration, `the sleep '${name}'`)
    return this.replay.call(this.path, name, { kind: 'sleep', ms }, false, this.branch).promise as Promise<void>
  }

  sleepUntil(nameOrDate: string | Date | number, maybeDate?: Date | string | number): Promise<void> {
    const [name, date] = maybeDate === undefined ? ['sleep', nameOrDate] : [nameOrDate as string, maybeDate]
    checkName('a sleep name', name)
    const until = pointInTime(date, this.replay.now, `the sleep '${name}'`)
    return this.replay.call(this.path, name, { kind: 'sleep', until }, false, this.branch).promise as Promise<void>
  }

  // biome-ignore lint/suspicious/noExplicitAny: the interface's overloads carry the types
  waitFor(signal: AnySignal | AnyRequest, options: WaitOptions = {}): Promise<any> {
    if (typeof signal?.name !== 'string')
      throw new InvalidInputError(`ctx.waitFor takes a signal, as in ctx.waitFor(signal('paid')), got ${shown(signal)}`)
    const declared = this.shared.signals?.map(({ name }) => name)
    if (declared?.includes(signal.name) === false)
      throw new FatalError(
        `the workflow says which signals it waits for, and '${signal.name}' is none of them: ` +
          `${declared.join(', ') || 'none'}. Add it to the workflow's \`signals\``,
      )
    const request = { kind: 'wait', signal, ...waitTimeout(signal.name, options, this.replay.now) } as const
    return this.replay.call(this.path, signal.name, request, false, this.branch).promise
  }

  // biome-ignore lint/suspicious/noExplicitAny: the interface's overloads carry the types
  callback(name: string, options: CallbackOptions<any> | RawCallbackOptions = {}): Callback<any> {
    const request = callbackRequest(name, options, this.shared.publicUrl)
    const operation = this.replay.call(this.path, name, request, false, this.branch)
    const opened = operation.facts?.opened
    // The same on every replay, also behind another address than the one that was handed out.
    const address = opened?.type === 'callback.created' ? opened.address : request.address
    const token = callbackToken(this.replay.run, operation.id)
    return { url: callbackUrl(address, token), token, promise: operation.promise }
  }

  // biome-ignore lint/suspicious/noExplicitAny: the interface's overloads carry the types
  run(workflow: AnyWorkflow, input: unknown, options: ChildOptions = {}): Promise<any> {
    if (typeof workflow?.body !== 'function')
      throw new InvalidInputError(`ctx.run takes a workflow, the one that workflow(…) has made, got ${shown(workflow)}`)
    if (options.id !== undefined) checkRunId(options.id)
    const operation = this.replay.call(
      this.path,
      workflow.name,
      { kind: 'child', workflow, input, options },
      false,
      this.branch,
    )
    const opened = operation.facts?.opened
    // In format 1, and where the code did not wait for it, a detached child was taken for granted.
    if (opened?.type === 'child.started' && opened.detached && !this.replay.journal.accepted.has(operation.id)) {
      this.replay.settleAtOnce(operation, { runId: opened.run })
    }
    return operation.promise
  }

  async scope<T>(name: string, body: (ctx: Context) => Promise<T>): Promise<T> {
    checkName('a scope name', name)
    return body(this.inside(name))
  }

  // biome-ignore lint/suspicious/noExplicitAny: the interface's overloads carry the types
  async race(name: string, branches: Branches, { need }: RaceOptions = {}): Promise<any> {
    checkName('a race name', name)
    checkRace(name, branches, need)
    this.replay.assertCallable(`ctx.race('${name}')`)
    const outer = this.inside(name)
    const competitors = Object.entries(branches).map(([key, body]) => {
      const branch = new Branch(this.branch)
      return { key, branch, run: async () => body(outer.inside(key, this.isCleanUp, branch)) }
    })
    const winners = await race(this.replay, this.path + escapeName(name), competitors, need ?? 1)
    return need === undefined ? winners[0] : winners
  }

  // biome-ignore lint/suspicious/noExplicitAny: the interface's overloads carry the types
  map<I, O>(name: string, items: readonly I[], body: MapBody<I, O>, options: MapOptions<I> = {}): Promise<any> {
    const scope = this.inside(name)
    const outer = options.key
      ? new RunContext(this.shared, this.replay.groups.keyedPath(scope.path), this.isCleanUp, this.branch)
      : scope
    const inside = (key: string, branch: Branch | undefined) => outer.inside(key, this.isCleanUp, branch)
    const request = { name, path: outer.path, items, body, options, branch: this.branch, inside }
    return options.need === undefined && options.tolerate === undefined
      ? mapAll(this.replay, request)
      : mapSome(this.replay, request)
  }

  compensate(name: string, undo: StepBody, options?: StepOptions): void {
    checkName('a compensation name', name)
    this.replay.assertCallable(`ctx.compensate('${name}')`)
    this.shared.compensations.push({ name, undo, options })
  }

  continueAsNew(input?: unknown): Promise<never> {
    return this.replay.continueAsNew(
      decode(encode(input, `the input of ctx.continueAsNew in workflow '${this.info.workflow}'`)),
    )
  }

  patched(id: string): boolean {
    checkName('a patch id', id)
    return this.replay.patched(id)
  }

  now(): number {
    return this.replay.now
  }

  random(): number {
    this.replay.assertCallable('ctx.random')
    return this.replay.random().next()
  }

  uuid(): string {
    this.replay.assertCallable('ctx.uuid')
    return this.replay.random().uuid()
  }

  progress(value: unknown): void {
    this.shared.setProgress(encode(value, `the progress of workflow '${this.info.workflow}'`) ?? null)
  }

  inside(name: string, isCleanUp = this.isCleanUp, branch = this.branch): RunContext {
    return new RunContext(this.shared, `${this.path}${escapeName(name)}/`, isCleanUp, branch)
  }
}

/** When a wait for a signal ends without one: after a duration, or at a point in time. */
function waitTimeout(signal: string, { timeout, until }: WaitOptions, now: number): Timeout {
  const what = `the wait for '${signal}'`
  if (timeout !== undefined && until !== undefined)
    throw new InvalidInputError(`${what} has a \`timeout\` and an \`until\`; give one of them`)
  return {
    ms: timeout === undefined ? undefined : milliseconds(timeout, `the timeout of ${what}`),
    until: until === undefined ? undefined : pointInTime(until, now, `the \`until\` of ${what}`),
  }
}

const shown = (value: unknown): string => (typeof value === 'string' ? `'${value}'` : typeof value)

const NO_OPTIONS: StepOptions = Object.freeze({})

/** Says each thing once: nothing while the journal is being replayed. */
export function replayAwareLogger(replay: Replay, sink: LogSink): Logger {
  const at =
    (level: LogLevel) =>
    (message: string, fields: Record<string, unknown> = {}) => {
      if (replay.replaying) return
      const { id: runId, workflow } = replay.run
      const whose = running.getStore()
      // A runner may have been called from the body of another run's step.
      sink(level, message, { ...placeOf(whose?.runId === runId ? whose : { runId, workflow }), ...fields })
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
