import { asError } from '../base/error-records.ts'
import { UnknownWorkflowError } from '../base/errors.ts'
import { type Validated, validate, validateEach } from '../base/schema.ts'
import { decode } from '../base/values.ts'
import type { RunInfo } from '../context.ts'
import type { RunRecord } from '../ports/run.ts'
import { COMPENSATIONS } from '../views/undone-work.ts'
import type { AnyWorkflow, WorkflowSource } from '../workflow.ts'
import type { Replay } from './replay.ts'
import { RunContext, replayAwareLogger, type Shared } from './run-context.ts'
import type { Visit } from './visit.ts'

/** The code of a run. Only a missing workflow is returned; where the store cannot answer, its error is thrown. */
export async function findWorkflow(
  run: RunRecord,
  workflows: WorkflowSource,
): Promise<AnyWorkflow | UnknownWorkflowError> {
  try {
    return await workflows.exact(run.workflow, run.version)
  } catch (error) {
    if (error instanceof UnknownWorkflowError) return error
    throw error
  }
}

/**
 * The input was parsed when it was accepted, so it is the same at every visit. Runs of format 1 parse it every
 * time.
 */
export async function inputOf(
  { format, reparse, input, parsed }: RunRecord,
  { options }: AnyWorkflow,
): Promise<Validated<unknown>> {
  if (reparse && options.batch) return validateEach(options.input, decode(input) as unknown[])
  if (format === 1 || reparse) return validate(options.input, decode(input))
  return { ok: true, value: decode(parsed ?? input) }
}

export interface CodeState {
  /** Compensations have begun: the steps before the failure no longer stand, so the run cannot simply go on. */
  compensated: boolean
}

/** Starts the workflow function on a fresh context and takes it through the journal. */
export async function startCode(
  workflow: AnyWorkflow,
  input: unknown,
  replay: Replay,
  shared: Omit<Shared, 'replay'>,
): Promise<CodeState> {
  const state: CodeState = { compensated: false }
  const ctx = new RunContext({ ...shared, replay, signals: workflow.options.signals })
  await replay.begin(async () => {
    try {
      return await workflow.body(ctx, input)
    } catch (error) {
      if (shared.compensations.length > 0) {
        state.compensated = true
        replay.failure = asError(error)
        await compensate(ctx, shared)
      }
      throw error
    }
  })
  return state
}

/** A compensation that fails does not keep the others from running: a half-undone order is worse than a noisy one. */
async function compensate(ctx: RunContext, shared: Omit<Shared, 'replay'>): Promise<void> {
  const undos = ctx.inside(COMPENSATIONS, true)
  for (const { name, undo, options } of shared.compensations.toReversed()) {
    try {
      await undos.step(name, undo, options)
    } catch (error) {
      ctx.log.error(`compensation '${name}' failed; the others still run`, { error: String(error) })
    }
  }
}

/** What the contexts of one visit share. */
export function sharedWith({ run, replay, world, buffer, options }: Visit): Omit<Shared, 'replay'> {
  return {
    info: runInfo(run),
    log: replayAwareLogger(replay, world.log),
    compensations: [],
    setProgress: (value) => buffer.setProgress(value),
    functions: world.functions,
    publicUrl: world.publicUrl,
    stubs: options.stubs,
    ...(options.traceCall && { traceCall: options.traceCall }),
  }
}

/** What `ctx.info` says. */
export function runInfo(run: RunRecord): RunInfo {
  const { id, workflow, version, tags, attempt, generation } = run
  return Object.freeze({ runId: id, workflow, version, tags: Object.freeze([...tags]), attempt, generation })
}
