import type { Hono } from 'hono'
import { handle, type LambdaContext, type LambdaEvent } from 'hono/aws-lambda'
import type { Environment } from './environment.ts'
import { addressOf, type GatewayEvent, routeOf } from './gateway-event.ts'
import type { AppOptions } from './http/app.ts'
import { HttpProblem } from './http/problem.ts'
import { permissionFrom } from './token-authority.ts'

// biome-ignore lint/suspicious/noControlCharactersInRegex: a URL drops some of them, which may leave two dots
const NOT_PLAIN = /[\\#?\u0000-\u001f]|(^|\/)(\.|%2e){1,2}(\/|$)/i

/**
 * API Gateway matches a path as it was sent, and Hono as a URL normalises it: `\` becomes `/`, and `..` goes
 * up. A caller of one route must not reach another by such spellings; no path of this API needs them.
 */
const isPlain = (path: string): boolean => !NOT_PLAIN.test(path)

/** Without an authorizer: the token in the path alone authorises it. */
const isOpenRoute = (event: GatewayEvent): boolean => routeOf(event)?.startsWith('/callbacks/') ?? false

/**
 * API Gateway decides who may call, before the app runs; the scopes of a token are checked here. A request on
 * a route without an authorizer has no identity, so it can only use the token in its path.
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

/** The app does not know the prefix of its paths, but clients that follow a `Location` need it. */
function leadingBack(answer: Answer, base: string): Answer {
  for (const headers of [answer.headers, answer.multiValueHeaders]) {
    const [location] = [headers?.location].flat()
    if (location?.startsWith('/'))
      headers!.location = headers === answer.headers ? `${base}${location}` : [`${base}${location}`]
  }
  return answer
}
