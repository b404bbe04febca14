import { Token } from 'aws-cdk-lib'
import type { RestApi } from 'aws-cdk-lib/aws-apigateway'
import type { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2'
import type { IMetric, MetricOptions } from 'aws-cdk-lib/aws-cloudwatch'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs'
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs'
import type { Construct, IConstruct } from 'constructs'
import { ROUTES } from '../functions/http/app.ts'
import type { Route } from '../functions/http/route.ts'
import { checkPublicUrl } from '../sdk/worlds/public-url.ts'
import type { OverwinterProps } from './options.ts'

/** The API, whichever of API Gateway's two kinds it is. */
export interface Gateway {
  readonly apiId: string
  /** Where it is, without a slash at its end; for a REST API with the stage. */
  readonly apiEndpoint: string
  /** The construct of that kind, for what is yours to add: a name, WAF, a usage plan. */
  readonly http?: HttpApi
  readonly rest?: RestApi
  /** What IAM calls a route. */
  arnForExecuteApi(method: string, path: `/${string}`): string
  metricCount(options?: MetricOptions): IMetric
  metricClientError(options?: MetricOptions): IMetric
  metricServerError(options?: MetricOptions): IMetric
  metricLatency(options?: MetricOptions): IMetric
}

/** What stands behind an API, and in front of it. */
export interface Behind {
  handler: LambdaFunction
  /** Answers the open routes; there unless callbacks are off. */
  callbacks: LambdaFunction | undefined
  /** Knows bearer tokens; there with `auth: { token }`. */
  authorizer: NodejsFunction | undefined
}

/** An API, and its routes that are open to everybody. */
export interface WithOpenRoutes {
  api: Gateway
  open: readonly IConstruct[]
}

interface GatewayRoute extends Pick<Route, 'path'> {
  method: Route['method'] | 'HEAD'
  isOpen: boolean
}

/**
 * One route of API Gateway per route of the app, so that permissions and metrics can tell them apart; each kind of API adds one for all else, so that the
 * app can say what is wrong. All of them are behind the API's authorizer, /healthz too: who pays for the function decides who may call it. Except callbacks,
 * which are answered by people and services that know nothing but their link.
 */
export function routesFor({ callbacks }: OverwinterProps): GatewayRoute[] {
  return ROUTES.flatMap(({ method, path, isCapability }) => {
    const isOpen = isCapability === true && callbacks !== false
    // Whatever follows links in mails asks for the head first.
    const methods = isOpen && method === 'GET' ? ([method, 'HEAD'] as const) : [method]
    return methods.map((each) => ({ method: each, path, isOpen }))
  })
}

export interface Throttle {
  rateLimit: number
  burstLimit: number
}

const DEFAULT_THROTTLE: Throttle = { rateLimit: 1_000, burstLimit: 2_000 }
/** On each of their routes, for all who hold a link together: enough for people and webhooks, too little for somebody to run up a bill by guessing. */
const CALLBACKS_THROTTLE: Throttle = { rateLimit: 50, burstLimit: 100 }

/** Routes that are open to everybody have a limit of their own, so that nobody can use up that of the others. */
export function throttlesOf({ throttle = DEFAULT_THROTTLE, callbacks }: OverwinterProps): {
  all: Throttle
  open: Throttle
} {
  return { all: throttle, open: (callbacks !== false && callbacks?.throttle) || CALLBACKS_THROTTLE }
}

/** Its lines name routes and never paths: who reads logs must not be able to answer callbacks. */
export function accessLog(scope: Construct, { retention, removalPolicy }: OverwinterProps): LogGroup {
  return new LogGroup(scope, 'AccessLog', { retention: retention?.logs ?? RetentionDays.ONE_MONTH, removalPolicy })
}

/** What the links of callbacks begin with; undefined where nobody could follow them. */
export function publicUrlOf({ apiEndpoint }: Gateway, { callbacks = {} }: OverwinterProps): string | undefined {
  if (callbacks === false) return undefined
  const { url } = callbacks
  return url === undefined || Token.isUnresolved(url) ? (url ?? apiEndpoint) : checkPublicUrl(url, 'callbacks.url')
}
