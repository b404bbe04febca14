import type { APIGatewayAuthorizerResult, APIGatewaySimpleAuthorizerWithContextResult } from 'aws-lambda'
import { isTokenScope, type Permission, type TokenScope } from '../sdk/tasks/tokens.ts'
import { bearer } from './http/bearer.ts'

/** The context that the authorizer passes to the API. API Gateway passes texts only. */
type Handed = { scopes?: string; workflows?: string }
export type Verdict = Partial<APIGatewaySimpleAuthorizerWithContextResult<Handed>> & { isAuthorized: boolean }

export interface Authority {
  /** Opens everything. */
  master: string
  /** The secrets that the construct made for its grants: each opens one scope. */
  granted: Partial<Record<TokenScope, string>>
  /** Those that the API has made. */
  tokens: { permissionOf(token: string): Promise<Permission | undefined> }
}

/** Whether a bearer token is valid, and what it opens. */
export async function judge(
  authorization: string | undefined,
  { master, granted, tokens }: Authority,
): Promise<Verdict> {
  // No token contains other characters, and a request cannot.
  if (/[^\x20-\x7e]/.test(authorization ?? '')) return { isAuthorized: false }
  const request = new Request('https://api', { headers: { authorization: authorization ?? '' } })
  if (bearer(master)(request)) return { isAuthorized: true }
  for (const [scope, token] of Object.entries(granted))
    if (bearer(token)(request)) return handOver({ scopes: [scope as TokenScope] })
  const [, shown] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? []
  const permission = shown === undefined ? undefined : await tokens.permissionOf(shown)
  return permission ? handOver(permission) : { isAuthorized: false }
}

function handOver({ scopes, workflows }: Permission): Verdict {
  return {
    isAuthorized: true,
    context: { scopes: scopes.join(' '), ...(workflows && { workflows: JSON.stringify(workflows) }) },
  }
}

/**
 * The same for a REST API, which needs a policy. API Gateway caches it for all requests of the token within
 * the next minutes, so it must cover the whole stage.
 */
export function asPolicy({ isAuthorized, context }: Verdict, methodArn: string): APIGatewayAuthorizerResult {
  const stage = methodArn.split('/').slice(0, 2).join('/')
  const statement = {
    Action: 'execute-api:Invoke',
    Effect: isAuthorized ? ('Allow' as const) : ('Deny' as const),
    Resource: `${stage}/*`,
  }
  return {
    principalId: 'bearer',
    policyDocument: { Version: '2012-10-17', Statement: [statement] },
    ...(context && { context: { ...context } }),
  }
}

/** The permission of a request that API Gateway has authorized; `true` if it is not restricted. */
export function permissionFrom(env: unknown, kind: 'token' | 'jwt'): Permission | true {
  const { authorizer } =
    (env as { event?: { requestContext?: { authorizer?: Gateway } } } | undefined)?.event?.requestContext ?? {}
  if (kind === 'jwt') return { scopes: scopesOfJwt(authorizer?.jwt) }
  const { scopes, workflows } =
    (authorizer && 'lambda' in authorizer ? authorizer.lambda : (authorizer as Handed | undefined)) ?? {}
  if (scopes === undefined) return true
  return {
    scopes: scopes.split(' ').filter(isTokenScope),
    ...(workflows !== undefined && { workflows: JSON.parse(workflows) as string[] }),
  }
}

/** A REST API merges the authorizer's context with its own; an HTTP API keeps them apart. */
interface Gateway {
  lambda?: Handed | null
  jwt?: { claims?: Record<string, unknown>; scopes?: string[] | null }
}

/**
 * Issuers put a prefix before their scopes: `overwinter/start` and `overwinter:start` mean `start`. Scopes of
 * other services open nothing here.
 */
function scopesOfJwt(jwt: Gateway['jwt']): TokenScope[] {
  const { scope, scp } = jwt?.claims ?? {}
  const said = [scope, scp, jwt?.scopes].flat().filter((each) => typeof each === 'string')
  const words = said
    .flatMap((each) => each.replaceAll(/^\[|\]$/g, '').split(/[ ,]+/))
    .map((word) => word.replace(/^overwinter[/:.]/, ''))
  return [...new Set(words.filter(isTokenScope))]
}
