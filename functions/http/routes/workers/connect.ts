import type { Context } from 'hono'
import type { Connection } from '../../../../sdk/tasks/directory.ts'
import type { WorkerRegistration } from '../../../../sdk/tasks/wire.ts'
import { Checks } from '../../checks.ts'
import { bodyOf } from '../../request.ts'
import type { WorkerRoute } from '../../route.ts'
import { requireTypes, scopeOf } from './authorize.ts'
import { ENVELOPE_BYTES } from './envelope.ts'

const HEARTBEAT_MS = 25_000
const ConnectRequest = bodyOf(() => import('../../../../sdk/http-api/workers.ts'), 'ConnectRequest')

export const connect: WorkerRoute = {
  method: 'POST',
  path: '/v1/workers/connect',
  operationId: 'connectWorker',
  needs: 'work',
  summary: 'Registers a worker for as long as the connection lasts, and sends it a heartbeat every 25 seconds.',
  body: ConnectRequest,
  responses: {
    200: { description: 'Server-sent events: `heartbeat`.', type: 'text/event-stream' },
  },
  problems: ['invalid-input', 'malformed-json', 'unauthorized', 'forbidden', 'too-large', 'unsupported-media-type'],
  async handle(c, { workers, clock, longestConnectionMs }) {
    const scope = await scopeOf(c, workers)
    const registration = await readRegistration(c)
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

async function readRegistration(c: Context): Promise<WorkerRegistration> {
  const checks = new Checks()
  const fields = await ConnectRequest.read(c, ENVELOPE_BYTES, checks)
  checks.throwIfAny()
  return { language: 'unknown', transport: 'bridge', ...(fields as Omit<WorkerRegistration, 'language' | 'transport'>) }
}

interface Heartbeats extends Connection {
  clock: { now(): number; at(time: number, callback: () => void): () => void }
  until: number
  signal: AbortSignal
}

/**
 * Ends when the worker hangs up, and says so. One that is cut off stays registered: the worker is about to
 * connect again.
 */
function heartbeats({ clock, until, beat, end, signal }: Heartbeats): ReadableStream<Uint8Array> {
  let stopTimer = () => {}
  let hasEnded = false
  const stop = () => {
    if (hasEnded) return
    hasEnded = true
    stopTimer()
    // The worker is gone; the registration runs out by itself.
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
