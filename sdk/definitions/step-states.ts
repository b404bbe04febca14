import { ConflictError } from '../base/errors.ts'
import type { Frame } from '../base/events.ts'
import { escapeName } from '../base/names.ts'
import { Journal } from '../engine/journal.ts'
import type { Operation } from '../engine/operation.ts'
import { Replay } from '../engine/replay.ts'
import { startCode } from '../engine/workflow-code.ts'
import { hasEnded, type RunRecord } from '../ports/run.ts'
import { workflow } from '../workflow.ts'
import { type Node, nodesOf } from './graph.ts'
import { interpret, type Trace } from './interpret.ts'
import type { Definition } from './schema.ts'

/** A `WAITING` step uses no compute; a step that pauses or waits for a retry is `RUNNING`. */
export type StepStatus = 'PENDING' | 'RUNNING' | 'WAITING' | 'COMPLETED' | 'FAILED' | 'SKIPPED'

export interface StepView extends Node {
  status: StepStatus
  /** When everything before it was done. */
  startedAt?: number
  endedAt?: number
  /** When a timer will move it on. */
  wakeAt?: number
}

type Seen = Pick<StepView, 'status' | 'startedAt' | 'endedAt'>

/** The state of every step of a run. The definition's own code is replayed, and observed. */
export async function stepsOf(definition: Definition, run: RunRecord, frames: readonly Frame[]): Promise<StepView[]> {
  const seen = new Map<string, Seen>()
  const replay = new Replay(run, journalOf(run, frames))
  const trace: Trace = (step, state) => {
    if (state === 'begun') seen.set(step, { status: 'RUNNING', startedAt: replay.now })
    else if (state === 'skipped') seen.set(step, { status: 'SKIPPED' })
    else
      seen.set(step, {
        ...seen.get(step)!,
        status: state === 'completed' ? 'COMPLETED' : 'FAILED',
        endedAt: replay.now,
      })
  }
  if (run.startedAt !== undefined) await watch(definition, run, replay, trace)
  const open = [...replay.operations.values()].filter((operation) => !operation.settled)
  return nodesOf(definition).map((node) => ({
    ...node,
    ...stateOf(node.name, seen.get(node.name), open, hasEnded(run.status)),
  }))
}

async function watch(definition: Definition, run: RunRecord, replay: Replay, trace: Trace): Promise<void> {
  const body = async () => Promise.reject(new Error('nothing is run here'))
  const children = definition.steps.flatMap((step) => (step.type === 'workflow' ? [workflow(step.workflow, body)] : []))
  const parts = { handlers: new Map(), workflows: new Map(children.map((child) => [child.name, child])) }
  const silent = () => {}
  const { id, workflow: name, version, tags, attempt, generation } = run
  const watched = workflow(definition.name, (ctx, input) => interpret(ctx, definition, input, parts, trace))
  await startCode(watched, run.input, replay, {
    info: { runId: id, workflow: name, version, tags, attempt, generation },
    log: { debug: silent, info: silent, warn: silent, error: silent },
    compensations: [],
    setProgress: silent,
    functions: undefined,
    publicUrl: undefined,
    stubs: undefined,
  })
  replay.close('the steps were looked at')
  if (replay.violation)
    throw new ConflictError(`the steps of run '${id}' cannot be determined: ${replay.violation.message}`)
}

function journalOf(run: RunRecord, frames: readonly Frame[]): Journal {
  return new Journal(
    frames.filter(({ seq }) => seq > run.baseSeq),
    run.baseSeq,
    run.startedAt ?? run.createdAt,
  )
}

function stateOf(
  name: string,
  seen: Seen | undefined,
  open: readonly Operation[],
  runHasEnded: boolean,
): Seen & { wakeAt?: number } {
  if (!seen) return { status: runHasEnded ? 'SKIPPED' : 'PENDING' }
  if (seen.status !== 'RUNNING') return seen
  // The run was terminated while this step was running.
  if (runHasEnded) return { ...seen, status: 'FAILED' }
  const id = escapeName(name)
  const own = open.filter((operation) => operation.id === id || operation.id.startsWith(`${id}/`))
  const isWaiting = own.length > 0 && own.every(({ facts }) => facts?.opened !== undefined)
  const times = own.flatMap(({ facts }) => facts?.until ?? untilOf(facts?.opened) ?? [])
  return { ...seen, status: isWaiting ? 'WAITING' : 'RUNNING', ...(times.length > 0 && { wakeAt: Math.min(...times) }) }
}

const untilOf = (opened: object | undefined): number | undefined => (opened as { until?: number } | undefined)?.until
