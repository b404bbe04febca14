import type { Hono } from 'hono'
import { handle, type LambdaContext, type LambdaEvent } from 'hono/aws-lambda'
import type { AppOptions } from './http/app.ts'
import { HttpProblem } from './http/problem.ts'
import { permissionFrom } from './token-authority.ts'

/** What API Gateway says of a request, as far as this function goes by it. */
interface GatewayEvent {
  rawPath?: string
  /** The route that API Gateway took it for, and so whose authorizer has let it in: `GET /callbacks/{token}`. */
  routeKey?: string
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: a URL drops some of them, and what is left may be two dots
const NOT_PLAIN = /[\\#?\u0000-\u001f]|(^|\/)(\.|%2e){1,2}(\/|$)/i

/**
 * API Gateway matches a path as it came, decoded, and Hono as a URL has it: `\` is `/` there, and `..` goes up. Whoever may take one route must not reach
 * another by spelling it so; no path of this API needs any of it.
 */
const isPlainPath = ({ rawPath = '/' }: GatewayEvent): boolean => !NOT_PLAIN.test(rawPath)

/** No authorizer has looked at it: the token in its path is all that lets it in. */
const isOpenRoute = ({ routeKey }: GatewayEvent): boolean => routeKey !== undefined && /^\w+ \/callbacks\//.test(routeKey)

/**
 * Who may call is decided by API Gateway, before the app is asked; how far a token with scopes reaches, here. What came by a route without an authorizer
 * was decided by nobody, and gets no further than the token in its path.
 */
export function authorityOf(kind: 'token' | 'jwt' | undefined): NonNullable<AppOptions['authorize']> {
  return (_request, env) => {
    if (isOpenRoute((env as { event?: GatewayEvent } | undefined)?.event ?? {})) return false
    return kind ? permissionFrom(env, kind) : true
  }
}

interface Answer {
  statusCode: number
  headers?: Record<string, string | string[]>
  body: string
  isBase64Encoded: boolean
}

/** The app as a function behind API Gateway. */
export function behindGateway(app: Hono): (event: LambdaEvent, context?: LambdaContext) => Promise<Answer> {
  const serve = handle(app)
  return async (event, context) => {
    if (isPlainPath(event as GatewayEvent)) return serve(event, context)
    const refusal = new HttpProblem('unknown-route', 'a path of this API has no dot segments, backslashes, # or ? in it; see /openapi.json').toResponse()
    const headers = { 'content-type': refusal.headers.get('content-type')! }
    return { statusCode: refusal.status, headers, body: await refusal.text(), isBase64Encoded: false }
  }
}
