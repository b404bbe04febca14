import type { Context } from 'hono'
import { checkRunId, isDerivedId, isReserved, possibleParents } from '../../sdk/base/names.ts'
import { ConflictError } from '../../sdk/index.ts'
import type { Checks } from './checks.ts'
import { workflowsOf } from './permission.ts'
import { HttpProblem } from './problem.ts'
import type { Api } from './route.ts'

/** The id that a caller has chosen for a new run. Those of schedules and of runs for failures are not for callers. */
export function checkChosenId(id: unknown, checks: Checks): asserts id is string | undefined {
  if (id === undefined) return
  checks.check('$.id', () => checkRunId(id))
  checks.require(
    '$.id',
    typeof id !== 'string' || !isReserved(id),
    'begins with what is reserved for schedules (schedule.) and for runs that are started for a failure (failure~); choose another id',
  )
}

/**
 * Starts a run under a chosen id. Ids are one namespace, so a token for some workflows must not take one that a run of
 * another workflow has, or will be given. It gets one answer for all of that, and so does not learn which it is.
 */
export async function startUnder<T>(c: Context, api: Api, id: string | undefined, start: () => Promise<T>): Promise<T> {
  const workflows = workflowsOf(c)
  if (id === undefined || !workflows) return start()
  if (!(await mayTake(api, id, workflows))) throw notYours(id)
  return start().catch(async (error: unknown) => {
    // Another start may have been faster.
    throw error instanceof ConflictError && !(await mayTake(api, id, workflows)) ? notYours(id) : error
  })
}

async function mayTake({ client }: Api, id: string, workflows: readonly string[]): Promise<boolean> {
  const { store } = client.world
  const there = await store.state(id)
  if (there) return workflows.includes(there.workflow)
  if (isDerivedId(id)) return false
  for (const parent of possibleParents(id)) {
    const state = await store.state(parent)
    if (state && !workflows.includes(state.workflow)) return false
  }
  return true
}

function notYours(id: string): HttpProblem {
  return new HttpProblem(
    'forbidden',
    `this token cannot take the id '${id}' for a run; choose another id, or leave it out`,
  )
}
