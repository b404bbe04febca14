import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway'
import {
  type CfnStage,
  HttpApi,
  HttpMethod,
  HttpNoneAuthorizer,
  type HttpRoute,
  HttpStage,
  type IHttpRouteAuthorizer,
  LogGroupLogDestination,
} from 'aws-cdk-lib/aws-apigatewayv2'
import {
  HttpIamAuthorizer,
  HttpJwtAuthorizer,
  HttpLambdaAuthorizer,
  HttpLambdaResponseType,
} from 'aws-cdk-lib/aws-apigatewayv2-authorizers'
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations'
import type { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs'
import type { Construct } from 'constructs'
import { acknowledgeOpen } from './acknowledgements.ts'
import { accessLog, type Behind, type Gateway, routesFor, throttlesOf, type WithOpenRoutes } from './gateway.ts'
import type { OverwinterProps } from './options.ts'
import { KNOWN_FOR } from './token-authorizer.ts'

/** API Gateway's HTTP API: cheaper, with JWTs, and without a stage in the address. */
export function createHttpApi(
  scope: Construct,
  { handler, callbacks, authorizer }: Behind,
  props: OverwinterProps,
): WithOpenRoutes {
  const http = new HttpApi(scope, 'HttpApi', {
    createDefaultStage: false,
    defaultAuthorizer: authorizerOf(props, authorizer),
    corsPreflight: props.cors,
  })
  const open = addRoutes(http, { handler, callbacks }, props)
  addStage(scope, http, open, props)
  return { api: asGateway(http), open: open.map(({ route }) => route) }
}

function asGateway(http: HttpApi): Gateway {
  return {
    apiId: http.apiId,
    apiEndpoint: http.apiEndpoint,
    http,
    arnForExecuteApi: (method, path) => http.arnForExecuteApi(method, path),
    metricCount: (options) => http.metricCount(options),
    metricClientError: (options) => http.metricClientError(options),
    metricServerError: (options) => http.metricServerError(options),
    metricLatency: (options) => http.metricLatency(options),
  }
}

/**
 * The path is not among them: it may contain the token of a callback. `$context.resourcePath` exists for REST
 * APIs only.
 */
const LOGGED = {
  requestId: '$context.requestId',
  requestTime: '$context.requestTime',
  ip: '$context.identity.sourceIp',
  caller: '$context.identity.caller',
  route: '$context.routeKey',
  protocol: '$context.protocol',
  status: '$context.status',
  responseLength: '$context.responseLength',
  responseLatency: '$context.responseLatency',
  integrationError: '$context.integrationErrorMessage',
  error: '$context.error.message',
}

interface OpenRoute {
  route: HttpRoute
  /** Its name in API Gateway: `GET /callbacks/{token}`. */
  key: string
}

function addRoutes(
  http: HttpApi,
  { handler, callbacks }: Omit<Behind, 'authorizer'>,
  props: OverwinterProps,
): OpenRoute[] {
  const integration = new HttpLambdaIntegration('Function', handler, { scopePermissionToRoute: false })
  const forOpen = callbacks && new HttpLambdaIntegration('Callbacks', callbacks, { scopePermissionToRoute: false })
  const open = routesFor(props).flatMap(({ method, path, isOpen }) => {
    const to = isOpen && forOpen ? { integration: forOpen, authorizer: new HttpNoneAuthorizer() } : { integration }
    const added = http.addRoutes({ path, methods: [HttpMethod[method]], ...to })
    return isOpen ? added.map((route) => ({ route, key: `${method} ${path}` })) : []
  })
  http.addRoutes({ path: '/{proxy+}', methods: [HttpMethod.ANY], integration })
  if (props.cors) answerPreflights(http, integration)
  return open
}

/**
 * A browser's preflight carries no credentials. API Gateway answers it, but only on a route without an
 * authorizer.
 */
function answerPreflights(http: HttpApi, integration: HttpLambdaIntegration): void {
  const [preflight] = http.addRoutes({
    path: '/{proxy+}',
    methods: [HttpMethod.OPTIONS],
    integration,
    authorizer: new HttpNoneAuthorizer(),
  })
  acknowledgeOpen(preflight!, 'Browsers send no credentials with it, and it does nothing.')
}

function addStage(scope: Construct, httpApi: HttpApi, open: readonly OpenRoute[], props: OverwinterProps): void {
  const stage = new HttpStage(scope, 'Stage', {
    httpApi,
    stageName: '$default',
    autoDeploy: true,
    throttle: throttlesOf(props).all,
    accessLogSettings: {
      destination: new LogGroupLogDestination(accessLog(scope, props)),
      format: AccessLogFormat.custom(JSON.stringify(LOGGED)),
    },
  })
  if (open.length === 0) return
  const { rateLimit, burstLimit } = throttlesOf(props).open
  const settings = { ThrottlingRateLimit: rateLimit, ThrottlingBurstLimit: burstLimit }
  const cfnStage = stage.node.defaultChild as CfnStage
  cfnStage.routeSettings = Object.fromEntries(open.map(({ key }) => [key, settings]))
  // A stage cannot have settings for routes that do not exist yet.
  stage.node.addDependency(...open.map(({ route }) => route))
}

function authorizerOf({ auth = 'iam' }: OverwinterProps, handler: NodejsFunction | undefined): IHttpRouteAuthorizer {
  if (handler)
    return new HttpLambdaAuthorizer('Token', handler, {
      responseTypes: [HttpLambdaResponseType.SIMPLE],
      identitySource: ['$request.header.Authorization'],
      resultsCacheTtl: KNOWN_FOR,
    })
  return typeof auth === 'object' && 'jwt' in auth
    ? new HttpJwtAuthorizer('Jwt', auth.jwt.issuer, auth.jwt)
    : new HttpIamAuthorizer()
}
