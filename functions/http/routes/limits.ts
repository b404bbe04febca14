import type { Context } from 'hono'
import { limitToJson } from '../../../sdk/http-api/encode.ts'
import { LimitNotFoundError, type LimitView } from '../../../sdk/index.ts'
import { BODY_PROBLEMS } from '../body.ts'
import { Checks } from '../checks.ts'
import { bodyOf } from '../request.ts'
import { type Api, json, type Route } from '../route.ts'

const LimitRequest = bodyOf(() => import('../../../sdk/http-api/limits.ts'), 'LimitRequest')

const listLimits: Route = {
  method: 'GET',
  path: '/limits',
  operationId: 'listLimits',
  needs: 'read',
  summary:
    'Limits that runs or steps have come to, by name: their numbers, what is inside and what waits. ' +
    'Those of a workflow are named after it: `order:concurrency`.',
  responses: { 200: { description: 'All of them.', shape: 'Limits' } },
  problems: [],
  async handle(_c, { client }) {
    return json({ limits: (await client.limits.list()).map(limitToJson) })
  },
}

/** Each of them answers with the limit as it is then. */
const onLimit = (
  route: Pick<Route, 'method' | 'path' | 'operationId' | 'needs' | 'summary'> & Partial<Route>,
  act: (limits: Api['client']['limits'], name: string, c: Context, api: Api) => Promise<LimitView>,
): Route => ({
  responses: { 200: { description: 'The limit.', shape: 'Limit' } },
  problems: ['unknown-limit'],
  ...(route.method === 'POST' && { takesKey: true }),
  ...route,
  async handle(c, api) {
    return json(limitToJson(await act(api.client.limits, nameIn(c), c, api)))
  },
})

const getLimit = onLimit(
  {
    method: 'GET',
    path: '/limits/{name}',
    operationId: 'getLimit',
    needs: 'read',
    summary: 'One limit: its numbers, what is inside and what waits.',
  },
  (limits, name) => limits.get(name),
)

const setLimit = onLimit(
  {
    method: 'PUT',
    path: '/limits/{name}',
    operationId: 'setLimit',
    needs: 'operate',
    summary:
      'Other numbers than those of the code, until they are reset. What is not given stays as it is; ' +
      'what is inside stays there.',
    body: LimitRequest,
    problems: ['invalid-input', 'unknown-limit', ...BODY_PROBLEMS],
  },
  async (limits, name, c, { bodyLimit }) => {
    const checks = new Checks()
    const numbers = await LimitRequest.read(c, bodyLimit, checks)
    checks.throwIfAny()
    return limits.set(name, numbers)
  },
)

const steer = (action: 'pause' | 'resume' | 'reset', summary: string): Route =>
  onLimit(
    { method: 'POST', path: `/limits/{name}/${action}`, operationId: `${action}Limit`, needs: 'operate', summary },
    (limits, name) => limits[action](name),
  )

export const limits = [
  listLimits,
  getLimit,
  setLimit,
  steer('pause', 'Let nothing in until it is resumed. What is inside stays there.'),
  steer('resume', 'Let what is in the queue in again.'),
  steer('reset', 'The numbers of the code count again, and what is stored of the limit and cannot be read is dropped.'),
]

/** A workflow's name and what is behind it. */
const LONGEST_NAME = 200

/** What no limit can be called is not looked for: a store has limits of its own for keys. */
function nameIn(c: Context): string {
  const name = c.req.param('name')!
  if (name.length > LONGEST_NAME)
    throw new LimitNotFoundError(`no limit is named '${name.slice(0, 40)}…'; GET /limits lists those that there are`)
  return name
}
