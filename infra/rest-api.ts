import { Names, RemovalPolicy, Stack } from 'aws-cdk-lib'
import {
  AccessLogFormat,
  AuthorizationType,
  IdentitySource,
  LambdaIntegration,
  LogGroupLogDestination,
  type Method,
  type MethodDeploymentOptions,
  type MethodOptions,
  RequestAuthorizer,
  ResponseType,
  RestApi,
} from 'aws-cdk-lib/aws-apigateway'
import type { CorsPreflightOptions } from 'aws-cdk-lib/aws-apigatewayv2'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs'
import type { Construct } from 'constructs'
import type { AllowedBrowsers } from '../functions/browsers.ts'
import type { Environment } from '../functions/environment.ts'
import { acknowledgeOpen, acknowledgeRestApi } from './acknowledgements.ts'
import { accessLog, type Behind, type Gateway, routesFor, throttlesOf, type WithOpenRoutes } from './gateway.ts'
import type { OverwinterProps } from './options.ts'
import { KNOWN_FOR } from './token-authorizer.ts'

/** The first part of every path at API Gateway's own address. */
export const STAGE = 'api'

const OPEN: MethodOptions = { authorizationType: AuthorizationType.NONE }

/** API Gateway's REST API, for private endpoints, WAF and usage plans. */
export function createRestApi(
  scope: Construct,
  { handler, callbacks, authorizer }: Behind,
  props: OverwinterProps,
): WithOpenRoutes {
  const rest = new RestApi(scope, 'RestApi', {
    // Its metrics use this name, so no two APIs may share it.
    restApiName: Names.uniqueResourceName(scope, { maxLength: 128 }),
    ...(typeof props.api === 'object' && props.api.rest),
    // A webhook's body has to arrive byte by byte, or its signature does not match.
    binaryMediaTypes: ['*/*'],
    // The account has one role for all logs of API Gateway in a region. Without it no stage with a log can be
    // deployed; other stacks may depend on it by now.
    cloudWatchRole: true,
    cloudWatchRoleRemovalPolicy: RemovalPolicy.RETAIN,
    deployOptions: {
      stageName: STAGE,
      throttlingRateLimit: throttlesOf(props).all.rateLimit,
      throttlingBurstLimit: throttlesOf(props).all.burstLimit,
      methodOptions: openMethods(props),
      // No metrics by method, which are billed one by one; and no X-Ray, which stores URLs and so the tokens
      // of callbacks.
      tracingEnabled: false,
      accessLogDestination: new LogGroupLogDestination(accessLog(scope, props)),
      accessLogFormat: AccessLogFormat.jsonWithStandardFields(),
    },
  })
  const integration = new LambdaIntegration(handler, { scopePermissionToMethod: false })
  const forOpen = callbacks && new LambdaIntegration(callbacks, { scopePermissionToMethod: false })
  const guarded = guardOf(scope, authorizer)
  const open: Method[] = []
  for (const { method, path, isOpen } of routesFor(props)) {
    const resource = rest.root.resourceForPath(path)
    if (isOpen && forOpen) open.push(resource.addMethod(method, forOpen, OPEN))
    else resource.addMethod(method, integration, guarded)
  }
  rest.root.resourceForPath('/{proxy+}').addMethod('ANY', integration, guarded)
  if (props.cors) answerBrowsers(rest, [handler, ...(callbacks ? [callbacks] : [])], integration, props.cors)
  acknowledgeRestApi(rest)
  return { api: asGateway(rest), open }
}

function asGateway(rest: RestApi): Gateway {
  const { region, urlSuffix } = Stack.of(rest)
  const ofStage = rest.deploymentStage
  return {
    apiId: rest.restApiId,
    // Not by the stage's own reference: the runner needs the address, and the stage is created after all
    // functions.
    apiEndpoint: `https://${rest.restApiId}.execute-api.${region}.${urlSuffix}/${STAGE}`,
    rest,
    arnForExecuteApi: (method, path) => rest.arnForExecuteApi(method, path, STAGE),
    metricCount: (options) => ofStage.metricCount(options),
    metricClientError: (options) => ofStage.metricClientError(options),
    metricServerError: (options) => ofStage.metricServerError(options),
    metricLatency: (options) => ofStage.metricLatency(options),
  }
}

function openMethods(props: OverwinterProps): Record<string, MethodDeploymentOptions> {
  const { rateLimit: throttlingRateLimit, burstLimit: throttlingBurstLimit } = throttlesOf(props).open
  const open = routesFor(props).filter(({ isOpen }) => isOpen)
  return Object.fromEntries(
    open.map(({ method, path }) => [`${path}/${method}`, { throttlingRateLimit, throttlingBurstLimit }]),
  )
}

function guardOf(scope: Construct, handler: NodejsFunction | undefined): MethodOptions {
  if (!handler) return { authorizationType: AuthorizationType.IAM }
  const authorizer = new RequestAuthorizer(scope, 'TokenAuthorizer', {
    handler,
    identitySources: [IdentitySource.header('Authorization')],
    resultsCacheTtl: KNOWN_FOR,
  })
  return { authorizationType: AuthorizationType.CUSTOM, authorizer }
}

/**
 * A browser's preflight carries no credentials. The function answers it, and adds the CORS headers to its
 * other answers. API Gateway's own answers only say that a request was refused, which any page may know.
 */
function answerBrowsers(
  rest: RestApi,
  handlers: LambdaFunction[],
  integration: LambdaIntegration,
  cors: CorsPreflightOptions,
): void {
  const allowed: AllowedBrowsers = { ...cors, maxAge: cors.maxAge?.toSeconds() }
  for (const handler of handlers)
    handler.addEnvironment('OVERWINTER_CORS' satisfies keyof Environment, JSON.stringify(allowed))
  const preflight = rest.root.resourceForPath('/{proxy+}').addMethod('OPTIONS', integration, OPEN)
  acknowledgeOpen(preflight, 'Browsers send no credentials with it, and it does nothing.')
  for (const type of [ResponseType.DEFAULT_4XX, ResponseType.DEFAULT_5XX])
    rest.addGatewayResponse(type.responseType, {
      type,
      responseHeaders: { 'Access-Control-Allow-Origin': 'method.request.header.Origin' },
    })
}
