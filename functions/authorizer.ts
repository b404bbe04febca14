import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import type { APIGatewayRequestAuthorizerEventV2, APIGatewaySimpleAuthorizerResult } from 'aws-lambda'
import { setting } from './environment.ts'
import { bearer } from './http/bearer.ts'

const secrets = new SecretsManagerClient()
/** A new token is known after this long, and an old one refused. */
const REFRESH_MS = 300_000

let current: { isAllowed: (request: Request) => boolean; until: number } | undefined

/** For `auth: { token }`: lets requests in whose bearer token is the secret's value. */
export async function handler({ headers }: APIGatewayRequestAuthorizerEventV2): Promise<APIGatewaySimpleAuthorizerResult> {
  if (!current || current.until < Date.now()) current = { isAllowed: bearer(await readToken()), until: Date.now() + REFRESH_MS }
  return { isAuthorized: current.isAllowed(new Request('https://api', { headers: { authorization: headers?.authorization ?? '' } })) }
}

async function readToken(): Promise<string> {
  const { SecretString } = await secrets.send(new GetSecretValueCommand({ SecretId: setting('OVERWINTER_TOKEN_SECRET') }))
  return SecretString ?? ''
}
