import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import type {
  APIGatewayAuthorizerResult,
  APIGatewayRequestAuthorizerEvent,
  APIGatewayRequestAuthorizerEventV2,
} from 'aws-lambda'
import { type TokenScope, Tokens } from '../sdk/tasks/tokens.ts'
import { awsWorld, type Environment, setting } from './environment.ts'
import { type Authority, asPolicy, judge, type Verdict } from './token-authority.ts'

const secrets = new SecretsManagerClient()
const tokens = new Tokens(awsWorld())
/** How long until a new secret is accepted and an old one is refused. */
const REFRESH_MS = 300_000

let current: { authority: Authority; until: number } | undefined

/**
 * For `auth: { token }`: accepts requests whose bearer token is the secret's value, or a token with scopes.
 * The API then checks the scopes.
 */
export async function handler(
  event: APIGatewayRequestAuthorizerEventV2 | APIGatewayRequestAuthorizerEvent,
): Promise<Verdict | APIGatewayAuthorizerResult> {
  if (!current || current.until < Date.now())
    current = { authority: await readAuthority(), until: Date.now() + REFRESH_MS }
  const verdict = await judge(authorizationIn(event.headers), current.authority)
  return 'methodArn' in event ? asPolicy(verdict, event.methodArn) : verdict
}

/** A REST API does not change the case of header names. */
function authorizationIn(headers: Record<string, string | undefined> | null | undefined): string | undefined {
  return Object.entries(headers ?? {}).find(([name]) => name.toLowerCase() === 'authorization')?.[1]
}

const GRANTED: Partial<Record<TokenScope, keyof Environment>> = {
  start: 'OVERWINTER_START_SECRET',
  read: 'OVERWINTER_READ_SECRET',
  operate: 'OVERWINTER_OPERATE_SECRET',
}

async function readAuthority(): Promise<Authority> {
  const granted = Object.entries(GRANTED).filter(([, name]) => process.env[name])
  const [master, ...values] = await Promise.all(
    [setting('OVERWINTER_TOKEN_SECRET'), ...granted.map(([, name]) => setting(name))].map(readSecret),
  )
  return { master: master!, granted: Object.fromEntries(granted.map(([scope], i) => [scope, values[i]!])), tokens }
}

async function readSecret(arn: string): Promise<string> {
  const { SecretString } = await secrets.send(new GetSecretValueCommand({ SecretId: arn }))
  return SecretString ?? ''
}
