import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import type { APIGatewayRequestAuthorizerEventV2 } from 'aws-lambda'
import { type TokenScope, Tokens } from '../sdk/tasks/tokens.ts'
import { awsWorld, type Environment, setting } from './environment.ts'
import { type Authority, judge, type Verdict } from './token-authority.ts'

const secrets = new SecretsManagerClient()
const tokens = new Tokens(awsWorld())
/** A new secret is known after this long, and an old one refused. */
const REFRESH_MS = 300_000

let current: { authority: Authority; until: number } | undefined

/** For `auth: { token }`: lets requests in whose bearer token is the secret's value, or one with scopes; how far, the API decides. */
export async function handler({ headers }: APIGatewayRequestAuthorizerEventV2): Promise<Verdict> {
  if (!current || current.until < Date.now()) current = { authority: await readAuthority(), until: Date.now() + REFRESH_MS }
  return judge(headers?.authorization, current.authority)
}

const GRANTED: Partial<Record<TokenScope, keyof Environment>> = {
  start: 'OVERWINTER_START_SECRET',
  read: 'OVERWINTER_READ_SECRET',
  operate: 'OVERWINTER_OPERATE_SECRET',
}

async function readAuthority(): Promise<Authority> {
  const granted = Object.entries(GRANTED).filter(([, name]) => process.env[name])
  const [master, ...values] = await Promise.all([setting('OVERWINTER_TOKEN_SECRET'), ...granted.map(([, name]) => setting(name))].map(readSecret))
  return { master: master!, granted: Object.fromEntries(granted.map(([scope], i) => [scope, values[i]!])), tokens }
}

async function readSecret(arn: string): Promise<string> {
  const { SecretString } = await secrets.send(new GetSecretValueCommand({ SecretId: arn }))
  return SecretString ?? ''
}
