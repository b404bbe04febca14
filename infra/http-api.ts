import { Duration, Validations } from 'aws-cdk-lib'
import { type HttpApi, HttpMethod, HttpNoneAuthorizer, HttpStage, type IHttpRouteAuthorizer, LogGroupLogDestination } from 'aws-cdk-lib/aws-apigatewayv2'
import { HttpIamAuthorizer, HttpJwtAuthorizer, HttpLambdaAuthorizer, HttpLambdaResponseType } from 'aws-cdk-lib/aws-apigatewayv2-authorizers'
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs'
import type { Construct } from 'constructs'
import { ROUTES } from '../functions/http/app.ts'
import { createFunction } from './function.ts'
import type { OverwinterProps } from './options.ts'
import { allow } from './permissions.ts'

const DEFAULT_THROTTLE = { rateLimit: 1_000, burstLimit: 2_000 }

/**
 * One route of API Gateway per route of the app, so that permissions and metrics can tell them apart, and one for all
 * else, so that the app can say what is wrong. All of them are behind the API's authorizer, /healthz too: who pays for
 * the function decides who may call it.
 */
export function addRoutes(api: HttpApi, handler: IFunction, { cors }: OverwinterProps): void {
  const integration = new HttpLambdaIntegration('Function', handler, { scopePermissionToRoute: false })
  for (const { method, path } of ROUTES) api.addRoutes({ path, methods: [HttpMethod[method]], integration })
  api.addRoutes({ path: '/{proxy+}', methods: [HttpMethod.ANY], integration })
  // A browser asks whether it may before it shows who it is. API Gateway answers, but only where no authorizer is in the way.
  if (!cors) return
  const [preflight] = api.addRoutes({ path: '/{proxy+}', methods: [HttpMethod.OPTIONS], integration, authorizer: new HttpNoneAuthorizer() })
  Validations.of(preflight!).acknowledge({ id: 'AwsSolutions-APIG4', reason: 'Browsers send no credentials with it, and it does nothing.' })
}

export function addStage(scope: Construct, httpApi: HttpApi, { throttle = DEFAULT_THROTTLE, retention, removalPolicy }: OverwinterProps): HttpStage {
  const logGroup = new LogGroup(scope, 'AccessLog', { retention: retention?.logs ?? RetentionDays.ONE_MONTH, removalPolicy })
  return new HttpStage(scope, 'Stage', {
    httpApi,
    stageName: '$default',
    autoDeploy: true,
    throttle,
    detailedMetricsEnabled: true,
    accessLogSettings: { destination: new LogGroupLogDestination(logGroup) },
  })
}

export function authorizerOf(scope: Construct, options: OverwinterProps): IHttpRouteAuthorizer {
  const { auth = 'iam' } = options
  if (auth === 'iam') return new HttpIamAuthorizer()
  if ('jwt' in auth) return new HttpJwtAuthorizer('Jwt', auth.jwt.issuer, auth.jwt)
  const { token } = auth
  const handler = createFunction(
    scope,
    'Authorizer',
    {
      handler: 'authorizer',
      description: 'Compares bearer tokens with the secret',
      memory: 256,
      timeout: Duration.seconds(10),
      environment: { OVERWINTER_TOKEN_SECRET: token.secretArn },
      may: [allow(['secretsmanager:GetSecretValue'], token.secretArn)],
    },
    options,
  )
  token.encryptionKey?.grantDecrypt(handler)
  return new HttpLambdaAuthorizer('Token', handler, {
    responseTypes: [HttpLambdaResponseType.SIMPLE],
    identitySource: ['$request.header.Authorization'],
    resultsCacheTtl: Duration.minutes(5),
  })
}
