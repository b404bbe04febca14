import type { Context } from 'hono'
import type { Json } from '../../../../sdk/base/json.ts'
import { decodeUncoded, encode } from '../../../../sdk/base/values.ts'
import type { Resolved } from '../../../../sdk/tasks/broker.ts'
import type { Refusal } from '../../../../sdk/tasks/lifecycle.ts'
import { MOST_PAYLOAD_BYTES } from '../../../../sdk/tasks/task.ts'
import { type ResolveBody, resolutionOf } from '../../../../sdk/tasks/wire.ts'
import { Checks, readKey } from '../../checks.ts'
import { HttpProblem } from '../../problem.ts'
import { bodyOf } from '../../request.ts'
import { json, type WorkerRoute } from '../../route.ts'
import { requireTypes, scopeOf } from './authorize.ts'
import { ENVELOPE_BYTES } from './envelope.ts'

const shapes = () => import('../../../../sdk/http-api/workers.ts')
const ResolveRequest = bodyOf(shapes, 'ResolveRequest')
const PAYLOADS = ['output', 'checkpoint', 'data'] as const

export const resolve: WorkerRoute = {
  method: 'POST',
  path: '/v1/tasks/{id}/resolve',
  operationId: 'resolveTask',
  needs: 'work',
  summary:
    'What became of a task: it is complete, has failed, pauses, goes on (with a checkpoint or a sign ' +
    'of life), or wants one more iteration.',
  takesKey: true,
  body: ResolveRequest,
  responses: { 200: { description: 'What became of it is noted.', shape: 'Resolved' } },
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
    const fields = await readResolution(c)
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

async function readResolution(c: Context): Promise<ResolveBody> {
  const checks = new Checks()
  const fields = await ResolveRequest.read(c, MOST_PAYLOAD_BYTES + ENVELOPE_BYTES, checks)
  const { action } = fields
  if (action === 'fail' || action === 'pause') {
    const { field, message } = (await shapes()).NEEDED[action]
    checks.require(`$.${field}`, fields[field] !== undefined, message)
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
    `a worker lost task '${id}' by silence and may still speak, so say which one you have: send ` +
      `'attempt' and 'iteration'`,
  )
}
