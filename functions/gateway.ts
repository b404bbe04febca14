import type { Hono } from 'hono'
import { handle, type LambdaContext, type LambdaEvent } from 'hono/aws-lambda'
import type { Environment } from './environment.ts'
import { addressOf, type GatewayEvent, routeOf } from './gateway-event.ts'
import type { AppOptions } from './http/app.ts'
import { HttpProblem } from './http/problem.ts'
import { permissionFrom } from './token-authority.ts'

// biome-ignore lint/suspicious/noControlCharactersInRegex: a URL drops some of them, and what is left may be two dots
const NOT_PLAIN = /[\\#?\u0000-\u001f]|(^|\/)(\.|%2e){1,2}(\/|$)/i

/**
 * API Gateway matches a path as it came, and Hono as a URL has it: `\` is `/` there, and `..` goes up. Whoever may take one route must not reach
 * another by spelling it so; no path of this API needs any of it.
 */
const isPlain = (path: string): boolean => !NOT_PLAIN.test(path)

/** No authorizer has looked at it: the token in its path is all that lets it in. */
const isOpenRoute = (event: GatewayEvent): boolean => routeOf(event)?.startsWith('/callbacks/') ?? false

/**
 * Who may call is decided by API Gateway, before the app is asked; how far a token with scopes reaches, here. What came by a route without an authorizer
 * was decided by nobody, and gets no further than the token in its path.
 */
export function authorityOf(kind: Environment['OVERWINTER_SCOPES']): NonNullable<AppOptions['authorize']> {
  return (_request, env) => {
    if (isOpenRoute((env as { event?: GatewayEvent } | undefined)?.event ?? {})) return false
    return kind === 'token' || kind === 'jwt' ? permissionFrom(env, kind) : true
  }
}

interface Answer {
  statusCode: number
  headers?: Record<string, string | string[]>
  multiValueHeaders?: Record<string, string[]>
  body: string
  isBase64Encoded: boolean
}

/** The app as a function behind API Gateway, of either kind. */
export function behindGateway(app: Hono): (event: LambdaEvent, context?: LambdaContext) => Promise<Answer> {
  const serve = handle(app)
  return async (event, context) => {
    const address = addressOf(event as GatewayEvent)
    if (!address || !isPlain(address.path)) return refusal()
    if (address.base === undefined) return serve(event, context)
    return leadingBack(await serve({ ...event, path: address.path } as LambdaEvent, context), address.base)
  }
}

async function refusal(): Promise<Answer> {
  const response = new HttpProblem(
    'unknown-route',
    'a path of this API has no dot segments, backslashes, # or ? in it; see /openapi.json',
  ).toResponse()
  const headers = { 'content-type': response.headers.get('content-type')! }
  return { statusCode: response.status, headers, body: await response.text(), isBase64Encoded: false }
}

/** The app knows nothing of what comes before its paths; who follows a `Location` has to. */
function leadingBack(answer: Answer, base: string): Answer {
  for (const headers of [answer.headers, answer.multiValueHeaders]) {
    const [location] = [headers?.location].flat()
    if (location?.startsWith('/'))
      headers!.location = headers === answer.headers ? `${base}${location}` : [`${base}${location}`]
  }
  return answer
}
