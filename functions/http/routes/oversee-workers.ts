import { newTokenToJson, tokenToJson, workerToJson } from '../../../sdk/http-api/encode.ts'
import { checkTerms } from '../../../sdk/tasks/tokens.ts'
import { Checks } from '../checks.ts'
import { HttpProblem } from '../problem.ts'
import { bodyOf } from '../request.ts'
import { json, type Route } from '../route.ts'

const listWorkers: Route = {
  method: 'GET',
  path: '/v1/workers',
  operationId: 'listWorkers',
  needs: 'read',
  summary: 'The workers that have given a sign of life in the last 60 seconds.',
  responses: { 200: { description: 'By id.', shape: 'Workers' } },
  problems: [],
  async handle(_c, { workers }) {
    return json({ workers: (await workers.directory.list()).map(workerToJson) })
  },
}

const TokenRequest = bodyOf(() => import('../../../sdk/http-api/workers.ts'), 'TokenRequest')

const createToken: Route = {
  method: 'POST',
  path: '/v1/tokens',
  operationId: 'createToken',
  needs: 'everything',
  summary: 'A token for workers, or for a part of the API. It is shown here and never again.',
  body: TokenRequest,
  responses: { 201: { description: 'Made.', shape: 'NewToken' } },
  problems: ['invalid-input', 'malformed-json', 'too-large', 'unsupported-media-type'],
  async handle(c, { workers, bodyLimit }) {
    const checks = new Checks()
    const {
      name,
      scopes,
      workflows,
      task_types: types,
      expires_in: expiresIn,
    } = await TokenRequest.read(c, bodyLimit, checks)
    if (checks.problems.length === 0) checks.check('$.scopes', () => checkTerms({ scopes, workflows, types }))
    checks.throwIfAny()
    const made = await workers.tokens.create({
      name: name!,
      ...(scopes && { scopes }),
      ...(workflows && { workflows }),
      ...(types && { types }),
      ...(expiresIn !== undefined && { expiresIn }),
    })
    return json(newTokenToJson(made), 201)
  },
}

const listTokens: Route = {
  method: 'GET',
  path: '/v1/tokens',
  operationId: 'listTokens',
  needs: 'everything',
  summary: 'The tokens, without what makes them work.',
  responses: { 200: { description: 'Oldest first.', shape: 'Tokens' } },
  problems: [],
  async handle(_c, { workers }) {
    return json({ tokens: (await workers.tokens.list()).map(tokenToJson) })
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
