import type { Context } from 'hono'
import type { Client } from '../../sdk/index.ts'
import type { ProblemKind } from './problem.ts'

/** What the handlers work with. */
export interface Api {
  client: Client
  bodyLimit: number
  exposeStacks: boolean
  openapi: () => object
}

export type JsonSchema = Record<string, unknown>

/** One entry of the table that mounts the handlers and writes the OpenAPI document, so that the two cannot differ. */
export interface Route {
  method: 'GET' | 'POST'
  /** As OpenAPI writes it: `/runs/{id}`. */
  path: `/${string}`
  operationId: string
  summary: string
  query?: Record<string, { description: string; schema?: JsonSchema }>
  body?: JsonSchema
  /** Takes an `Idempotency-Key` header. */
  takesKey?: true
  responses: Record<number, { description: string; schema?: JsonSchema }>
  problems: ProblemKind[]
  /** Answered without authorization. */
  isOpen?: true
  handle: (c: Context, api: Api) => Response | Promise<Response>
}

export function json(body: unknown, status = 200, headers?: Record<string, string>): Response {
  return new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } })
}

export function locationOf(runId: string): Record<string, string> {
  return { location: `/runs/${encodeURIComponent(runId)}` }
}
