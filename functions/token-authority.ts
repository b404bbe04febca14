import type { APIGatewaySimpleAuthorizerWithContextResult } from 'aws-lambda'
import { isTokenScope, type Permission, type TokenScope } from '../sdk/tasks/tokens.ts'
import { bearer } from './http/bearer.ts'

/** How a permission goes from the authorizer to the API: API Gateway hands on texts. */
type Handed = { scopes?: string; workflows?: string }
export type Verdict = Partial<APIGatewaySimpleAuthorizerWithContextResult<Handed>> & { isAuthorized: boolean }

export interface Authority {
  /** Opens everything. */
  master: string
  /** Those that the construct made for its grants: each opens one scope. */
  granted: Partial<Record<TokenScope, string>>
  /** Those that the API has made. */
  tokens: { permissionOf(token: string): Promise<Permission | undefined> }
}

/** Whether a bearer is let in, and how far. */
export async function judge(authorization: string | undefined, { master, granted, tokens }: Authority): Promise<Verdict> {
  const request = new Request('https://api', { headers: { authorization: authorization ?? '' } })
  if (bearer(master)(request)) return { isAuthorized: true }
  for (const [scope, token] of Object.entries(granted)) if (bearer(token)(request)) return handOver({ scopes: [scope as TokenScope] })
  const [, shown] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? []
  const permission = shown === undefined ? undefined : await tokens.permissionOf(shown)
  return permission ? handOver(permission) : { isAuthorized: false }
}

function handOver({ scopes, workflows }: Permission): Verdict {
  return { isAuthorized: true, context: { scopes: scopes.join(' '), ...(workflows && { workflows: JSON.stringify(workflows) }) } }
}

/** What API Gateway says of a request that it has let in; `true` where nothing binds it. */
export function permissionFrom(env: unknown, kind: 'token' | 'jwt'): Permission | true {
  const { authorizer } = (env as { event?: { requestContext?: { authorizer?: Gateway } } } | undefined)?.event?.requestContext ?? {}
  if (kind === 'jwt') return { scopes: scopesOfJwt(authorizer?.jwt) }
  const { scopes, workflows } = authorizer?.lambda ?? {}
  if (scopes === undefined) return true
  return { scopes: scopes.split(' ').filter(isTokenScope), ...(workflows !== undefined && { workflows: JSON.parse(workflows) as string[] }) }
}

interface Gateway {
  lambda?: Handed | null
  jwt?: { claims?: Record<string, unknown>; scopes?: string[] | null }
}

/** Issuers put a name before their scopes: `overwinter/start` and `overwinter:start` mean `start`. Those of other services open nothing here. */
function scopesOfJwt(jwt: Gateway['jwt']): TokenScope[] {
  const { scope, scp } = jwt?.claims ?? {}
  const said = [scope, scp, jwt?.scopes].flat().filter((each) => typeof each === 'string')
  const words = said.flatMap((each) => each.replaceAll(/^\[|\]$/g, '').split(/[ ,]+/)).map((word) => word.replace(/^overwinter[/:.]/, ''))
  return [...new Set(words.filter(isTokenScope))]
}
