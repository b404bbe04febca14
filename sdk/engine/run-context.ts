import type {
  Callback,
  CallbackOptions,
  ChildOptions,
  Context,
  InvokeOptions,
  Logger,
  MapOptions,
  RawCallbackOptions,
  RunInfo,
  StepOptions,
  StepTools,
  TaskOptions,
  WaitOptions,
} from '../context.ts'
import type { Functions, LogLevel, LogSink } from '../ports.ts'
import type { AnySignal, AnyWorkflow } from '../workflow.ts'
import type { AddCaller } from './call-sites.ts'
import { callbackRequest } from './callback-request.ts'
import { callbackToken, callbackUrl } from './callback-token.ts'
import { type Duration, milliseconds, millisecondsOrZero, pointInTime } from './duration.ts'
import { FatalError, InvalidInputError } from './errors.ts'
import type { Json } from './json.ts'
import { checkName, checkRunId, escapeName } from './names.ts'
import type { Request } from './operation.ts'
import type { Replay } from './replay.ts'
import { checkRetryPolicy } from './retry.ts'
import { taskPolicy } from './task-policy.ts'
import { decode, encode, encodePlain } from './values.ts'

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
  signals?: readonly AnySignal[]
  /** Failed steps are to show the lines that called them. */
  traceCall?: () => AddCaller
  /** Bodies that stand in for steps of that name. */
  stubs: ReadonlyMap<string, StepBody> | undefined
}

type StepRequest = Extract<Request, { kind: 'step' }>
export type StepBody = (tools: StepTools) => unknown

/** The `ctx` of workflow code. `scope` is the prefix of every identity made through it. */
export class RunContext implements Context {
  private readonly shared: Shared
  private readonly replay: Replay
  private readonly path: string
  private readonly isCleanUp: boolean

  constructor(shared: Shared, path = '', isCleanUp = false) {
    this.shared = shared
    this.replay = shared.replay
    this.path = path
    this.isCleanUp = isCleanUp
  }

  get info(): RunInfo {
    return this.shared.info
  }

  get log(): Logger {
    return this.shared.log
  }

  step<T>(name: string, body: (tools: StepTools) => T | Promise<T>, options: StepOptions = NO_OPTIONS): Promise<T> {
    checkName('a step name', name)
    if (typeof body !== 'function') throw new InvalidInputError(`step '${name}': the second argument must be the function to run`)
    let timeoutMs: number | undefined
    if (options !== NO_OPTIONS) {
      if (options.retry) checkRetryPolicy(options.retry, `step '${name}'`)
      if (options.timeout !== undefined) timeoutMs = milliseconds(options.timeout, `the timeout of step '${name}'`)
    }
    const stub = this.shared.stubs?.get(name)
    const request: StepRequest = { kind: 'step', body: stub ?? body, options, timeoutMs }
    const operation = this.replay.call(this.path, name, request, this.isCleanUp)
    // Only for a body that is about to run: in replay there are very many that are not.
    if (this.shared.traceCall && (!operation.facts || operation.facts.failures > 0)) request.addCaller = this.shared.traceCall()
    return operation.promise as Promise<T>
  }

  invoke<T>(functionName: string, payload?: unknown, options: InvokeOptions = {}): Promise<T> {
    const { functions } = this.shared
    const plain = encodePlain(payload, `the payload for function '${functionName}'`)
    const { name = functionName.slice(functionName.lastIndexOf(':') + 1), ...stepOptions } = options
    const call = ({ idempotencyKey, signal }: StepTools): Promise<unknown> => {
      if (!functions)
        throw new FatalError(`this world has no functions, so ctx.invoke('${functionName}') cannot work here; give it some, or stub the step '${name}'`)
      return functions.invoke(functionName, plain, { idempotencyKey, signal })
    }
    return this.step(name, call, stepOptions) as Promise<T>
  }

  task<T>(type: string, input?: unknown, options: TaskOptions = {}): Promise<T> {
    checkName('a task type', type)
    const { name = type } = options
    checkName('a task name', name)
    const policy = taskPolicy(options, `task '${name}'`)
    return this.replay.call(this.path, name, { kind: 'task', type, input, policy }).promise as Promise<T>
  }

  sleep(nameOrDuration: string | Duration, maybeDuration?: Duration): Promise<void> {
    const [name, duration] = maybeDuration === undefined ? ['sleep', nameOrDuration as Duration] : [nameOrDuration as string, maybeDuration]
    checkName('a sleep name', name)
    const ms = millisecondsOrZero(duration, `the sleep '${name}'`)
    return this.replay.call(this.path, name, { kind: 'sleep', ms }).promise as Promise<void>
  }

  sleepUntil(nameOrDate: string | Date | number, maybeDate?: Date | string | number): Promise<void> {
    const [name, date] = maybeDate === undefined ? ['sleep', nameOrDate] : [nameOrDate as string, maybeDate]
    checkName('a sleep name', name)
    const until = pointInTime(date, this.replay.now, `the sleep '${name}'`)
    return this.replay.call(this.path, name, { kind: 'sleep', until }).promise as Promise<void>
  }

  waitFor<T>(signal: AnySignal<T>, options: WaitOptions = {}): Promise<T> {
    const declared = this.shared.signals?.map(({ name }) => name)
    if (declared?.includes(signal.name) === false)
      throw new FatalError(`the workflow does not declare signal '${signal.name}'; add it to its signals: ${declared}`)
    const ms = options.timeout === undefined ? undefined : milliseconds(options.timeout, `the timeout of the wait for '${signal.name}'`)
    return this.replay.call(this.path, signal.name, { kind: 'wait', signal, ms }).promise as Promise<T>
  }

  // biome-ignore lint/suspicious/noExplicitAny: the interface's overloads carry the types
  callback(name: string, options: CallbackOptions<any> | RawCallbackOptions = {}): Callback<any> {
    const request = callbackRequest(name, options, this.shared.publicUrl)
    const operation = this.replay.call(this.path, name, request)
    const opened = operation.facts?.opened
    // The same on every replay, also behind another address than the one that was handed out.
    const address = opened?.type === 'callback.created' ? opened.address : request.address
    const token = callbackToken(this.replay.run, operation.id)
    return { url: callbackUrl(address, token), token, promise: operation.promise }
  }

  // biome-ignore lint/suspicious/noExplicitAny: the interface's overloads carry the types
  run(workflow: AnyWorkflow, input: unknown, options: ChildOptions = {}): Promise<any> {
    if (options.id !== undefined) checkRunId(options.id)
    const operation = this.replay.call(this.path, workflow.name, { kind: 'child', workflow, input, options })
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
  async map<I, O>(name: string, items: readonly I[], body: (ctx: Context, item: I, index: number) => Promise<O>, options: MapOptions = {}): Promise<any> {
    checkName('a map name', name)
    const { concurrency = items.length, tolerate } = options
    if (items.length > 0 && !(concurrency >= 1)) throw new InvalidInputError(`map '${name}': concurrency must be at least 1, got ${concurrency}`)
    const outer = this.inside(name)
    this.replay.checkMap(outer.path, items)
    const results: PromiseSettledResult<O>[] = new Array(items.length)
    let next = 0
    let failures = 0
    let tooMany = false
    const lane = async () => {
      while (next < items.length && !tooMany) {
        const index = next++
        try {
          results[index] = { status: 'fulfilled', value: await body(outer.inside(String(index)), items[index]!, index) }
        } catch (reason) {
          results[index] = { status: 'rejected', reason }
          if (++failures <= (tolerate ?? 0)) continue
          tooMany = true
          throw reason
        }
      }
    }
    await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, lane))
    return tolerate === undefined ? results.map((result) => (result as PromiseFulfilledResult<O>).value) : results
  }

  compensate(name: string, undo: StepBody, options?: StepOptions): void {
    checkName('a compensation name', name)
    this.replay.assertCallable(`ctx.compensate('${name}')`)
    this.shared.compensations.push({ name, undo, options })
  }

  continueAsNew(input?: unknown): Promise<never> {
    return this.replay.continueAsNew(decode(encode(input, `the input of ctx.continueAsNew in workflow '${this.info.workflow}'`)))
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

  inside(name: string, isCleanUp = this.isCleanUp): RunContext {
    return new RunContext(this.shared, `${this.path}${escapeName(name)}/`, isCleanUp)
  }
}

const NO_OPTIONS: StepOptions = Object.freeze({})

/** Says each thing once: nothing while the journal is being replayed. */
export function replayAwareLogger(replay: Replay, sink: LogSink): Logger {
  const at =
    (level: LogLevel) =>
    (message: string, fields: Record<string, unknown> = {}) => {
      if (!replay.replaying) sink(level, message, { runId: replay.run.id, workflow: replay.run.workflow, ...fields })
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
