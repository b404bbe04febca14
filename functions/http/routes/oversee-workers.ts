import { type Duration, milliseconds } from '../../../sdk/base/duration.ts'
import { checkName } from '../../../sdk/base/names.ts'
import { checkTerms, TOKEN_SCOPES, type TokenScope, type TokenView } from '../../../sdk/tasks/tokens.ts'
import { readJson } from '../body.ts'
import { Checks, readFields } from '../checks.ts'
import { ref } from '../openapi-schemas.ts'
import { HttpProblem } from '../problem.ts'
import { json, type Route } from '../route.ts'

const listWorkers: Route = {
  method: 'GET',
  path: '/v1/workers',
  operationId: 'listWorkers',
  needs: 'read',
  summary: 'The workers that have given a sign of life in the last 60 seconds.',
  responses: { 200: { description: 'By id.', schema: ref('Workers') } },
  problems: [],
  async handle(_c, { workers }) {
    const live = await workers.directory.list()
    return json({ workers: live.map(({ seenAt, ...worker }) => ({ ...worker, last_seen: iso(seenAt) })) })
  },
}

const createToken: Route = {
  method: 'POST',
  path: '/v1/tokens',
  operationId: 'createToken',
  needs: 'everything',
  summary: 'A token for workers, or for a part of the API. It is shown here and never again.',
  body: ref('TokenRequest'),
  responses: { 201: { description: 'Made.', schema: ref('NewToken') } },
  problems: ['invalid-input', 'malformed-json', 'too-large', 'unsupported-media-type'],
  async handle(c, { workers, bodyLimit }) {
    const checks = new Checks()
    const body = readFields(
      (await readJson(c, bodyLimit)) ?? {},
      ['name', 'scopes', 'workflows', 'task_types', 'expires_in'],
      checks,
    )
    const { name, expires_in: expiresIn } = body
    checks.check('$.name', () => checkName('the name', name))
    const scopes = readList(
      body,
      'scopes',
      `must be a list of ${TOKEN_SCOPES.join(', ')}; leave it out for work`,
      checks,
    ) as TokenScope[] | undefined
    const workflows = readList(body, 'workflows', 'must be a list of workflows; leave it out for all', checks)
    const types = readList(body, 'task_types', 'must be a list of types of tasks; leave it out for all', checks)
    if (checks.problems.length === 0) checks.check('$.scopes', () => checkTerms({ scopes, workflows, types }))
    if (expiresIn !== undefined) checks.check('$.expires_in', () => void milliseconds(expiresIn as Duration, 'it'))
    checks.throwIfAny()
    const made = await workers.tokens.create({
      name: name as string,
      ...(scopes && { scopes }),
      ...(workflows && { workflows }),
      ...(types && { types }),
      ...(expiresIn !== undefined && { expiresIn: expiresIn as Duration }),
    })
    return json({ ...tokenJson(made), token: made.token }, 201)
  },
}

const listTokens: Route = {
  method: 'GET',
  path: '/v1/tokens',
  operationId: 'listTokens',
  needs: 'everything',
  summary: 'The tokens, without what makes them work.',
  responses: { 200: { description: 'Oldest first.', schema: ref('Tokens') } },
  problems: [],
  async handle(_c, { workers }) {
    return json({ tokens: (await workers.tokens.list()).map(tokenJson) })
  },
}

const revokeToken: Route = {
  method: 'DELETE',
  path: '/v1/tokens/{id}',
  operationId: 'revokeToken',
  needs: 'everything',
  summary: 'From now on the token opens nothing.',
  responses: { 204: { description: 'It opens nothing any more.' } },
  problems: ['unknown-token'],
  async handle(c, { workers }) {
    const id = c.req.param('id')!
    if (!(await workers.tokens.revoke(id)))
      throw new HttpProblem('unknown-token', `no token '${id}'; GET /v1/tokens lists them`)
    return new Response(null, { status: 204 })
  },
}

export const overseeWorkers = [listWorkers, createToken, listTokens, revokeToken]

/** A list of names that is not empty, if there is one. */
function readList(
  body: Partial<Record<string, unknown>>,
  field: string,
  demand: string,
  checks: Checks,
): string[] | undefined {
  const list = body[field]
  checks.require(`$.${field}`, list === undefined || (Array.isArray(list) && list.length > 0), demand)
  if (!Array.isArray(list)) return undefined
  for (const [i, each] of list.entries()) checks.check(`$.${field}[${i}]`, () => checkName('it', each))
  return list as string[]
}

function tokenJson({ id, name, scopes, workflows, types, createdAt, expiresAt, state }: TokenView) {
  return {
    id,
    name,
    scopes,
    ...(workflows && { workflows }),
    ...(types && { task_types: types }),
    created_at: iso(createdAt),
    ...(expiresAt !== undefined && { expires_at: iso(expiresAt) }),
    state,
  }
}

const iso = (time: number): string => new Date(time).toISOString()
