import { ConflictError } from '../base/errors.ts'
import { canonicalJson } from '../base/json.ts'
import { checkRunId, keyedRunId } from '../base/names.ts'
import { inheritanceOf } from '../engine/rerun.ts'
import { isPause } from '../flow/limiter/pause-scope.ts'
import type { World } from '../ports/world.ts'
import type { UndoneWork } from '../views/undone-work.ts'
import type { RepeatOptions } from './client.ts'
import { recordOf } from './retrying.ts'

export type RerunOptions = {
  /**
   * The first step that is done again; what came before it is taken over. Without it, the run begins at its
   * beginning.
   */
  from?: string
  id?: string
  /** Take over results that the run has undone since (ctx.compensate). Otherwise such a rerun is refused. */
  inheritUndone?: boolean
} & RepeatOptions

type Needs = Pick<World, 'store' | 'wakeups' | 'clock' | 'ids' | 'documents'>

/** `by`: the run that does it, where it is done to many. */
export async function rerun(
  world: Needs,
  runId: string,
  options: RerunOptions & { by?: string },
): Promise<{ runId: string; created: boolean }> {
  const run = await recordOf(world, runId)
  if (options.id !== undefined) checkRunId(options.id)
  const now = world.clock.now()
  const { journal, undone } = inheritanceOf(run, await world.store.frames(runId), now, options)
  if (undone && !options.inheritUndone) throw new ConflictError(inheritsUndone(runId, options.from!, undone))
  const key = options.idempotencyKey
  const id =
    options.id ?? (key === undefined ? world.ids.runId() : keyedRunId(`rerun\n${runId}\n${options.from ?? ''}\n${key}`))
  const { workflow, version, format, input, parsed, reparse, tags, retentionMs, admission } = run
  const result = await world.store.create({
    id,
    workflow,
    version,
    format,
    input,
    ...(parsed !== undefined && { parsed }),
    ...(reparse && { reparse }),
    tags,
    retentionMs,
    secret: world.ids.secret(),
    createdAt: now,
    wakeAt: now,
    journal,
    ...(admission && {
      admission: { gates: admission.gates.filter(({ limit }) => !isPause(limit)), order: now, specs: {} },
    }),
  })
  const isRepeat =
    key !== undefined && result.run.workflow === workflow && canonicalJson(result.run.input) === canonicalJson(input)
  if (!result.created && !isRepeat)
    throw new ConflictError(`run '${id}' exists already; choose another id for the rerun`)
  await world.wakeups.send(result.wakes)
  return { runId: id, created: result.created }
}

function inheritsUndone(runId: string, from: string, { by, inherited }: UndoneWork): string {
  const results = inherited.slice(0, NAMED).join(', ') + (inherited.length > NAMED ? ', …' : '')
  return (
    `run '${runId}' has undone its steps (${by.slice(0, NAMED).join(', ')}), ` +
    `and a rerun from '${from}' would take over the results of ${results} ` +
    'as if they still stood; rerun it from the beginning, or accept that with inheritUndone (--inherit-undone)'
  )
}
const NAMED = 5
