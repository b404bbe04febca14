import { Duration, Token, Validations } from 'aws-cdk-lib'
import {
  type CfnStage,
  type HttpApi,
  HttpMethod,
  HttpNoneAuthorizer,
  type HttpRoute,
  HttpStage,
  type IHttpRouteAuthorizer,
  LogGroupLogDestination,
} from 'aws-cdk-lib/aws-apigatewayv2'
import { HttpIamAuthorizer, HttpJwtAuthorizer, HttpLambdaAuthorizer, HttpLambdaResponseType } from 'aws-cdk-lib/aws-apigatewayv2-authorizers'
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations'
import type { ITable } from 'aws-cdk-lib/aws-dynamodb'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import type { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs'
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs'
import type { Construct } from 'constructs'
import { ROUTES } from '../functions/http/app.ts'
import { checkPublicUrl } from '../sdk/worlds/public-url.ts'
import { createFunction } from './function.ts'
import type { OverwinterProps } from './options.ts'
import { allow } from './permissions.ts'

const DEFAULT_THROTTLE = { rateLimit: 1_000, burstLimit: 2_000 }
/** On each of their routes, for all who hold a link together: enough for people and webhooks, too little for somebody to run up a bill by guessing. */
const CALLBACKS_THROTTLE = { rateLimit: 50, burstLimit: 100 }

/**
 * One route of API Gateway per route of the app, so that permissions and metrics can tell them apart, and one for all
 * else, so that the app can say what is wrong. All of them are behind the API's authorizer, /healthz too: who pays for
 * the function decides who may call it. Except callbacks, which are answered by people and services that know nothing but
 * their link; these routes are returned.
 */
export function addRoutes(api: HttpApi, handler: IFunction, { cors, callbacks }: OverwinterProps): OpenRoute[] {
  const integration = new HttpLambdaIntegration('Function', handler, { scopePermissionToRoute: false })
  const open = ROUTES.flatMap(({ method, path, isCapability }) => {
    const isOpen = isCapability && callbacks !== false
    // Whatever follows links in mails asks for the head first.
    const methods = isOpen && method === 'GET' ? [HttpMethod.GET, HttpMethod.HEAD] : [HttpMethod[method]]
    const routes = api.addRoutes({ path, methods, integration, ...(isOpen && { authorizer: new HttpNoneAuthorizer() }) })
    return isOpen ? routes.map((route, i) => ({ route, key: `${methods[i]} ${path}` })) : []
  })
  api.addRoutes({ path: '/{proxy+}', methods: [HttpMethod.ANY], integration })
  if (cors) answerPreflights(api, integration)
  return open
}

/** A browser asks whether it may before it shows who it is. API Gateway answers, but only where no authorizer is in the way. */
function answerPreflights(api: HttpApi, integration: HttpLambdaIntegration): void {
  const [preflight] = api.addRoutes({ path: '/{proxy+}', methods: [HttpMethod.OPTIONS], integration, authorizer: new HttpNoneAuthorizer() })
  Validations.of(preflight!).acknowledge({ id: 'AwsSolutions-APIG4', reason: 'Browsers send no credentials with it, and it does nothing.' })
}

export interface OpenRoute {
  route: HttpRoute
  /** As API Gateway calls it: `GET /callbacks/{token}`. */
  key: string
}

/** What the links of callbacks begin with; undefined where nobody could follow them. */
export function publicUrlOf(api: HttpApi, { callbacks = {} }: OverwinterProps): string | undefined {
  if (callbacks === false) return undefined
  const { url } = callbacks
  return url === undefined || Token.isUnresolved(url) ? (url ?? api.apiEndpoint) : checkPublicUrl(url, 'callbacks.url')
}

/** Routes that are open to everybody have a limit of their own, so that nobody can use up that of the others. */
function throttleApart(stage: HttpStage, routes: readonly OpenRoute[], { rateLimit, burstLimit } = CALLBACKS_THROTTLE): void {
  if (routes.length === 0) return
  const settings = { ThrottlingRateLimit: rateLimit, ThrottlingBurstLimit: burstLimit, DetailedMetricsEnabled: true }
  const cfnStage = stage.node.defaultChild as CfnStage
  cfnStage.routeSettings = Object.fromEntries(routes.map(({ key }) => [key, settings]))
  // A stage cannot have settings for routes that are not there yet.
  stage.node.addDependency(...routes.map(({ route }) => route))
}

export function addStage(
  scope: Construct,
  httpApi: HttpApi,
  open: readonly OpenRoute[],
  { throttle = DEFAULT_THROTTLE, callbacks, retention, removalPolicy }: OverwinterProps,
): HttpStage {
  const logGroup = new LogGroup(scope, 'AccessLog', { retention: retention?.logs ?? RetentionDays.ONE_MONTH, removalPolicy })
  const stage = new HttpStage(scope, 'Stage', {
    httpApi,
    stageName: '$default',
    autoDeploy: true,
    throttle,
    detailedMetricsEnabled: true,
    accessLogSettings: { destination: new LogGroupLogDestination(logGroup) },
  })
  throttleApart(stage, open, callbacks === false ? undefined : callbacks?.throttle)
  return stage
}

interface Known {
  table: ITable
  environment: Record<string, string>
}

export function authorizerOf(
  scope: Construct,
  options: OverwinterProps,
  { table, environment }: Known,
): { authorizer: IHttpRouteAuthorizer; handler?: NodejsFunction } {
  const { auth = 'iam' } = options
  if (auth === 'iam') return { authorizer: new HttpIamAuthorizer() }
  if ('jwt' in auth) return { authorizer: new HttpJwtAuthorizer('Jwt', auth.jwt.issuer, auth.jwt) }
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
  const authorizer = new HttpLambdaAuthorizer('Token', handler, {
    responseTypes: [HttpLambdaResponseType.SIMPLE],
    identitySource: ['$request.header.Authorization'],
    resultsCacheTtl: Duration.minutes(5),
  })
  return { authorizer, handler }
}
