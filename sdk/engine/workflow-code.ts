import { asError } from '../base/errors.ts'
import type { RunInfo } from '../context.ts'
import type { RunRecord } from '../ports/run.ts'
import { COMPENSATIONS } from '../views/undone-work.ts'
import type { AnyWorkflow } from '../workflow.ts'
import type { Replay } from './replay.ts'
import { RunContext, replayAwareLogger, type Shared } from './run-context.ts'
import type { Visit } from './visit.ts'

export interface BodyState {
  /** Undos have begun: the steps before the failure no longer stand, so the run cannot simply go on. */
  compensated: boolean
}

/** Starts the workflow function on a fresh context and takes it through the journal. */
export async function runBody(
  workflow: AnyWorkflow,
  input: unknown,
  replay: Replay,
  shared: Omit<Shared, 'replay'>,
): Promise<BodyState> {
  const state: BodyState = { compensated: false }
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

/** An undo that gives up does not keep the others from running: a half-undone order is worse than a noisy one. */
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
