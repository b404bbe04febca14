import type { Json } from '../../../../sdk/base/json.ts'
import { decodeUncoded, encode } from '../../../../sdk/base/values.ts'
import type { Resolved } from '../../../../sdk/tasks/broker.ts'
import type { Refusal } from '../../../../sdk/tasks/lifecycle.ts'
import { MOST_PAYLOAD_BYTES } from '../../../../sdk/tasks/task.ts'
import { type ResolveBody, resolutionOf } from '../../../../sdk/tasks/wire.ts'
import { readJson } from '../../body.ts'
import { Checks, readFields, readKey } from '../../checks.ts'
import { ref } from '../../openapi-schemas.ts'
import { HttpProblem } from '../../problem.ts'
import { json, type WorkerRoute } from '../../route.ts'
import { requireTypes, scopeOf } from './authorize.ts'
import { ENVELOPE_BYTES, isWhole } from './fields.ts'

const LONGEST_PAUSE_MS = 3_600_000
const LONGEST_ERROR = 10_000
const ACTIONS = ['complete', 'fail', 'pause', 'checkpoint', 'continue'] as const
const FIELDS = [
  'action',
  'attempt',
  'iteration',
  'output',
  'error',
  'retryable',
  'name',
  'duration_ms',
  'checkpoint',
  'data',
] as const
const PAYLOADS = ['output', 'checkpoint', 'data'] as const

type Fields = Partial<Record<(typeof FIELDS)[number], unknown>>

export const resolve: WorkerRoute = {
  method: 'POST',
  path: '/v1/tasks/{id}/resolve',
  operationId: 'resolveTask',
  needs: 'work',
  summary:
    'What became of a task: it is complete, has failed, pauses, goes on (with a checkpoint or a sign of life), or wants one more iteration.',
  takesKey: true,
  body: ref('ResolveRequest'),
  responses: { 200: { description: 'What became of it is noted.', schema: ref('Resolved') } },
  problems: [
    'invalid-input',
    'malformed-json',
    'unauthorized',
    'forbidden',
    'unknown-task',
    'conflict',
    'too-large',
    'unsupported-media-type',
  ],
  async handle(c, { workers }) {
    const scope = await scopeOf(c, workers)
    const fields = readResolution(await readJson(c, MOST_PAYLOAD_BYTES + ENVELOPE_BYTES))
    const { idempotencyKey } = readKey(c)
    const id = c.req.param('id')!
    const task = await workers.broker.find(id)
    if (!task) throw refused(id, 'not in flight')
    requireTypes(scope, [task.type])
    const resolved = await workers.broker.resolve(id, {
      ...resolutionOf(fields),
      ...(idempotencyKey !== undefined && { key: idempotencyKey }),
    })
    if (!resolved.ok) throw refused(id, resolved.refusal, resolved.task)
    return json({
      ok: true,
      ...(resolved.deadline !== undefined && { deadline: new Date(resolved.deadline).toISOString() }),
    })
  },
}

function readResolution(body: unknown): ResolveBody {
  const checks = new Checks()
  const fields: Fields = readFields(body ?? {}, FIELDS, checks)
  const { action, attempt, iteration, error, retryable, duration_ms } = fields
  checks.require(
    '$.action',
    ACTIONS.some((known) => known === action),
    `must be one of ${ACTIONS.join(', ')}`,
  )
  checks.require(
    '$.attempt',
    attempt === undefined || isWhole(attempt, 1, Number.MAX_SAFE_INTEGER),
    'must be a whole number from 1',
  )
  checks.require(
    '$.iteration',
    iteration === undefined || isWhole(iteration, 0, Number.MAX_SAFE_INTEGER),
    'must be a whole number from 0',
  )
  checks.require('$.retryable', retryable === undefined || typeof retryable === 'boolean', 'must be true or false')
  if (action === 'fail' || error !== undefined) {
    const isText = typeof error === 'string' && error.length > 0 && error.length <= LONGEST_ERROR
    checks.require('$.error', isText, `must say what went wrong, in 1 to ${LONGEST_ERROR} characters`)
  }
  if (action === 'pause' || duration_ms !== undefined) {
    checks.require(
      '$.duration_ms',
      isWhole(duration_ms, 1, LONGEST_PAUSE_MS),
      `must be a whole number from 1 to ${LONGEST_PAUSE_MS} (an hour)`,
    )
  }
  checks.throwIfAny()
  const payloads: Partial<Record<(typeof PAYLOADS)[number], unknown>> = {}
  for (const name of PAYLOADS) {
    if (fields[name] === undefined) continue
    const payload = encode(decodeUncoded(fields[name] as Json), name)
    const size = Buffer.byteLength(JSON.stringify(payload))
    if (size > MOST_PAYLOAD_BYTES)
      throw new HttpProblem(
        'too-large',
        `${name} has ${size} bytes, and ${MOST_PAYLOAD_BYTES} are the most; nothing was written`,
      )
    payloads[name] = payload
  }
  return { ...fields, ...payloads } as unknown as ResolveBody
}

function refused(id: string, refusal: Refusal, task?: Extract<Resolved, { ok: false }>['task']): HttpProblem {
  if (refusal === 'not in flight')
    return new HttpProblem(
      'unknown-task',
      `no worker has task '${id}': it is unknown, waits for one, or is done. Drop it, and poll for the next`,
    )
  const now = `it is at attempt ${task!.attempt}, iteration ${task!.iteration}`
  if (refusal === 'moved on')
    return new HttpProblem('conflict', `task '${id}' has moved on: ${now}. Drop it, and poll for the next`)
  return new HttpProblem(
    'conflict',
    `a worker lost task '${id}' by silence and may still speak, so say which one you have: send 'attempt' and 'iteration'`,
  )
}
