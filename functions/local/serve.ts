import type { IncomingMessage, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import type { EventMapping } from '../../sdk/events/mapping.ts'
import { Local } from '../../sdk/local.ts'
import { type AppOptions, createApp } from '../http/app.ts'
import { localRoutes } from './routes.ts'
import { isLoopback, refuseForeign } from './same-machine.ts'
import { localUi } from './ui.ts'

export type ServeLocalOptions = Omit<AppOptions, 'client' | 'local'> & {
  /** The mappings that `POST /events` knows by name. */
  mappings?: readonly EventMapping[]
  /** Default 4400; 0 for any free one. */
  port?: number
  /** Default 127.0.0.1. With any other than a loopback address, give `authorize` too. */
  host?: string
} & ({ local: Local } | Parameters<typeof Local.open>[0])

const DEFAULT_PORT = 4400
const CLOSE_GRACE_MS = 1_000

/** The HTTP API of a local world. A world opened here is closed here too. */
export async function serveLocal(options: ServeLocalOptions): Promise<LocalServer> {
  const { port = DEFAULT_PORT, host = '127.0.0.1' } = options
  const isOurs = !('local' in options)
  // Due runs go on as soon as the world is open, before the server listens.
  const local =
    'local' in options
      ? options.local
      : await Local.open({ ...(port !== 0 && { publicUrl: urlOf(host, port) }), ...options })
  const app = createApp({
    ...options,
    client: local,
    log: options.log ?? local.world.log,
    local: { routes: localRoutes(local), mappings: options.mappings ?? [] },
  })
  const boundToLoopback = isLoopback(host)
  const server = createAdaptorServer({
    fetch: (request, env) => {
      const incoming = env.incoming as IncomingMessage
      return refuseForeign(incoming, boundToLoopback)?.toResponse() ?? localUi(incoming) ?? app.fetch(request, env)
    },
    hostname: host,
  }) as Server
  try {
    await listen(server, port, host)
  } catch (error) {
    if (isOurs) await local.close()
    throw error
  }
  const { port: taken } = server.address() as AddressInfo
  local.world.publicUrl ??= urlOf(host, taken)
  return new LocalServer(server, local, isOurs)
}

/**
 * The URL for clients: a browser uses localhost for the loopback address, and the wildcard address cannot be
 * called.
 */
function urlOf(host: string, port: number): string {
  return `http://${isLoopback(host) || /^(0\.0\.0\.0|::)$/.test(host) ? 'localhost' : host}:${port}`
}

export class LocalServer {
  readonly local: Local
  readonly address: string
  readonly port: number
  readonly url: string
  private readonly server: Server
  private readonly ownsLocal: boolean

  constructor(server: Server, local: Local, ownsLocal: boolean) {
    const { address, port, family } = server.address() as AddressInfo
    this.local = local
    this.address = address
    this.port = port
    this.url = `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
    this.server = server
    this.ownsLocal = ownsLocal
  }

  /** Lets open requests finish, for a moment: a client that waits with `?wait` repeats its request. */
  async close(graceMs = CLOSE_GRACE_MS): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()))
    this.server.closeIdleConnections()
    const cut = setTimeout(() => this.server.closeAllConnections(), graceMs)
    await closed
    clearTimeout(cut)
    if (this.ownsLocal) await this.local.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(
        error.code === 'EADDRINUSE'
          ? new Error(`port ${port} on ${host} is taken; choose another one`, { cause: error })
          : error,
      )
    })
    // With Node's default of 511, further connections of a burst wait a second for TCP to retry.
    server.listen({ port, host, backlog: 4_096 }, resolve)
  })
}
