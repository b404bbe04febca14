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

/** The API, of either of API Gateway's two kinds. */
export interface Gateway {
  readonly apiId: string
  /** Its address, without a slash at its end; for a REST API with the stage. */
  readonly apiEndpoint: string
  /** The construct of that kind, for your additions: a name, WAF, a usage plan. */
  readonly http?: HttpApi
  readonly rest?: RestApi
  /** The ARN of a route in IAM. */
  arnForExecuteApi(method: string, path: `/${string}`): string
  metricCount(options?: MetricOptions): IMetric
  metricClientError(options?: MetricOptions): IMetric
  metricServerError(options?: MetricOptions): IMetric
  metricLatency(options?: MetricOptions): IMetric
}

/** The functions behind an API, and its authorizer. */
export interface Behind {
  handler: LambdaFunction
  /** Answers the open routes; absent if callbacks are off. */
  callbacks: LambdaFunction | undefined
  /** Checks bearer tokens; present with `auth: { token }`. */
  authorizer: NodejsFunction | undefined
}

/** An API, and its routes without authorization. */
export interface WithOpenRoutes {
  api: Gateway
  open: readonly IConstruct[]
}

interface GatewayRoute extends Pick<Route, 'path'> {
  method: Route['method'] | 'HEAD'
  isOpen: boolean
}

/**
 * One route of API Gateway per route of the app, so that permissions and metrics can tell them apart. Each
 * kind of API adds a default route, so that the app can answer errors. All of them are behind the API's
 * authorizer, /healthz too, because each call costs the account money. Callbacks are the exception: people
 * and services answer them who have nothing but their link.
 */
export function routesFor({ callbacks }: OverwinterProps): GatewayRoute[] {
  return ROUTES.flatMap(({ method, path, isCapability }) => {
    const isOpen = isCapability === true && callbacks !== false
    // Mail scanners that follow links send HEAD first.
    const methods = isOpen && method === 'GET' ? ([method, 'HEAD'] as const) : [method]
    return methods.map((each) => ({ method: each, path, isOpen }))
  })
}

export interface Throttle {
  rateLimit: number
  burstLimit: number
}

const DEFAULT_THROTTLE: Throttle = { rateLimit: 1_000, burstLimit: 2_000 }
/**
 * For each callback route, all callers together: enough for people and webhooks, and too little to run up a
 * bill by guessing tokens.
 */
const CALLBACKS_THROTTLE: Throttle = { rateLimit: 50, burstLimit: 100 }

/** Open routes have a throttle of their own, so that strangers cannot use up the throttle of the others. */
export function throttlesOf({ throttle = DEFAULT_THROTTLE, callbacks }: OverwinterProps): {
  all: Throttle
  open: Throttle
} {
  return { all: throttle, open: (callbacks !== false && callbacks?.throttle) || CALLBACKS_THROTTLE }
}

/** Its lines contain routes and never paths: a reader of logs must not be able to answer callbacks. */
export function accessLog(scope: Construct, { retention, removalPolicy }: OverwinterProps): LogGroup {
  return new LogGroup(scope, 'AccessLog', { retention: retention?.logs ?? RetentionDays.ONE_MONTH, removalPolicy })
}

/** The base of callback links; undefined if callbacks cannot be reached. */
export function publicUrlOf({ apiEndpoint }: Gateway, { callbacks = {} }: OverwinterProps): string | undefined {
  if (callbacks === false) return undefined
  const { url } = callbacks
  return url === undefined || Token.isUnresolved(url) ? (url ?? apiEndpoint) : checkPublicUrl(url, 'callbacks.url')
}
