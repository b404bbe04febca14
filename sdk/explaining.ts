import type { Client, RunView } from './client.ts'
import { RunNotFoundError } from './engine/errors.ts'
import { WorkerDirectory } from './tasks/directory.ts'
import { type Facts, type Why, why } from './views/why.ts'

/** More children than that are not looked at one by one. */
const MOST_CHILDREN = 10

/** Why a run stands where it stands: what is stored of it, and what can be found out about what it waits for. */
export async function explain(client: Client, runId: string): Promise<Why> {
  const run = await client.get(runId)
  const [events, children, workers] = await Promise.all([client.history(runId), childrenOf(client, run), workersFor(client, run)])
  return why(run, events, { ...(children && { children }), ...(workers && { workers }) }, client.world.clock.now())
}

async function childrenOf(client: Client, { waitingFor = [] }: RunView): Promise<Facts['children']> {
  const ids = waitingFor.flatMap(({ kind, id, on }) => (kind === 'child' ? [on ?? id] : [])).slice(0, MOST_CHILDREN)
  if (ids.length === 0) return undefined
  const found = await Promise.all(ids.map((id) => client.get(id).catch(ifGone)))
  const { clock } = client.world
  return new Map(found.flatMap((child) => (child ? [[child.runId, { ...child, reason: why(child, [], {}, clock.now()).reason }] as const] : [])))
}

function ifGone(error: unknown): undefined {
  if (!(error instanceof RunNotFoundError)) throw error
}

async function workersFor({ world }: Client, { waitingFor = [] }: RunView): Promise<Facts['workers']> {
  if (!waitingFor.some(({ kind }) => kind === 'task')) return undefined
  const alive = new Map<string, number>()
  for (const { task_types } of await new WorkerDirectory(world).list()) for (const type of task_types) alive.set(type, (alive.get(type) ?? 0) + 1)
  return alive
}
