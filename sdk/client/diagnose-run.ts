import { RunNotFoundError } from '../base/errors.ts'
import { idempotencyKey } from '../base/names.ts'
import { type LimitRecord, recordsOf, specInForce } from '../flow/limiter/limit-record.ts'
import { limiterOf } from '../flow/limiter/limiter.ts'
import { holderOf } from '../flow/limiter/queue.ts'
import { WorkerDirectory } from '../tasks/directory.ts'
import { type Facts, type Why, why } from '../views/why.ts'
import type { Client, RunView } from './client.ts'

/** More children than that are not looked at one by one. */
const MOST_CHILDREN = 10
/** Nor are more places in line. */
const MOST_PLACES = 10

/** Why a run stands where it stands: what is stored of it, and what can be found out about what it waits for. */
export async function explain(client: Client, runId: string): Promise<Why> {
  const run = await withPause(client, await client.get(runId))
  const [events, children, workers, lines] = await Promise.all([
    client.history(runId),
    childrenOf(client, run),
    workersFor(client, run),
    linesOf(client, run),
  ])
  return why(
    run,
    events,
    { ...(children && { children }), ...(workers && { workers }), ...lines },
    client.world.clock.now(),
  )
}

/** A run that a rate has promised its start is held back then all the same where it is paused. */
async function withPause({ limits }: Client, run: RunView): Promise<RunView> {
  const { runId, workflow, queue } = run
  if (run.status !== 'pending' || !queue) return run
  const pause = await limits.pauseBehind(queue, { id: runId, workflow })
  const { expectedAt: _, ...place } = queue
  return pause ? { ...run, queue: { ...place, pause } } : run
}

async function childrenOf(client: Client, { waitingFor = [] }: RunView): Promise<Facts['children']> {
  const ids = waitingFor.flatMap(({ kind, id, on }) => (kind === 'child' ? [on ?? id] : [])).slice(0, MOST_CHILDREN)
  if (ids.length === 0) return undefined
  const found = await Promise.all(ids.map((id) => client.get(id).catch(ifGone)))
  const { clock } = client.world
  return new Map(
    found.flatMap((child) =>
      child ? [[child.runId, { ...child, reason: why(child, [], {}, clock.now()).reason }] as const] : [],
    ),
  )
}

function ifGone(error: unknown): undefined {
  if (!(error instanceof RunNotFoundError)) throw error
}

async function workersFor({ world }: Client, { waitingFor = [] }: RunView): Promise<Facts['workers']> {
  if (!waitingFor.some(({ kind }) => kind === 'task')) return undefined
  const alive = new Map<string, number>()
  for (const { task_types } of await new WorkerDirectory(world).list())
    for (const type of task_types) alive.set(type, (alive.get(type) ?? 0) + 1)
  return alive
}

/** Where it stands in line, and at which limits. */
async function linesOf(
  { world, limits }: Client,
  { runId, queue, waitingFor = [] }: RunView,
): Promise<Pick<Facts, 'places' | 'limits'>> {
  const gates = waitingFor
    .flatMap(({ kind, id, on, key }) => (kind === 'limit' && on !== undefined ? [{ id, limit: on, key }] : []))
    .slice(0, MOST_PLACES)
  const names = new Set([...gates.map(({ limit }) => limit), ...(queue ? [queue.limit] : [])])
  if (names.size === 0) return {}
  const [run, records] = await Promise.all([
    world.store.get(runId),
    Promise.all([...names].map((name) => world.documents.get(recordsOf(name), name))),
  ])
  const places = await Promise.all(
    run
      ? gates.map(
          async ({ id, limit, key }) =>
            [id, await limits.placeOf(limiterOf({ limit, key }), run, holderOf(run, idempotencyKey(run, id)))] as const,
        )
      : [],
  )
  return {
    places: new Map(places),
    limits: new Map([...names].map((name, i) => [name, specInForce(records[i]?.value as LimitRecord | undefined)])),
  }
}
