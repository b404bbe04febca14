import type { Duration, RemovalPolicy } from 'aws-cdk-lib'
import type { RestApiProps } from 'aws-cdk-lib/aws-apigateway'
import type { CorsPreflightOptions } from 'aws-cdk-lib/aws-apigatewayv2'
import type { HttpJwtAuthorizerProps } from 'aws-cdk-lib/aws-apigatewayv2-authorizers'
import type { IAlarmAction } from 'aws-cdk-lib/aws-cloudwatch'
import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb'
import type { ISecurityGroup, IVpc, SubnetSelection } from 'aws-cdk-lib/aws-ec2'
import type { IEventBus } from 'aws-cdk-lib/aws-events'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import type { Architecture, ILayerVersion } from 'aws-cdk-lib/aws-lambda'
import type { BundlingOptions } from 'aws-cdk-lib/aws-lambda-nodejs'
import type { RetentionDays } from 'aws-cdk-lib/aws-logs'
import type { IBucket } from 'aws-cdk-lib/aws-s3'
import type { ISecret } from 'aws-cdk-lib/aws-secretsmanager'
import type { IParameter } from 'aws-cdk-lib/aws-ssm'
import type { Thresholds } from '../sdk/worlds/aws/context.ts'
import type { OnFailure } from './on-failure.ts'

export interface OverwinterProps {
  /** The file whose exports are the workflows. */
  entry: string
  /** Variables for the functions that load the entry. Any identity that may view the functions can read them. */
  environment?: Record<string, string>
  /**
   * Variables whose values are stored in Secrets Manager or Systems Manager. The runner reads them into
   * `process.env` when it starts, before the entry is loaded; the template and the function's settings
   * contain only their ARNs.
   */
  secrets?: Record<string, SecretSource>
  /** For the functions that load the entry. */
  layers?: ILayerVersion[]
  /** Further options for bundling the entry: `nodeModules`, `loader`, `define`, … */
  bundling?: Bundling
  /**
   * A file whose default export is a `Codec`: it transforms payloads before they are stored, for example to
   * encrypt them.
   */
  codec?: string
  /** Who may call the API: IAM identities (the default), bearers of a JWT, or bearers of the secret's value. */
  auth?: Auth
  /**
   * Which kind of API Gateway the API is: `'http'`, the default, or `'rest'`. Private endpoints, WAF and
   * usage plans need `'rest'`, which has no JWTs. `{ rest: … }` sets from where it can be reached.
   */
  api?: 'http' | 'rest' | { rest: RestOptions }
  /** In MB: of the runner, or of each function by its name. It determines CPU as well. Default 512 for the runner. */
  memory?: number | Partial<Record<FunctionName, number>>
  /** Of the runner, and so the longest time of a step, less 5 seconds. Default 5 minutes. */
  timeout?: Duration
  /** The most runners at a time, reserved from the account's concurrency. */
  reservedConcurrency?: number
  /**
   * The most runners that the queue starts at a time, at least 2. Unlike a reservation it takes no
   * concurrency from other functions.
   */
  maxConcurrency?: number
  /**
   * Runs per invocation of a runner. Default 1: a run that kills its runner then affects no other run. More
   * save invocations.
   */
  batchSize?: number
  /**
   * How often a wake-up may fail, or a runner die without progress of its run, before the run is parked as
   * stuck. Default 5.
   */
  maxAttempts?: number
  /**
   * Begins paused: no run starts or continues in this deployment until `overwinter resume --all`. `true` does
   * so once for the table. A text names the occasion: a deployment with another text begins paused again.
   */
  startPaused?: boolean | string
  retention?: Retention
  /** For table, bucket and queues. Default: keys that AWS manages. */
  kmsKey?: IKey
  /** An existing table with runs of an earlier stack: `TableV2.fromTableAttributes(…)`. The stack does not own it. */
  table?: ITableV2
  /** The bucket that belongs to that table. */
  bucket?: IBucket
  /** What happens to the runs when the stack is deleted. Default RETAIN, with deletion protection. */
  removalPolicy?: RemovalPolicy
  vpc?: { vpc: IVpc; subnets?: SubnetSelection; securityGroups?: ISecurityGroup[] }
  /** Sends changes of runs to an event bus: the account's default bus if `true`. */
  lifecycleEvents?: boolean | IEventBus
  /**
   * What to do when a run fails or is stuck: start a workflow of the entry, with the status change as its
   * input, or notify a topic. Switches lifecycleEvents on.
   */
  onFailure?: OnFailure
  /** The types of tasks for external workers (`ctx.task`). Each gets a queue; with any of them, workers get a URL. */
  taskTypes?: string[]
  /**
   * The most connections and requests of workers at a time, of which each worker has two; reserved from the
   * account's concurrency. Default 100; `false` reserves none.
   */
  workersConcurrency?: number | false
  /** Names or ARNs of the functions that `ctx.invoke` may call. */
  invokes?: string[]
  /** Requests per second that the API accepts. Default 1,000, in bursts of 2,000. */
  throttle?: { rateLimit: number; burstLimit: number }
  /**
   * Callback links are answered without the API's authorizer; `false` switches them off. `throttle` is per
   * route and second: default 50, in bursts of 100. `url` is the base of links, if the API has a custom
   * domain. `concurrency` reserves the most calls at a time from the account; none unless given, because a
   * new account has none to spare.
   */
  callbacks?: false | { url?: string; throttle?: { rateLimit: number; burstLimit: number }; concurrency?: number }
  /** For pages of other origins. */
  cors?: CorsPreflightOptions
  /** Notified when an alarm goes off: a mail address, which AWS asks to confirm, or the ARN of an SNS topic. */
  alarmsTo?: string
  /** Further actions of alarms. */
  alarmActions?: IAlarmAction[]
  /** How many runs must fail within five minutes for the alarm RunsFailed. Default 1; `false` for no such alarm. */
  failedRunsAlarm?: number | false
  /**
   * `'cloudwatch'`: sends spans of every run, step and wait to CloudWatch. If `environment` or `secrets` have
   * `OTEL_EXPORTER_OTLP_ENDPOINT`, spans go there instead, unless this is `false`. `true`: X-Ray traces the
   * functions themselves.
   */
  tracing?: boolean | 'cloudwatch'
  /** `workflows`: those with metrics of their own. Each costs as much as the metrics of all workflows together. */
  metrics?: { workflows: string[] }
  /** Default arm64. */
  architecture?: Architecture
  /** For tests that cannot wait a quarter of an hour for a schedule. */
  tuning?: { thresholds?: Partial<Thresholds>; leaseMs?: number }
}

/**
 * `scopes`: a JWT opens what its scopes name (`start`, `read`, `operate` or `settle`), and nothing else.
 * Default: all of the API.
 */
export type Auth = 'iam' | { jwt: HttpJwtAuthorizerProps & { issuer: string; scopes?: boolean } } | { token: ISecret }

/** For a REST API: these options of CDK's `RestApi`. */
export type RestOptions = Pick<RestApiProps, 'endpointConfiguration' | 'policy'>

/** A secret, one field of a JSON secret, or a parameter of Systems Manager, encrypted or not. */
export type SecretSource = ISecret | { secret: ISecret; field: string } | IParameter

/**
 * The omitted options would break the functions: they are ES modules with an AWS SDK and an asset hash of
 * their own.
 */
export type Bundling = Omit<BundlingOptions, 'format' | 'bundleAwsSDK' | 'assetHash'>

/** The functions; some depend on options. `Events` are those of subscriptions, one each. */
export type FunctionName = (typeof FUNCTION_NAMES)[number]
export const FUNCTION_NAMES = [
  'Runner',
  'Api',
  'Sweeper',
  'DeadLetters',
  'Schedules',
  'Lifecycle',
  'Workers',
  'Authorizer',
  'Events',
  'Callbacks',
] as const

export interface Retention {
  /** Default a month. */
  logs?: RetentionDays
  /**
   * Of payloads above 350 KB, from when they were written. It must exceed the longest life of a run. Default
   * 800 days.
   */
  payloads?: Duration
}
