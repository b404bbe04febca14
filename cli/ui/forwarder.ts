import { HttpProblem } from '../../functions/http/problem.ts'
import type { TransportOptions } from '../../sdk/http-client/index.ts'
import { explain, Failure } from '../failure.ts'

type Paths = Record<string, Record<string, unknown>>
interface Known {
  method: string
  path: string
  pattern: RegExp
}

/** The route that streams changes, if the API has it. */
const CHANGES = '/changes'

/** More than the longest time that the API holds a request. */
const TIMEOUT_MS = 35_000
const PASSED_ON = ['accept', 'content-type', 'idempotency-key']
const PASSED_BACK = ['content-type', 'retry-after', 'location']
/** Answers may be displayed, and must never run as code. */
const HARMLESS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox",
}

/** Forwards requests to an API with its credentials: only requests that are in its OpenAPI document. */
export class Forwarder {
  private readonly connection: TransportOptions
  private readonly base: string
  private readonly routes: Known[]
  /** With --read-only: the paths that may be read. */
  private readonly readable: ReadonlySet<string> | undefined
  /** Whether it streams changes. */
  readonly hasChanges: boolean

  private constructor(connection: TransportOptions, paths: Paths, readable?: ReadonlySet<string>) {
    this.connection = connection
    this.base = connection.url.replace(/\/+$/, '')
    this.readable = readable
    this.hasChanges = CHANGES in paths
    this.routes = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path, pattern: patternOf(path) })),
    )
  }

  /** First asks the API for its routes: a wrong address is reported before a page is opened. */
  static async to(connection: TransportOptions, isReadOnly: boolean): Promise<Forwarder> {
    const response = await new Forwarder(connection, { '/openapi.json': { get: true } }).fetch(
      new Request(`${connection.url.replace(/\/+$/, '')}/openapi.json`),
    )
    const text = await response.text()
    if (response.status === 401 || response.status === 403)
      throw new Failure(
        `${connection.url} refuses requests without credentials (${response.status}); give --token, or ` +
          '--profile for an API with IAM',
      )
    const paths = response.ok ? pathsIn(text) : undefined
    if (!paths)
      throw new Failure(
        `${connection.url} is not the API of Overwinter: its /openapi.json answered ${response.status}. Is the ` +
          'address right, with its stage if it has one?',
      )
    return new Forwarder(connection, paths, isReadOnly ? await readablePaths() : undefined)
  }

  async forward(request: Request, target: string): Promise<Response> {
    const { method } = request
    const path = target.split('?', 1)[0]!
    const asked = method === 'HEAD' ? 'GET' : method
    const url = URL.parse(this.base + target)
    // For us `%2e%2e` is one part of a path; a server that decodes it goes up a level.
    const isPlain = url?.pathname === new URL(this.base).pathname.replace(/\/$/, '') + path
    if (!url || !isPlain || !this.routes.some((route) => route.method === asked && route.pattern.test(path)))
      return new HttpProblem('unknown-route', `the API has no ${method} ${path}; see /openapi.json`).toResponse()
    if (!this.isReadable(asked, path))
      return new HttpProblem(
        'forbidden',
        'this dashboard was started with --read-only: it changes nothing, and hides links and tokens',
      ).toResponse()
    const headers = new Headers(
      PASSED_ON.flatMap((name) =>
        request.headers.has(name) ? [[name, request.headers.get(name)!] as [string, string]] : [],
      ),
    )
    const body = request.body === null ? {} : { body: await request.arrayBuffer() }
    try {
      const isStream = path === CHANGES
      const response = await this.fetch(
        new Request(url, { method, headers, ...body }),
        isStream ? request.signal : AbortSignal.timeout(TIMEOUT_MS),
      )
      const back = PASSED_BACK.flatMap((name) =>
        response.headers.has(name) ? [[name, response.headers.get(name)!] as [string, string]] : [],
      )
      const content = isStream ? untilGone(response.body, request.signal) : response.body
      return new Response(content, { status: response.status, headers: { ...Object.fromEntries(back), ...HARMLESS } })
    } catch (error) {
      return new HttpProblem('unavailable', explain(error, this.connection.url)).toResponse()
    }
  }

  /** However it is spelt: some gateways decode `%2F` before they match the route. */
  private isReadable(method: string, path: string): boolean {
    const { readable } = this
    if (!readable) return true
    if (method !== 'GET') return false
    const spellings = [path, decoded(path)]
    const meant = this.routes.filter(
      (route) => route.method === 'GET' && spellings.some((spelt) => route.pattern.test(spelt)),
    )
    return meant.length > 0 && meant.every((route) => readable.has(route.path))
  }

  private async fetch(request: Request, signal = AbortSignal.timeout(TIMEOUT_MS)): Promise<Response> {
    const { token, sign, fetch: send = fetch } = this.connection
    if (token !== undefined) request.headers.set('authorization', `Bearer ${token}`)
    // The page sees a redirect; it is not followed with our credentials.
    return send(sign ? await sign(request) : request, { signal, redirect: 'manual' })
  }
}

/** A closed page ends its stream. That is no error, so the server must not print one. */
function untilGone(body: ReadableStream<Uint8Array> | null, signal: AbortSignal): ReadableStream<Uint8Array> | null {
  if (!body) return null
  return ReadableStream.from(
    (async function* () {
      try {
        yield* body
      } catch (error) {
        if (!signal.aborted) throw error
      }
    })(),
  )
}

/** The paths for read-only callers. The list of open callbacks contains their tokens, so it is excluded. */
async function readablePaths(): Promise<ReadonlySet<string>> {
  // Loaded on demand: other commands do without the API.
  const { ROUTES } = await import('../../functions/http/app.ts')
  return new Set([
    CHANGES,
    ...ROUTES.filter(({ method, needs }) => method === 'GET' && needs === 'read').map(({ path }) => path),
  ])
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/** `/runs/{id}` matches any single part of a path for `{id}`. */
function patternOf(path: string): RegExp {
  const parts = path
    .split('/')
    .map((part) =>
      /^\{\w+\}$/.test(part) ? '(?!\\.{1,2}(?:/|$))[^/]+' : part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'),
    )
  return new RegExp(`^${parts.join('/')}$`)
}

function pathsIn(text: string): Paths | undefined {
  try {
    const { openapi, paths } = JSON.parse(text) as { openapi?: unknown; paths?: Paths }
    return typeof openapi === 'string' && paths && '/runs/{id}' in paths ? paths : undefined
  } catch {
    return undefined
  }
}
