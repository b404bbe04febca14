import { type Duration, milliseconds } from '../../../sdk/engine/duration.ts'
import { checkName } from '../../../sdk/engine/names.ts'
import type { TokenView } from '../../../sdk/tasks/tokens.ts'
import { readJson } from '../body.ts'
import { Checks, readFields } from '../checks.ts'
import { ref } from '../openapi-schemas.ts'
import { HttpProblem } from '../problem.ts'
import { json, type Route } from '../route.ts'

const listWorkers: Route = {
  method: 'GET',
  path: '/v1/workers',
  operationId: 'listWorkers',
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
  summary: 'A token for workers. It is shown here and never again.',
  body: ref('TokenRequest'),
  responses: { 201: { description: 'Made.', schema: ref('NewToken') } },
  problems: ['invalid-input', 'malformed-json', 'too-large', 'unsupported-media-type'],
  async handle(c, { workers, bodyLimit }) {
    const checks = new Checks()
    const { name, task_types: types, expires_in: expiresIn } = readFields((await readJson(c, bodyLimit)) ?? {}, ['name', 'task_types', 'expires_in'], checks)
    checks.check('$.name', () => checkName('the name', name))
    checks.require('$.task_types', types === undefined || (Array.isArray(types) && types.length > 0), 'must be a list of types of tasks; leave it out for all')
    if (Array.isArray(types)) for (const [i, type] of types.entries()) checks.check(`$.task_types[${i}]`, () => checkName('it', type))
    if (expiresIn !== undefined) checks.check('$.expires_in', () => void milliseconds(expiresIn as Duration, 'it'))
    checks.throwIfAny()
    const made = await workers.tokens.create({
      name: name as string,
      ...(types !== undefined && { types: types as string[] }),
      ...(expiresIn !== undefined && { expiresIn: expiresIn as Duration }),
    })
    return json({ ...tokenJson(made), token: made.token }, 201)
  },
}

const listTokens: Route = {
  method: 'GET',
  path: '/v1/tokens',
  operationId: 'listTokens',
  summary: "The workers' tokens, without what makes them work.",
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
  summary: 'From now on the token opens nothing.',
  responses: { 204: { description: 'So it is.' } },
  problems: ['unknown-token'],
  async handle(c, { workers }) {
    const id = c.req.param('id')!
    if (!(await workers.tokens.revoke(id))) throw new HttpProblem('unknown-token', `no token '${id}'`)
    return new Response(null, { status: 204 })
  },
}

export const overseeWorkers = [listWorkers, createToken, listTokens, revokeToken]

function tokenJson({ id, name, types, createdAt, expiresAt, state }: TokenView) {
  return { id, name, ...(types && { task_types: types }), created_at: iso(createdAt), ...(expiresAt !== undefined && { expires_at: iso(expiresAt) }), state }
}

const iso = (time: number): string => new Date(time).toISOString()
