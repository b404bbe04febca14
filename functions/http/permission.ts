import type { Context } from 'hono'
import { isRunId } from '../../sdk/base/names.ts'
import type { Permission } from '../../sdk/tasks/tokens.ts'
import type { AppOptions } from './app.ts'
import { askedRun } from './asked-run.ts'
import { tokenIn } from './bearer.ts'
import { HttpProblem } from './problem.ts'
import type { Api, Route } from './route.ts'

const WORKFLOWS = 'workflows'
/** The workflows that the caller's token is for; undefined where it is for all, and where none is needed. */
export const workflowsOf = (c: Context): readonly string[] | undefined => c.get(WORKFLOWS)

/** Lets a request in, or says why not. What is refused is refused in the same words, whatever is behind it. */
export async function letIn(
  c: Context,
  route: Route,
  api: Api,
  authorize: NonNullable<AppOptions['authorize']>,
): Promise<void> {
  const caller = (await authorize(c.req.raw, c.env)) || (await permissionOf(c, api))
  if (caller === true) return
  // The token in its path is enough; who shows another one as well is bound by that.
  if (!caller && route.isCapability) return
  if (!caller) throw unauthorized()
  if (!(await isAllowed(c, route, api, caller)))
    throw new HttpProblem(
      'forbidden',
      `this token does not allow ${c.req.method} ${c.req.path}; use one whose scopes, workflows and ` +
        `types reach that far`,
    )
  c.set(WORKFLOWS, caller.workflows)
}

async function permissionOf(c: Context, { workers }: Api): Promise<Permission | undefined> {
  const token = tokenIn(c.req.raw)
  return token === undefined ? undefined : workers.tokens.permissionOf(token)
}

async function isAllowed(c: Context, route: Route, api: Api, { scopes, workflows }: Permission): Promise<boolean> {
  if (route.needs === 'everything' || !scopes.includes(route.needs)) return false
  if (!workflows || route.isCapability) return true
  const workflow = await workflowOf(c, route, api)
  return workflow !== undefined && workflows.includes(workflow)
}

/** Which workflow a request is about; undefined for one that is about several, and for a run that is not there. */
async function workflowOf(c: Context, route: Route, { client }: Api): Promise<string | undefined> {
  const { path } = route
  if (path === '/runs' || path === '/incidents') return c.req.query('workflow')
  const run = askedRun(c, route)
  if (run !== undefined) return isRunId(run) ? (await client.world.store.state(run))?.workflow : undefined
  // A definition may call any other workflow, so a token that is bound to some may look at theirs and change none.
  if (path === '/definitions/{name}' && c.req.method !== 'GET') return undefined
  if (path.startsWith('/workflows/{name}') || path === '/definitions/{name}') return c.req.param('name')
  return undefined
}

function unauthorized(): HttpProblem {
  return new HttpProblem('unauthorized', "send a valid 'Authorization: Bearer <token>' header", {
    headers: { 'www-authenticate': 'Bearer' },
  })
}
