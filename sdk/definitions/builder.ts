import { type Duration, milliseconds } from '../base/duration.ts'
import type { Json } from '../base/json.ts'
import type { RetryPolicy } from '../engine/retry.ts'
import type { AnyWorkflow, Workflow } from '../workflow.ts'
import { type DefinedWorkflow, define, handler, type NamedHandler } from './define.ts'
import type { TaskInput } from './interpret.ts'
import type { Definition, Step } from './schema.ts'

type Task<In, Parents> = Omit<TaskInput, 'input' | 'parents'> & {
  readonly input: In
  readonly parents: Readonly<Parents>
}

interface Placed<P extends string> {
  after?: P | readonly P[]
  onParentFailure?: 'cancel' | 'skip'
}

interface TaskOptions<P extends string> extends Placed<P> {
  timeout?: Duration
  retry?: Omit<RetryPolicy, 'retryIf'>
}

interface WorkerOptions<P extends string> extends TaskOptions<P> {
  /**
   * What the worker gets; the input of the run unless given. A string `{{ expression }}` is replaced by the
   * value of the expression.
   */
  config?: Json
  heartbeatTimeout?: Duration
  maxIterations?: number
}

/** Starts a graph of steps: `dag('name').task(…).sleep(…).build()`. `In` is the input of its runs. */
export function dag<In = unknown>(name: string, version?: string | number): Dag<In, {}> {
  return new Dag<In, {}>({ name, ...(version !== undefined && { version }), steps: [] }, [], [])
}

/** `Outs` are the outputs so far, by name: a step can only follow an existing step, whose output it sees. */
export class Dag<In, Outs extends object> {
  private readonly definition: Definition
  private readonly handlers: readonly NamedHandler[]
  private readonly workflows: readonly AnyWorkflow[]

  constructor(definition: Definition, handlers: readonly NamedHandler[], workflows: readonly AnyWorkflow[]) {
    this.definition = definition
    this.handlers = handlers
    this.workflows = workflows
  }

  task<N extends string, O, P extends keyof Outs & string = never>(
    name: N,
    run: (task: Task<In, Pick<Outs, P>>) => O | Promise<O>,
    options: TaskOptions<P> = {},
  ): Dag<In, Outs & Record<N, O>> {
    const step: Step = { type: 'task', name, handler: name, ...tries(name, options) }
    return this.with(step, handler(name, run as (task: TaskInput) => unknown))
  }

  /** Dispatches a task of this type to a worker. */
  worker<O = unknown, N extends string = string, P extends keyof Outs & string = never>(
    name: N,
    type: string,
    options: WorkerOptions<P> = {},
  ): Dag<In, Outs & Record<N, O>> {
    const { config, heartbeatTimeout, maxIterations } = options
    return this.with({
      type: 'task',
      name,
      worker: type,
      ...tries(name, options),
      ...(config !== undefined && { config }),
      ...(heartbeatTimeout !== undefined && {
        heartbeatTimeoutMs: milliseconds(heartbeatTimeout, `the heartbeatTimeout of task '${name}'`),
      }),
      ...(maxIterations !== undefined && { maxIterations }),
    })
  }

  sleep<N extends string, P extends keyof Outs & string = never>(
    name: N,
    duration: Duration,
    options: Placed<P> = {},
  ): Dag<In, Outs & Record<N, void>> {
    return this.with({
      type: 'wait',
      name,
      durationMs: milliseconds(duration, `the sleep '${name}'`),
      ...place(options),
    })
  }

  sleepUntil<N extends string, P extends keyof Outs & string = never>(
    name: N,
    date: Date | string,
    options: Placed<P> = {},
  ): Dag<In, Outs & Record<N, void>> {
    return this.with({ type: 'wait', name, untilTimestamp: new Date(date).toISOString(), ...place(options) })
  }

  /** Waits for a signal of this name; undefined if it does not come in time. */
  signal<T, N extends string = string, P extends keyof Outs & string = never>(
    name: N,
    options: Placed<P> & { timeout?: Duration } = {},
  ): Dag<In, Outs & Record<N, T | undefined>> {
    const { timeout } = options
    return this.with({
      type: 'signal',
      name,
      ...place(options),
      ...(timeout !== undefined && { timeoutMs: milliseconds(timeout, `the timeout of signal '${name}'`) }),
    })
  }

  /** Runs another workflow with the same input. */
  run<N extends string, O, P extends keyof Outs & string = never>(
    name: N,
    child: Workflow<In, O>,
    options: Placed<P> = {},
  ): Dag<In, Outs & Record<N, O>> {
    const step: Step = { type: 'workflow', name, workflow: child.name, ...place(options) }
    return new Dag({ ...this.definition, steps: [...this.definition.steps, step] }, this.handlers, [
      ...this.workflows,
      child,
    ])
  }

  build(): DefinedWorkflow<In> {
    return define<In>(this.definition, { handlers: this.handlers, workflows: this.workflows })
  }

  private with<Next extends object>(step: Step, added?: NamedHandler): Dag<In, Next> {
    return new Dag(
      { ...this.definition, steps: [...this.definition.steps, step] },
      added ? [...this.handlers, added] : this.handlers,
      this.workflows,
    )
  }
}

/** In a graph from the builder, a step without `after` begins at once; it does not follow the previous step. */
function place({ after = [], onParentFailure }: Placed<string>): Pick<Step, 'after' | 'onParentFailure'> {
  return { after: typeof after === 'string' ? after : [...after], ...(onParentFailure && { onParentFailure }) }
}

function tries(name: string, { timeout, retry, ...placed }: TaskOptions<string>) {
  return {
    ...place(placed),
    ...(timeout !== undefined && { timeoutMs: milliseconds(timeout, `the timeout of task '${name}'`) }),
    ...(retry && { retry: retryOf(name, retry) }),
  }
}

function retryOf(name: string, { attempts, initial, factor, max, jitter }: Omit<RetryPolicy, 'retryIf'>) {
  return {
    ...(attempts !== undefined && { attempts }),
    ...(initial !== undefined && { initialMs: milliseconds(initial, `the retry of task '${name}'`) }),
    ...(factor !== undefined && { factor }),
    ...(max !== undefined && { maxMs: milliseconds(max, `the retry of task '${name}'`) }),
    ...(jitter !== undefined && { jitter }),
  }
}
