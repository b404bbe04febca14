import { type Duration, milliseconds, millisecondsOrZero } from './base/duration.ts'
import { InvalidInputError, UnknownWorkflowError } from './base/errors.ts'
import { checkName } from './base/names.ts'
import type { Schema, SchemaIn, SchemaOut } from './base/schema.ts'
import type { Context } from './context.ts'
import { checkRetryPolicy, type RetryPolicy } from './engine/retry.ts'
import { type FlowOptions, limitsOf, type WorkflowLimit } from './flow/options.ts'

// biome-ignore lint/suspicious/noExplicitAny: without a schema the author's own annotation is the type
type Parsed<In> = In extends Schema ? SchemaOut<In> : any

export interface WorkflowOptions<
  In extends Schema | undefined = Schema | undefined,
  Out extends Schema | undefined = Schema | undefined,
> extends FlowOptions<Parsed<In>> {
  input?: In
  output?: Out
  /** Runs stay on the version they started with; versions live side by side. Default 1. */
  version?: number
  /** For the whole run, from its start to its end. */
  timeout?: Duration
  /** Runs the whole workflow again when it fails. Off unless given. */
  retry?: RetryPolicy
  /**
   * Tags of its runs, for finding them: the same for all of them, or made of each run's input (`({ customer
   * }) => [`customer:${customer}`]`).
   */
  tags?: string[] | ((input: Parsed<In>) => string[])
  /**
   * The types of tasks that it dispatches to external workers. If they are declared, a type without a queue
   * is reported before a deployment, and an undeclared type wherever the workflow runs. Unless given, any
   * type may be dispatched.
   */
  tasks?: readonly string[]
  /**
   * The signals and requests that it waits for. If they are declared, sending a misspelt one is refused, and
   * so is a wait for an undeclared one. Unless given, every signal is kept, and `keptSignals` shows those
   * that the run does not wait for.
   */
  signals?: readonly (AnySignal | AnyRequest)[]
  /**
   * How long an ended run is kept. Default 30 days. With 0 it is erased a minute after its end, when its
   * callers have read the outcome.
   */
  retention?: Duration
}

/** `I` is what a caller passes, `O` what the run returns. */
export interface Workflow<I = unknown, O = unknown> {
  readonly name: string
  readonly version: number
  readonly options: WorkflowOptions
  readonly timeoutMs: number | undefined
  readonly retentionMs: number
  /** Its own limits, in the order in which a run passes them. */
  readonly limits: readonly WorkflowLimit[]
  // biome-ignore lint/suspicious/noExplicitAny: the parsed input's type differs from what callers pass
  readonly body: (ctx: Context, input: any) => Promise<O>
  /** Only for inference. */
  readonly '~input'?: (input: I) => void
}

// biome-ignore lint/suspicious/noExplicitAny: a registry holds workflows of every type
export type AnyWorkflow = Workflow<any, any>

const DEFAULT_RETENTION = '30d'

/** The code returns what the schema takes as input; callers of `result` get the schema's output. */
type Body<I, Parsed, O> = (ctx: Context<NoInfer<I>>, input: Parsed) => Promise<O>

export function workflow<In extends Schema, O>(
  name: string,
  options: WorkflowOptions<In, undefined> & { input: In; batch: NonNullable<WorkflowOptions<In>['batch']> },
  body: Body<SchemaIn<In>, SchemaOut<In>[], O>,
): Workflow<SchemaIn<In>, O>
// biome-ignore lint/suspicious/noExplicitAny: as below
export function workflow<O, I = any>(
  name: string,
  options: WorkflowOptions<undefined, undefined> & { input?: undefined; batch: NonNullable<WorkflowOptions['batch']> },
  body: Body<I, I[], O>,
): Workflow<I, O>
export function workflow<In extends Schema, Out extends Schema>(
  name: string,
  options: WorkflowOptions<In, Out> & { input: In; output: Out },
  body: Body<SchemaIn<In>, SchemaOut<In>, SchemaIn<Out>>,
): Workflow<SchemaIn<In>, SchemaOut<Out>>
export function workflow<In extends Schema, O>(
  name: string,
  options: WorkflowOptions<In, undefined> & { input: In },
  body: Body<SchemaIn<In>, SchemaOut<In>, O>,
): Workflow<SchemaIn<In>, O>
// biome-ignore lint/suspicious/noExplicitAny: without a schema the author's own annotation is the type
export function workflow<Out extends Schema, I = any>(
  name: string,
  options: WorkflowOptions<undefined, Out> & { output: Out },
  body: Body<I, I, SchemaIn<Out>>,
): Workflow<I, SchemaOut<Out>>
// biome-ignore lint/suspicious/noExplicitAny: as above
export function workflow<O, I = any>(
  name: string,
  options: WorkflowOptions<undefined, undefined>,
  body: Body<I, I, O>,
): Workflow<I, O>
// biome-ignore lint/suspicious/noExplicitAny: as above
export function workflow<O, I = any>(name: string, body: Body<I, I, O>): Workflow<I, O>
export function workflow(
  name: string,
  optionsOrBody: WorkflowOptions | Workflow['body'],
  maybeBody?: Workflow['body'],
): AnyWorkflow {
  const [options, body] = typeof optionsOrBody === 'function' ? [{}, optionsOrBody] : [optionsOrBody, maybeBody]
  checkName('a workflow name', name)
  if (typeof body !== 'function')
    throw new InvalidInputError(
      `workflow '${name}': the last argument must be its function, as in workflow('${name}', async (ctx, input) => …)`,
    )
  const version = options.version ?? 1
  if (!Number.isInteger(version) || version < 1)
    throw new InvalidInputError(`workflow '${name}': version must be a whole number from 1, got ${version}`)
  if (typeof options.tags !== 'function')
    for (const tag of options.tags ?? []) checkName(`a tag of workflow '${name}'`, tag)
  for (const type of options.tasks ?? []) checkName(`a task type of workflow '${name}'`, type)
  checkSignals(name, options.signals ?? [])
  if (options.retry) checkRetryPolicy(options.retry, `workflow '${name}'`)
  return {
    name,
    version,
    options,
    timeoutMs:
      options.timeout === undefined ? undefined : milliseconds(options.timeout, `the timeout of workflow '${name}'`),
    retentionMs: millisecondsOrZero(options.retention ?? DEFAULT_RETENTION, `the retention of workflow '${name}'`),
    limits: limitsOf(name, options),
    body,
  }
}

function checkSignals(workflow: string, signals: readonly { name: string }[]): void {
  const seen = new Set<string>()
  for (const each of signals) {
    if (typeof each?.name !== 'string')
      throw new InvalidInputError(
        `workflow '${workflow}': \`signals\` is a list of signals and requests, as in [signal('paid')], got ` +
          `${JSON.stringify(each)}`,
      )
    if (seen.has(each.name))
      throw new InvalidInputError(
        `workflow '${workflow}': two of its signals are named '${each.name}'; give one of them another name`,
      )
    seen.add(each.name)
  }
}

/** `T` is what the code receives (the schema's output), `In` what a sender passes. */
export interface Signal<T = unknown, In = T> {
  readonly name: string
  readonly schema: Schema<unknown, T> | undefined
  /** Only for inference. */
  readonly '~sent'?: (payload: In) => void
}

/** A signal with any payload. */
export type AnySignal<T = unknown> = Signal<T, never>

export function signal<S extends Schema>(name: string, schema: S): Signal<SchemaOut<S>, SchemaIn<S>>
export function signal<T = unknown>(name: string): Signal<T>
export function signal(name: string, schema?: Schema): Signal {
  checkName('a signal name', name)
  return { name, schema }
}

/**
 * A signal with a reply. `P` is what the code receives and `In` what a sender passes; `R` is what the code
 * replies and `Out` what the asker gets.
 */
export interface RunRequest<P = unknown, In = P, R = unknown, Out = R> {
  readonly name: string
  readonly schema: Schema<unknown, P> | undefined
  readonly replySchema: Schema<unknown, Out> | undefined
  readonly isRequest: true
  /** Only for inference. */
  readonly '~sent'?: (payload: In) => void
  readonly '~replied'?: (value: R) => void
}

/** A request, with any payload and any reply. */
export type AnyRequest<P = unknown, R = never> = RunRequest<P, never, R, unknown>

export function request<P extends Schema, R extends Schema>(
  name: string,
  schemas: { payload: P; reply: R },
): RunRequest<SchemaOut<P>, SchemaIn<P>, SchemaIn<R>, SchemaOut<R>>
export function request<P extends Schema>(
  name: string,
  schemas: { payload: P; reply?: undefined },
): RunRequest<SchemaOut<P>, SchemaIn<P>>
export function request<R extends Schema>(
  name: string,
  schemas: { payload?: undefined; reply: R },
): RunRequest<unknown, unknown, SchemaIn<R>, SchemaOut<R>>
export function request<P = unknown, R = unknown>(name: string): RunRequest<P, P, R>
export function request(
  name: string,
  schemas?: { payload?: Schema | undefined; reply?: Schema | undefined },
): RunRequest {
  const { payload, reply } = schemas ?? {}
  checkName('a request name', name)
  if (payload === undefined && reply === undefined && schemas !== undefined && Object.keys(schemas).length > 0)
    throw new InvalidInputError(
      `request '${name}': the second argument is { payload, reply }, each a schema; give { payload: yourSchema }`,
    )
  return { name, schema: payload, replySchema: reply, isRequest: true }
}

export const isRequest = (signal: object): signal is RunRequest => 'isRequest' in signal

/** Where workflows are found. Workflows in the code are returned synchronously: their runs do not wait here. */
export interface WorkflowSource {
  /** For a new run: the latest version, unless another one is asked for. */
  toStart(name: string, version?: number): AnyWorkflow | Promise<AnyWorkflow>
  /** For a run that exists. */
  exact(name: string, version: number): AnyWorkflow | Promise<AnyWorkflow>
  /** False if a run of it would find no code here. Called before a child is started, so it reads nothing. */
  knows(workflow: AnyWorkflow): boolean
}

/** The workflows a runner knows, by name and version. */
export class Registry implements WorkflowSource {
  private readonly byName = new Map<string, Map<number, AnyWorkflow>>()

  constructor(workflows: Iterable<AnyWorkflow>) {
    for (const workflow of workflows) {
      const versions = this.byName.get(workflow.name) ?? new Map<number, AnyWorkflow>()
      if (versions.has(workflow.version))
        throw new InvalidInputError(
          `two workflows are named '${workflow.name}' with version ${workflow.version}; give one of them ` +
            'another name, or another version if it is the same workflow with changed code',
        )
      versions.set(workflow.version, workflow)
      this.byName.set(workflow.name, versions)
    }
  }

  latest(name: string): AnyWorkflow {
    const versions = this.byName.get(name)
    if (!versions)
      throw new UnknownWorkflowError(
        `${this.whatIsMissing(name)}. Is it spelt right, and does the entry file export it?`,
      )
    return versions.get(Math.max(...versions.keys()))!
  }

  toStart(name: string, version?: number): AnyWorkflow {
    const latest = this.latest(name)
    const found = version === undefined ? latest : this.find(name, version)
    if (!found)
      throw new UnknownWorkflowError(
        `${this.whatIsMissing(name, version)}. Is it the right one, and does the entry file export it?`,
      )
    return found
  }

  has(name: string): boolean {
    return this.byName.has(name)
  }

  find(name: string, version: number): AnyWorkflow | undefined {
    return this.byName.get(name)?.get(version)
  }

  knows({ name, version }: AnyWorkflow): boolean {
    return this.find(name, version) !== undefined
  }

  exact(name: string, version: number): AnyWorkflow {
    const found = this.find(name, version)
    if (found) return found
    const what = this.whatIsMissing(name, version)
    throw new UnknownWorkflowError(
      `${what}. Does the entry file export it? Runs need the code they began with until they end: once it is ` +
        'deployed again, retry those that are stuck',
    )
  }

  private whatIsMissing(name: string, version?: number): string {
    const versions = this.byName.get(name)
    if (versions)
      return `workflow '${name}' has no version ${version}; known versions: ${[...versions.keys()].join(', ')}`
    return `no workflow is named '${name}'; known: ${this.names().join(', ') || 'none'}`
  }

  names(): string[] {
    return [...this.byName.keys()].sort()
  }

  /** Oldest first. */
  versionsOf(name: string): number[] {
    return [...(this.byName.get(name)?.keys() ?? [])].sort((a, b) => a - b)
  }

  all(): AnyWorkflow[] {
    return [...this.byName.values()].flatMap((versions) => [...versions.values()])
  }
}
