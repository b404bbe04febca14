import { Duration } from 'aws-cdk-lib'
import type { ITable } from 'aws-cdk-lib/aws-dynamodb'
import type { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs'
import type { Construct } from 'constructs'
import { createFunction } from './function.ts'
import type { OverwinterProps } from './options.ts'
import { allow } from './permissions.ts'

/** How long API Gateway caches the function's answer for a token. */
export const KNOWN_FOR = Duration.minutes(5)

interface Known {
  table: ITable
  environment: Record<string, string>
}

/** The function that checks bearer tokens; undefined if the API uses none. */
export function createTokenAuthorizer(
  scope: Construct,
  options: OverwinterProps,
  { table, environment }: Known,
): NodejsFunction | undefined {
  const { auth = 'iam' } = options
  if (auth === 'iam' || 'jwt' in auth) return undefined
  const { token } = auth
  const handler = createFunction(
    scope,
    'Authorizer',
    {
      handler: 'authorizer',
      description: 'Knows bearer tokens: the secret, and those with scopes',
      memory: 256,
      timeout: Duration.seconds(10),
      environment: { ...environment, OVERWINTER_TOKEN_SECRET: token.secretArn },
      may: [allow(['secretsmanager:GetSecretValue'], token.secretArn), allow(['dynamodb:GetItem'], table.tableArn)],
    },
    options,
  )
  token.encryptionKey?.grantDecrypt(handler)
  return handler
}
