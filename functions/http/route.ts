import type { Context } from 'hono'
import type { Json } from '../../sdk/base/json.ts'
import { ERROR } from '../../sdk/base/values.ts'
import type { EventMapping } from '../../sdk/events/mapping.ts'
import type { Shape } from '../../sdk/http-api/kit.ts'
import type { Client, RunView } from '../../sdk/index.ts'
import type { Clock } from '../../sdk/ports/world.ts'
import type { TokenScope } from '../../sdk/tasks/tokens.ts'
import type { Workers } from '../../sdk/tasks/workers.ts'
import type { ProblemKind } from './problem.ts'
import type { Body, Query } from './request.ts'
import { withoutStacks } from './without-stacks.ts'

/** What the handlers for workers work with. */
export interface WorkerApi {
  workers: Workers
  clock: Clock
  /** How long `connect` holds a connection; for as long as the worker does, unless given. */
  longestConnectionMs?: number
}

/** What the other handlers work with. */
export interface Api extends WorkerApi {
  client: Client
  bodyLimit: number
  exposeStacks: boolean
  openapi: () => Promise<object>
  /** Where the lines that a run has logged can be read, where there is such a place. */
  logsOf?: (run: RunView) => string
  /** What `POST /events` knows by name. */
  mappings: readonly EventMapping[]
}

export type JsonSchema = Record<string, unknown>

type Shapes = typeof import('../../sdk/http-api/index.ts')
/** A shape of an answer. Named and not imported: the shapes are loaded where something is checked by them. */
export type ShapeName = { [K in keyof Shapes]: Shapes[K] extends Shape ? K : never }[keyof Shapes]

/**
 * One entry of the table that mounts the handlers and writes the OpenAPI document, so that the two cannot
 * differ.
 */
export interface Route<A = Api> {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** As OpenAPI writes it: `/runs/{id}`. */
  path: `/${string}`
  operationId: string
  /** The scope that a token has to have; `everything` is for callers that no scope lets in. */
  needs: TokenScope | 'everything'
  summary: string
  query?: Query<unknown>
  /** `anything`: JSON of any shape, a signal's payload for example. */
  body?: Body<unknown> | 'anything'
  /** What else than JSON it takes. */
  alsoTakes?: readonly string[]
  /** Takes an `Idempotency-Key` header. */
  takesKey?: true
  /** `shape`: of the JSON, or the shapes that it may have. `type`: of content that is not JSON. */
  responses: Record<number, { description: string; shape?: ShapeName | readonly ShapeName[]; type?: string }>
  problems: ProblemKind[]
  /** Statuses whose answer is a page where people ask by a form. */
  pages?: readonly number[]
  /** Answered without authorization. */
  isOpen?: true
  /** So is this, and on AWS too, where all else is behind the authorizer: what is in the path is proof enough. */
  isCapability?: true
  /**
   * The address that took its place; this one stays for older clients. It is refused where IAM decides by path: in IAM
   * `*` matches `/`, so that a permission for another route opens it too.
   */
  replacedBy?: string
  handle: (c: Context, api: A) => Response | Promise<Response>
}

/** One that asks for a worker's token, and nothing else. */
export type WorkerRoute = Route<WorkerApi>

export function json(body: unknown, status?: number, headers?: Record<string, string>): Response {
  return response(JSON.stringify(body), status, headers)
}

/** With payloads in it, which may have errors among them. Only where the text says so are they looked for. */
export function jsonWithPayloads(
  body: unknown,
  { exposeStacks }: Api,
  status?: number,
  headers?: Record<string, string>,
): Response {
  const text = JSON.stringify(body)
  return response(
    exposeStacks || !text.includes(`"${ERROR}":`) ? text : JSON.stringify(withoutStacks(body as Json)),
    status,
    headers,
  )
}

function response(text: string, status = 200, headers?: Record<string, string>): Response {
  return new Response(text, { status, headers: { 'content-type': 'application/json', ...headers } })
}

export function locationOf(runId: string): Record<string, string> {
  return { location: `/runs/${encodeURIComponent(runId)}` }
}
