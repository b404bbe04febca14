import type { IncomingMessage, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import type { UiConfig } from '../../dashboard/config.ts'
import { HttpProblem } from '../../functions/http/problem.ts'
import { problemOf } from '../../functions/http/problem-of.ts'
import { ownVersion } from '../../functions/local/own-version.ts'
import { replayOf } from '../../functions/local/replay.ts'
import { uiResponse } from '../../functions/local/ui.ts'
import type { OverwinterClient, TransportOptions } from '../../sdk/http-client/index.ts'
import { Registry } from '../../sdk/workflow.ts'
import { isLocal } from '../connection.ts'
import { loadEntry } from '../dev/load-entry.ts'
import { Failure } from '../failure.ts'
import { Forwarder } from './forwarder.ts'
import { Guard, refusalPage } from './guard.ts'

export interface UiOptions {
  port: number
  isReadOnly: boolean
  /** The code of the workflows, to show where runs stood. */
  entry?: string
}

const REPLAY = /^\/runs\/([^/]+)\/replay$/

/**
 * The dashboard for a deployment, on this machine: the page, and its requests to the API. Nothing is deployed
 * for it.
 */
export async function serveUi(
  connection: TransportOptions,
  client: OverwinterClient,
  { port, isReadOnly, entry }: UiOptions,
): Promise<{ server: Server; link: (path: string) => string }> {
  const forwarder = await Forwarder.to(connection, isReadOnly)
  const registry = entry === undefined ? undefined : new Registry((await loadEntry(entry, () => {})).workflows)
  const config: UiConfig = {
    name: new URL(connection.url).host,
    isLocal: isLocal(connection.url),
    isReadOnly,
    hasChanges: forwarder.hasChanges,
    hasReplay: registry !== undefined,
    version: ownVersion(),
  }
  let guard: Guard

  async function answer(request: Request, incoming: IncomingMessage): Promise<Response> {
    const { url: target = '/', headers } = incoming
    const url = URL.parse(`http://here${target}`) ?? new URL('http://here/')
    // A HEAD request does not use the link up.
    const admitted = request.method === 'GET' && url.searchParams.has('key') ? guard.admit(url, headers) : undefined
    if (admitted) return admitted
    const refusal = guard.refusal(headers)
    if (refusal) return refusalPage(refusal, headers)
    if (url.pathname === '/') return new Response(null, { status: 302, headers: { location: '/ui/' } })
    if (url.pathname === '/ui' || url.pathname.startsWith('/ui/'))
      return uiResponse(url.pathname, config, headers['if-none-match'])
    const [, replayed] = REPLAY.exec(url.pathname) ?? []
    return registry && replayed !== undefined
      ? replay(registry, decodeURIComponent(replayed), url.searchParams.get('upTo') ?? undefined)
      : forwarder.forward(request, target)
  }

  async function replay(code: Registry, runId: string, upTo: string | undefined): Promise<Response> {
    const reading = {
      get: (id: string) => client.get(id),
      history: (id: string) => client.history(id),
      definitions: code,
    }
    return Response.json(await replayOf(reading, runId, upTo), { headers: { 'cache-control': 'no-store' } })
  }

  const server = createAdaptorServer({
    fetch: (request, env) =>
      answer(request, env.incoming as IncomingMessage).catch((error: unknown) =>
        (
          problemOf(error, () => registry?.names() ?? []) ??
          new HttpProblem('internal', error instanceof Error ? error.message : String(error))
        ).toResponse(),
      ),
    hostname: '127.0.0.1',
  }) as Server
  await listen(server, port)
  const taken = (server.address() as AddressInfo).port
  guard = new Guard(taken)
  return { server, link: (path) => `http://127.0.0.1:${taken}${path}${guard.query}` }
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? new Failure(
              `port ${port} is taken. Stop what runs there, or choose another one with --port; 0 takes any ` +
                'that is free',
            )
          : error,
      ),
    )
    server.listen({ port, host: '127.0.0.1' }, resolve)
  })
}
