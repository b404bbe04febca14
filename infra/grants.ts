import { Validations } from 'aws-cdk-lib'
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam'
import type { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs'
import { type ISecret, Secret } from 'aws-cdk-lib/aws-secretsmanager'
import type { Construct } from 'constructs'
import type { Environment } from '../functions/environment.ts'
import { ROUTES } from '../functions/http/app.ts'
import type { Gateway } from './gateway.ts'
import type { Auth } from './options.ts'

export type GrantedScope = 'start' | 'read' | 'operate'

const SECRET_OF: Record<GrantedScope, keyof Environment> = {
  start: 'OVERWINTER_START_SECRET',
  read: 'OVERWINTER_READ_SECRET',
  operate: 'OVERWINTER_OPERATE_SECRET',
}

/** How callers of the API are limited; undefined if a JWT opens everything. */
export function scopesFrom(auth: Auth = 'iam'): Environment['OVERWINTER_SCOPES'] {
  if (auth === 'iam') return auth
  return 'token' in auth ? 'token' : auth.jwt.scopes ? 'jwt' : undefined
}

/** Grants parts of the API: by the routes of a scope, or by a token that opens no others. */
export class Grants {
  private readonly scope: Construct
  private readonly api: Gateway
  private readonly auth: Auth
  private readonly authorizer: NodejsFunction | undefined
  private readonly tokens = new Map<GrantedScope, Secret>()

  constructor(scope: Construct, api: Gateway, auth: Auth = 'iam', authorizer?: NodejsFunction) {
    this.scope = scope
    this.api = api
    this.auth = auth
    this.authorizer = authorizer
  }

  grant(scope: GrantedScope, grantee: IGrantable): Grant {
    if (this.auth !== 'iam') return this.tokenFor(scope).grantRead(grantee)
    const resourceArns = ROUTES.filter(({ needs }) => needs === scope).map(({ method, path }) =>
      this.api.arnForExecuteApi(method, path.replaceAll(/\{\w+\}/g, '*') as `/${string}`),
    )
    return Grant.addToPrincipal({ grantee, actions: ['execute-api:Invoke'], resourceArns })
  }

  /** The secret whose value opens this scope; created on first use. */
  tokenFor(scope: GrantedScope): ISecret {
    if (!this.authorizer)
      throw new Error(
        `auth is not { token }, so there is no token for '${scope}': with JWTs, their issuer decides who may do what`,
      )
    const known = this.tokens.get(scope)
    if (known) return known
    const secret = new Secret(this.scope, `${scope[0]!.toUpperCase()}${scope.slice(1)}Token`, {
      description: `Overwinter: opens '${scope}', and no other part of the API`,
      generateSecretString: { excludePunctuation: true, passwordLength: 48 },
    })
    this.tokens.set(scope, secret)
    const reason =
      'Its holders would not learn of a rotation; a new value, however it is set, counts after five minutes.'
    Validations.of(secret).acknowledge({ id: 'AwsSolutions-SMG4', reason })
    this.authorizer.addEnvironment(SECRET_OF[scope], secret.secretArn)
    secret.grantRead(this.authorizer)
    return secret
  }
}
