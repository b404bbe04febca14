import { FatalError } from '../base/errors.ts'
import type { Context, StepOptions, StepTools, TaskOptions } from '../context.ts'
import type { RetryPolicy } from '../engine/retry.ts'
import { evaluate } from '../jsonata/evaluate.ts'
import { type AnyWorkflow, signal } from '../workflow.ts'
import { fillIn, type Scope } from './expressions.ts'
import { graphOf, parentsFirst } from './graph.ts'
import type { Definition, Step } from './schema.ts'

/** What a handler gets besides the tools of every step. */
export interface TaskInput extends StepTools {
  readonly input: unknown
  readonly config: unknown
  /** The outputs of the steps right before this one, by name. */
  readonly parents: Readonly<Record<string, unknown>>
  /** In a map: the item and its place. */
  readonly item?: unknown
  readonly index?: number
}

// biome-ignore lint/suspicious/noExplicitAny: handlers say themselves what they expect
export type Handler = (task: any) => unknown

export interface Parts {
  handlers: ReadonlyMap<string, Handler>
  workflows: ReadonlyMap<string, AnyWorkflow>
}

/** Called when a step begins, ends or is skipped. */
export type Trace = (step: string, state: 'begun' | Outcome['state']) => void

type Outcome = { state: 'completed'; output: unknown } | { state: 'skipped' } | { state: 'failed'; error: unknown }

export interface DefinitionResult {
  outputs: Record<string, unknown>
  /** Skipped steps: on a branch not taken, or after a failed step with `onParentFailure: 'skip'`. */
  skipped: string[]
  failed: string[]
}

/**
 * Runs a definition on an ordinary `ctx`. Every step is a promise that waits for those before it, so whatever is ready
 * runs, and the whole costs as much as there are steps and arrows.
 */
export async function interpret(
  ctx: Context,
  definition: Definition,
  input: unknown,
  parts: Parts,
  trace?: Trace,
): Promise<DefinitionResult> {
  const { parents } = graphOf(definition)
  const outcomes = new Map<string, Promise<Outcome>>()
  const scope: Scope = { input, steps: {} }
  const result: DefinitionResult = { outputs: {}, skipped: [], failed: [] }
  /** Steps on the sides of branches that were not taken. */
  const spared = new Set<string>()
  let fatal: Error | undefined

  const visit = async (step: Step): Promise<Outcome> => {
    const outcome = await follow(step)
    trace?.(step.name, outcome.state)
    return outcome
  }

  const follow = async (step: Step): Promise<Outcome> => {
    const names = parents.get(step.name)!
    const before = await Promise.all(names.map((name) => outcomes.get(name)!))
    const fate = decide(step, names, before)
    if (fate !== 'run') return fate
    trace?.(step.name, 'begun')
    try {
      const output = await perform(step, names)
      result.outputs[step.name] = output
      scope.steps[step.name] = output
      return { state: 'completed', output }
    } catch (error) {
      result.failed.push(step.name)
      return { state: 'failed', error }
    }
  }

  const decide = (step: Step, names: string[], before: Outcome[]): 'run' | Outcome => {
    const leaveOut = (): Outcome => {
      result.skipped.push(step.name)
      return { state: 'skipped' }
    }
    const failedAt = before.findIndex(({ state }) => state === 'failed')
    if (failedAt !== -1) {
      if (step.onParentFailure !== 'skip')
        fatal ??= new FatalError(
          `step '${names[failedAt]}' failed, so '${step.name}' and what comes after it did not run`,
          {
            cause: (before[failedAt] as { error: unknown }).error,
          },
        )
      return leaveOut()
    }
    const isCutOff = before.length > 0 && before.every(({ state }) => state === 'skipped')
    return spared.has(step.name) || isCutOff || fatal ? leaveOut() : 'run'
  }

  const perform = async (step: Step, names: string[]): Promise<unknown> => {
    const outputsOfParents = () =>
      Object.fromEntries(
        names.filter((name) => Object.hasOwn(result.outputs, name)).map((name) => [name, result.outputs[name]]),
      )
    switch (step.type) {
      case 'task': {
        const config = await fillIn(step.config, scope, ctx)
        if (step.worker !== undefined)
          return ctx.task(step.worker, step.config === undefined ? input : config, {
            name: step.name,
            ...taskOptions(step),
          })
        if (step.lambda !== undefined) return ctx.invoke(step.lambda, config, { name: step.name, ...stepOptions(step) })
        const given = { input, config, parents: outputsOfParents() }
        return ctx.step(
          step.name,
          (tools) => handlerOf(parts, step.handler!)(taskInput(tools, given)),
          stepOptions(step),
        )
      }
      case 'wait':
        if (step.durationMs !== undefined) return ctx.sleep(step.name, step.durationMs)
        if (step.untilTimestamp !== undefined) return ctx.sleepUntil(step.name, step.untilTimestamp)
        throw new FatalError(`wait '${step.name}' has neither durationMs nor untilTimestamp; give it one of them`)
      case 'signal':
        return ctx.scope(step.name, (inner) =>
          inner.waitFor(
            signal(step.signal ?? step.name),
            step.timeoutMs === undefined ? {} : { timeout: step.timeoutMs },
          ),
        )
      case 'workflow': {
        const child = parts.workflows.get(step.workflow)
        if (!child)
          throw new FatalError(
            `there is no workflow '${step.workflow}', which step '${step.name}' is to run; deploy it, or name another`,
          )
        const childInput = step.config === undefined ? input : await fillIn(step.config, scope, ctx)
        return ctx.scope(step.name, (inner) => inner.run(child, childInput))
      }
      case 'map': {
        const items = await evaluate(step.items, scope, ctx)
        if (!Array.isArray(items))
          throw new FatalError(
            `the items of map '${step.name}' are not a list; see what its expression makes of the input: ${step.items}`,
          )
        const given = { input, config: await fillIn(step.config, scope, ctx), parents: outputsOfParents() }
        const { concurrency, tolerate } = step
        const each = (inner: Context, item: unknown, index: number) =>
          inner.step(
            'item',
            (tools) => handlerOf(parts, step.handler)(taskInput(tools, { ...given, item, index })),
            stepOptions(step),
          )
        const lanes = concurrency === undefined ? {} : { concurrency }
        if (tolerate === undefined) return ctx.map(step.name, items, each, lanes)
        const { reason, results } = await ctx.map(step.name, items, each, { ...lanes, tolerate })
        const failure = results.findLast((result) => result.status === 'rejected')
        if (reason === 'too many failed') throw failure!.reason
        return results
      }
      case 'branch': {
        const isTaken = Boolean(await evaluate(`$boolean(${step.condition})`, scope, ctx))
        for (const name of (isTaken ? step.ifFalse : step.ifTrue) ?? []) spared.add(name)
        return isTaken
      }
    }
  }

  for (const step of parentsFirst(definition.steps, ({ name }) => parents.get(name)!))
    outcomes.set(step.name, visit(step))
  const haveChildren = new Set([...parents.values()].flat())
  for (const [name, outcome] of outcomes) {
    const ended = await outcome
    // No later step decides about its failure, so the failure fails the run.
    if (ended.state === 'failed' && !haveChildren.has(name)) fatal ??= ended.error as Error
  }
  if (fatal) throw fatal
  return result
}

function handlerOf(parts: Parts, name: string): Handler {
  const handler = parts.handlers.get(name)
  if (!handler)
    throw new FatalError(`there is no handler '${name}'; known: ${[...parts.handlers.keys()].join(', ') || 'none'}`)
  return handler
}

/** Getters, so that values a handler does not read are never computed. */
function taskInput(
  tools: StepTools,
  given: Pick<TaskInput, 'input' | 'config' | 'parents' | 'item' | 'index'>,
): TaskInput {
  return {
    ...given,
    attempt: tools.attempt,
    lastCheckpoint: tools.lastCheckpoint,
    get idempotencyKey() {
      return tools.idempotencyKey
    },
    get signal() {
      return tools.signal
    },
    heartbeat: tools.heartbeat,
    checkpoint: tools.checkpoint,
    pause: tools.pause,
  }
}

function taskOptions(step: Extract<Step, { type: 'task' }>): TaskOptions {
  const { heartbeatTimeoutMs, maxIterations } = step
  return {
    ...stepOptions(step),
    ...(heartbeatTimeoutMs !== undefined && { heartbeatTimeout: heartbeatTimeoutMs }),
    ...(maxIterations !== undefined && { maxIterations }),
  }
}

function stepOptions(step: {
  retry?: { attempts?: number; initialMs?: number; factor?: number; maxMs?: number; jitter?: boolean }
  timeoutMs?: number
}): StepOptions {
  const { retry, timeoutMs } = step
  const policy: RetryPolicy = {
    ...(retry?.attempts !== undefined && { attempts: retry.attempts }),
    ...(retry?.initialMs !== undefined && { initial: retry.initialMs }),
    ...(retry?.factor !== undefined && { factor: retry.factor }),
    ...(retry?.maxMs !== undefined && { max: retry.maxMs }),
    ...(retry?.jitter !== undefined && { jitter: retry.jitter }),
  }
  return { ...(retry && { retry: policy }), ...(timeoutMs !== undefined && { timeout: timeoutMs }) }
}
