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
  /** Variables for the functions that load the entry. They can be read by whoever may look at the functions. */
  environment?: Record<string, string>
  /**
   * Variables whose values are kept in Secrets Manager or Systems Manager. The runner reads them when it starts, before the
   * entry is loaded, into `process.env`; the template and the function's settings hold only their ARNs.
   */
  secrets?: Record<string, SecretSource>
  /** For the functions that load the entry. */
  layers?: ILayerVersion[]
  /** How the entry is bundled, beside what the functions need themselves: `nodeModules`, `loader`, `define`, … */
  bundling?: Bundling
  /** A file whose default export makes something else of payloads before they are stored: a `Codec`, to encrypt them for example. */
  codec?: string
  /** Who may call the API: IAM identities (the default), bearers of a JWT, or whoever knows the secret's value. */
  auth?: Auth
  /**
   * Which of API Gateway's kinds the API is: `'http'`, the default, or `'rest'`, which private endpoints, WAF and usage plans need, and which knows no JWTs.
   * `{ rest: … }` says where it can be reached from.
   */
  api?: 'http' | 'rest' | { rest: RestOptions }
  /** In MB: of the runner, or of each function by its name. It decides CPU as well. Default 512 for the runner. */
  memory?: number | Partial<Record<FunctionName, number>>
  /** Of the runner, and so the longest time a step can take, less 5 seconds. Default 5 minutes. */
  timeout?: Duration
  /** The most runners at a time, as a share of the account's that is theirs alone. */
  reservedConcurrency?: number
  /** The most runners at a time that the queue starts, at least 2. Unlike a reservation it takes nothing from others. */
  maxConcurrency?: number
  /** Runs per runner. Default 1: a run that kills its runner then takes nobody with it. More of them save invocations. */
  batchSize?: number
  /** How often a wake-up may fail, or a runner die of a run without taking it further, before the run is parked as stuck. Default 5. */
  maxAttempts?: number
  /**
   * Begins paused: no run starts or goes on in this deployment until `overwinter resume --all`. `true` does so once for the table. A text names the occasion: with
   * another text, the deployment that brings it begins paused again.
   */
  startPaused?: boolean | string
  retention?: Retention
  /** For table, bucket and queues; keys of AWS's own by default. */
  kmsKey?: IKey
  /** A table with runs of an earlier stack, instead of a new one: `TableV2.fromTableAttributes(…)`. The stack does not own it then. */
  table?: ITableV2
  /** The bucket that goes with it. */
  bucket?: IBucket
  /** What becomes of the runs when the stack is deleted. Default RETAIN, with deletion protection. */
  removalPolicy?: RemovalPolicy
  vpc?: { vpc: IVpc; subnets?: SubnetSelection; securityGroups?: ISecurityGroup[] }
  /** Tells an event bus what happens to runs: the account's default bus if `true`. */
  lifecycleEvents?: boolean | IEventBus
  /** Who is called when a run fails or is stuck: a workflow of the entry, which gets the status change as its input, or a topic. Switches lifecycleEvents on. */
  onFailure?: OnFailure
  /** The types of tasks that workers outside do (`ctx.task`). Each gets a queue; with any of them, workers get a URL. */
  taskTypes?: string[]
  /** The most connections and requests of workers at a time, of which each worker has two; taken from the account's. Default 100; `false` sets no limit. */
  workersConcurrency?: number | false
  /** Names or ARNs of the functions that `ctx.invoke` may call. */
  invokes?: string[]
  /** Requests a second that the API takes. Default 1,000, in bursts of 2,000. */
  throttle?: { rateLimit: number; burstLimit: number }
  /**
   * Whether callbacks can be answered by whoever holds their link, without the API's authorizer; and how often a second that may
   * happen, on each of their routes. Default: they can, 50 times, in bursts of 100. `url`: what links begin with, where the API has a name of its own.
   * `concurrency`: the most calls at a time, taken from the account's; none is set aside unless given, because a new account has none to spare.
   */
  callbacks?: false | { url?: string; throttle?: { rateLimit: number; burstLimit: number }; concurrency?: number }
  /** For pages of other origins. */
  cors?: CorsPreflightOptions
  /** Told when an alarm goes off: a mail address, which AWS asks to confirm, or the ARN of an SNS topic. */
  alarmsTo?: string
  /** Told as well. */
  alarmActions?: IAlarmAction[]
  /** How many runs must fail within five minutes for the alarm RunsFailed to go off. Default 1; `false` for no such alarm. */
  failedRunsAlarm?: number | false
  /**
   * `'cloudwatch'`: sends spans of every run, step and wait to CloudWatch. They go to an endpoint of your own instead where `environment` or `secrets` have
   * `OTEL_EXPORTER_OTLP_ENDPOINT`, unless this is `false`. `true`: has X-Ray trace the functions themselves.
   */
  tracing?: boolean | 'cloudwatch'
  /** `workflows`: those whose metrics are counted by themselves too. Each of them costs as much as all of them together. */
  metrics?: { workflows: string[] }
  /** Default arm64. */
  architecture?: Architecture
  /** For tests that cannot wait a quarter of an hour for a schedule. */
  tuning?: { thresholds?: Partial<Thresholds>; leaseMs?: number }
}

/** `scopes`: a JWT opens what its scopes name, `start`, `read`, `operate` or `settle`, and otherwise nothing. Default: all of the API. */
export type Auth = 'iam' | { jwt: HttpJwtAuthorizerProps & { issuer: string; scopes?: boolean } } | { token: ISecret }

/** Of a REST API: what CDK's `RestApi` takes as well. */
export type RestOptions = Pick<RestApiProps, 'endpointConfiguration' | 'policy'>

/** A secret, one field of a secret that is JSON, or a parameter of Systems Manager, encrypted or not. */
export type SecretSource = ISecret | { secret: ISecret; field: string } | IParameter

/** What is left out would break the functions: they are ES modules with an AWS SDK of their own, each with a hash of its own. */
export type Bundling = Omit<BundlingOptions, 'format' | 'bundleAwsSDK' | 'assetHash'>

/** The functions, each of which is there if its option is. `Events` are those of subscriptions, one each. */
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
  /** Of payloads above 350 KB, from when they were written. It must exceed the age that a run can reach. Default 800 days. */
  payloads?: Duration
}
