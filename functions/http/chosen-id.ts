import type { Context } from 'hono'
import { isDerivedId, possibleParents } from '../../sdk/base/names.ts'
import { ConflictError } from '../../sdk/index.ts'
import { workflowsOf } from './permission.ts'
import { HttpProblem } from './problem.ts'
import type { Api } from './route.ts'

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
