import type { RepeatOptions } from './client.ts'
import { ConflictError } from './engine/errors.ts'
import { canonicalJson } from './engine/json.ts'
import { checkRunId, keyedRunId } from './engine/names.ts'
import { journalUpTo } from './engine/rerun.ts'
import { isPause } from './flow/pause-scope.ts'
import type { World } from './ports.ts'
import { recordOf } from './retrying.ts'

/** `from`: the step that is not taken over any more, and what comes behind it. */
export type RerunOptions = { from: string; id?: string } & RepeatOptions

export async function rerun(world: World, runId: string, options: RerunOptions): Promise<{ runId: string; created: boolean }> {
  const run = await recordOf(world, runId)
  if (options.id !== undefined) checkRunId(options.id)
  const now = world.clock.now()
  const journal = journalUpTo(options.from, run, await world.store.frames(runId), now)
  const key = options.idempotencyKey
  const id = options.id ?? (key === undefined ? world.ids.runId() : keyedRunId(`rerun\n${runId}\n${options.from}\n${key}`))
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
    ...(admission && { admission: { gates: admission.gates.filter(({ limit }) => !isPause(limit)), order: now, specs: {} } }),
  })
  const isRepeat = key !== undefined && result.run.workflow === workflow && canonicalJson(result.run.input) === canonicalJson(input)
  if (!result.created && !isRepeat) throw new ConflictError(`run '${id}' exists already; choose another id for the rerun`)
  await world.wakeups.send(result.wakes)
  return { runId: id, created: result.created }
}
