import { errorToJson } from '../../sdk/http-api/encode.ts'
import type { Local } from '../../sdk/local.ts'
import { WorkerDirectory } from '../../sdk/tasks/directory.ts'
import { queryOf } from '../http/request.ts'
import type { Route } from '../http/route.ts'
import { jsonWithPayloads } from '../http/route.ts'
import { postEvent } from '../http/routes/events.ts'
import { replayOf } from './replay.ts'

/**
 * Routes of the local server only. On AWS events come from their sources, clients cannot hold a connection,
 * and the API lacks the code of the steps.
 */
export const localRoutes = (local: Local): Route[] => [postEvent, changes(local), replay, metrics(local)]

/** The shortest time between two notifications of a page. */
const BUNDLE_MS = 50
const HEARTBEAT_MS = 15_000

const changes = ({ world }: Local): Route => ({
  method: 'GET',
  path: '/changes',
  operationId: 'changes',
  needs: 'read',
  summary: 'Streams the ids of runs as they change, until the client disconnects. Only the local server has it.',
  responses: {
    200: {
      description: 'Server-sent events: `runs`, with their ids; `all`, where it may be any run.',
      type: 'text/event-stream',
    },
  },
  problems: [],
  handle(c) {
    const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' }
    return new Response(streamOf(world, c.req.raw.signal), { headers })
  },
})

function streamOf(world: Local['world'], signal: AbortSignal): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let stop = () => {}
  return new ReadableStream({
    start(controller) {
      let changed: Set<string> | 'all' = new Set()
      let timer: NodeJS.Timeout | undefined
      const say = (text: string) => controller.enqueue(encoder.encode(text))
      const tell = () => {
        timer = undefined
        say(
          changed === 'all'
            ? 'event: all\ndata: {}\n\n'
            : `event: runs\ndata: ${JSON.stringify({ runs: [...changed] })}\n\n`,
        )
        changed = new Set()
      }
      const stopListening = world.onChange((runIds) => {
        if (runIds === 'all') changed = 'all'
        else if (changed !== 'all') for (const id of runIds) changed.add(id)
        timer ??= setTimeout(tell, BUNDLE_MS)
      })
      const heartbeat = setInterval(() => say(': still here\n\n'), HEARTBEAT_MS)
      stop = () => {
        stopListening()
        clearTimeout(timer)
        clearInterval(heartbeat)
      }
      signal.addEventListener('abort', () => stop())
      say(': listening\n\n')
    },
    cancel: () => stop(),
  })
}

const ReplayQuery = queryOf(() => import('../../sdk/http-api/run-queries.ts'), 'ReplayQuery')

const replay: Route = {
  method: 'GET',
  path: '/runs/{id}/replay',
  operationId: 'replayRun',
  // It shows source code, also of other workflows.
  needs: 'everything',
  summary:
    'Where the code of a run stood at an event of its history: takes the code of today through it, and does ' +
    'nothing. Only the local server has it.',
  query: ReplayQuery,
  responses: { 200: { description: 'What it had called by then, and where.', shape: 'Replayed' } },
  problems: ['invalid-input', 'unknown-run', 'unknown-workflow'],
  async handle(c, api) {
    const { ended, ...rest } = await replayOf(api.client, c.req.param('id')!, c.req.query('upTo'))
    return jsonWithPayloads(
      {
        ...rest,
        ...(ended && {
          ended: { ...ended, ...(ended.error && { error: errorToJson(ended.error, api.exposeStacks) }) },
        }),
      },
      api,
    )
  },
}

const metrics = (local: Local): Route => ({
  method: 'GET',
  path: '/metrics',
  operationId: 'metrics',
  needs: 'read',
  summary: 'Figures for Prometheus. Only the local server has it: on AWS they are in CloudWatch.',
  responses: { 200: { description: 'Its text format.', type: 'text/plain' } },
  problems: [],
  async handle() {
    const { store, clock } = local.world
    const [counts, overdue, workers] = await Promise.all([
      store.counts(),
      store.overdue(clock.now() - LATE_MS, MOST_OVERDUE),
      new WorkerDirectory(local.world).list(),
    ])
    const lines = [
      ...gauge(
        'overwinter_runs',
        'Runs, by the state they are in.',
        Object.entries(counts).map(([status, { count }]) => [`{status="${status}"}`, count]),
      ),
      ...gauge(
        'overwinter_overdue_runs',
        `Runs that are due for more than ${LATE_MS / 1_000} seconds; ${MOST_OVERDUE} stands for more.`,
        [['', overdue.length]],
      ),
      ...gauge('overwinter_workers', 'Workers that have sent a heartbeat.', [['', workers.length]]),
    ]
    return new Response(`${lines.join('\n')}\n`, {
      headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
    })
  },
})

const LATE_MS = 60_000
const MOST_OVERDUE = 1_000

const gauge = (name: string, help: string, values: [labels: string, value: number][]): string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} gauge`,
  ...values.map(([labels, value]) => `${name}${labels} ${value}`),
]
