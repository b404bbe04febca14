import type { Context } from 'hono'
import { limitToJson } from '../../../sdk/http-client/wire.ts'
import { LimitNotFoundError, type LimitOptions, type LimitView } from '../../../sdk/index.ts'
import { BODY_PROBLEMS, readJson } from '../body.ts'
import { Checks, readFields } from '../checks.ts'
import { ref } from '../openapi-schemas.ts'
import { type Api, json, type Route } from '../route.ts'

const listLimits: Route = {
  method: 'GET',
  path: '/limits',
  operationId: 'listLimits',
  needs: 'read',
  summary:
    'Limits that runs or steps have come to, by name: their numbers, who is inside and who waits. Those of a workflow are named after it: `order:concurrency`.',
  responses: { 200: { description: 'All of them.', schema: ref('Limits') } },
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
  responses: { 200: { description: 'The limit.', schema: ref('Limit') } },
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
    summary: 'One limit: its numbers, who is inside and who waits.',
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
      'Other numbers than those of the code, until they are reset. What is not given stays as it is; whoever is inside stays there.',
    body: ref('LimitRequest'),
    problems: ['invalid-input', 'unknown-limit', ...BODY_PROBLEMS],
  },
  async (limits, name, c, api) => limits.set(name, readNumbers(await readJson(c, api.bodyLimit))),
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
  steer('pause', 'Let nobody in until it is resumed. Whoever is inside stays there.'),
  steer('resume', 'Let those in line in again.'),
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

/** Whether the numbers make a limit is asked by whoever sets it. */
function readNumbers(body: unknown): LimitOptions {
  const checks = new Checks()
  const fields = readFields(body, ['concurrency', 'rate', 'per'], checks)
  for (const name of ['concurrency', 'rate'] as const)
    checks.require(
      `$.${name}`,
      fields[name] === undefined || typeof fields[name] === 'number',
      'must be a whole number',
    )
  const { per } = fields
  checks.require('$.per', per !== null, 'must be a duration: \'1m\', milliseconds, or { "minutes": 1 }')
  checks.throwIfAny()
  return fields as LimitOptions
}
