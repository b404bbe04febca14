import { readJson } from '../body.ts'
import { Checks, readFields, readKey } from '../checks.ts'
import { ref } from '../openapi-schemas.ts'
import { json, type Route } from '../route.ts'

export const settleCallback: Route = {
  method: 'POST',
  path: '/callbacks/{token}',
  operationId: 'settleCallback',
  summary: 'Complete or fail what a run waits for outside. Under an Idempotency-Key the same result again is no conflict.',
  takesKey: true,
  body: ref('CallbackRequest'),
  responses: { 202: { description: 'Accepted.', schema: ref('Accepted') } },
  problems: ['invalid-input', 'malformed-json', 'unknown-run', 'conflict', 'gone', 'misfit', 'too-large', 'unsupported-media-type'],
  async handle(c, api) {
    const body = await readJson(c, api.bodyLimit)
    const checks = new Checks()
    const fields = readFields(body, ['result', 'error'], checks)
    checks.require('$', fields.result === undefined || fields.error === undefined, 'give result or error, not both')
    const error = fields.error === undefined ? undefined : readError(fields.error, checks)
    checks.throwIfAny()
    const token = c.req.param('token')!
    await (error ? api.client.failCallback(token, error, readKey(c)) : api.client.completeCallback(token, fields.result, readKey(c)))
    return json({ accepted: true }, 202)
  },
}

function readError(value: unknown, checks: Checks): Error {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    checks.require('$.error', false, 'must be an object with a message')
    return new Error()
  }
  const { name, message, code } = value as { name?: unknown; message?: unknown; code?: unknown }
  checks.require('$.error.message', typeof message === 'string', 'must be a string')
  checks.require('$.error.name', name === undefined || typeof name === 'string', 'must be a string')
  checks.require('$.error.code', code === undefined || typeof code === 'string' || typeof code === 'number', 'must be a string or a number')
  const error = new Error(String(message))
  // Where we read it is not where it happened.
  error.stack = undefined
  return Object.assign(error, { ...(name !== undefined && { name }), ...(code !== undefined && { code }) })
}
