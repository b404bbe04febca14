import type { Connection } from '../../../../sdk/tasks/directory.ts'
import type { WorkerRegistration } from '../../../../sdk/tasks/wire.ts'
import { readJson } from '../../body.ts'
import { Checks, readFields } from '../../checks.ts'
import { ref } from '../../openapi-schemas.ts'
import type { WorkerRoute } from '../../route.ts'
import { requireTypes, scopeOf } from './authorize.ts'
import { checkId, checkMost, checkTypes, ENVELOPE_BYTES } from './fields.ts'

const HEARTBEAT_MS = 25_000
const FIELDS = ['worker_id', 'task_types', 'max_tasks', 'language', 'transport', 'metadata'] as const

export const connect: WorkerRoute = {
  method: 'POST',
  path: '/v1/workers/connect',
  operationId: 'connectWorker',
  needs: 'work',
  summary: 'Registers a worker for as long as the connection lasts, and sends it a heartbeat every 25 seconds.',
  body: ref('ConnectRequest'),
  responses: {
    200: { description: 'Server-sent events: `heartbeat`.', type: 'text/event-stream', schema: { type: 'string' } },
  },
  problems: ['invalid-input', 'malformed-json', 'unauthorized', 'forbidden', 'too-large', 'unsupported-media-type'],
  async handle(c, { workers, clock, longestConnectionMs }) {
    const scope = await scopeOf(c, workers)
    const registration = readRegistration(await readJson(c, ENVELOPE_BYTES))
    requireTypes(scope, registration.task_types)
    const connection = await workers.directory.connect(registration)
    const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' }
    const stream = heartbeats({
      clock,
      until: clock.now() + (longestConnectionMs ?? Number.POSITIVE_INFINITY),
      ...connection,
      signal: c.req.raw.signal,
    })
    return new Response(stream, { headers })
  },
}

function readRegistration(body: unknown): WorkerRegistration {
  const checks = new Checks()
  const fields = readFields(body ?? {}, FIELDS, checks)
  checkId(checks, '$.worker_id', fields.worker_id)
  checkTypes(checks, fields.task_types)
  checkMost(checks, fields.max_tasks)
  for (const name of ['language', 'transport'] as const)
    if (fields[name] !== undefined) checkId(checks, `$.${name}`, fields[name])
  const { metadata } = fields
  const isMetadata =
    typeof metadata === 'object' &&
    metadata !== null &&
    Object.values(metadata).every((value) => typeof value === 'string')
  checks.require('$.metadata', metadata === undefined || isMetadata, 'must be an object of strings')
  checks.throwIfAny()
  return { language: 'unknown', transport: 'bridge', ...(fields as Omit<WorkerRegistration, 'language' | 'transport'>) }
}

interface Heartbeats extends Connection {
  clock: { now(): number; at(time: number, callback: () => void): () => void }
  until: number
  signal: AbortSignal
}

/** Ends when the worker hangs up, and says so. One that is cut off stays registered: the worker is about to connect again. */
function heartbeats({ clock, until, beat, end, signal }: Heartbeats): ReadableStream<Uint8Array> {
  let stopTimer = () => {}
  let hasEnded = false
  const stop = () => {
    if (hasEnded) return
    hasEnded = true
    stopTimer()
    // Nobody is left to tell; the registration runs out by itself.
    end().catch(() => {})
  }
  return new ReadableStream({
    start(controller) {
      const next = () => {
        if (hasEnded) return
        if (clock.now() >= until) return controller.close()
        controller.enqueue(event('heartbeat', { at: new Date(clock.now()).toISOString() }))
        stopTimer = clock.at(Math.min(until, clock.now() + HEARTBEAT_MS), () => void beat().then(next, next))
      }
      signal.addEventListener('abort', stop)
      next()
    },
    cancel: stop,
  })
}

const encoder = new TextEncoder()
const event = (name: string, data: unknown): Uint8Array =>
  encoder.encode(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`)
