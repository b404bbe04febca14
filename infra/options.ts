import type { Duration, RemovalPolicy } from 'aws-cdk-lib'
import type { CorsPreflightOptions } from 'aws-cdk-lib/aws-apigatewayv2'
import type { HttpJwtAuthorizerProps } from 'aws-cdk-lib/aws-apigatewayv2-authorizers'
import type { IAlarmAction } from 'aws-cdk-lib/aws-cloudwatch'
import type { ISecurityGroup, IVpc, SubnetSelection } from 'aws-cdk-lib/aws-ec2'
import type { IEventBus } from 'aws-cdk-lib/aws-events'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import type { Architecture } from 'aws-cdk-lib/aws-lambda'
import type { RetentionDays } from 'aws-cdk-lib/aws-logs'
import type { ISecret } from 'aws-cdk-lib/aws-secretsmanager'
import type { Thresholds } from '../sdk/worlds/aws/context.ts'

export interface OverwinterProps {
  /** The file whose exports are the workflows. */
  entry: string
  /** Who may call the API: IAM identities (the default), bearers of a JWT, or whoever knows the secret's value. */
  auth?: Auth
  /** Of the runner, in MB. It decides CPU as well. Default 512. */
  memory?: number
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
  retention?: Retention
  /** For table, bucket and queues; keys of AWS's own by default. */
  kmsKey?: IKey
  /** What becomes of the runs when the stack is deleted. Default RETAIN, with deletion protection. */
  removalPolicy?: RemovalPolicy
  vpc?: { vpc: IVpc; subnets?: SubnetSelection; securityGroups?: ISecurityGroup[] }
  /** Tells an event bus what happens to runs: the account's default bus if `true`. */
  lifecycleEvents?: boolean | IEventBus
  /** The types of tasks that workers outside do (`ctx.task`). Each gets a queue; with any of them, workers get a URL. */
  taskTypes?: string[]
  /** Names or ARNs of the functions that `ctx.invoke` may call. */
  invokes?: string[]
  /** Requests a second that the API takes. Default 1,000, in bursts of 2,000. */
  throttle?: { rateLimit: number; burstLimit: number }
  /**
   * Whether callbacks can be answered by whoever holds their link, without the API's authorizer; and how often a second that may
   * happen, on each of their routes. Default: they can, 50 times, in bursts of 100. `url`: what links begin with, where the API has a name of its own.
   */
  callbacks?: false | { url?: string; throttle?: { rateLimit: number; burstLimit: number } }
  /** For pages of other origins. */
  cors?: CorsPreflightOptions
  /** Told when an alarm goes off. */
  alarmActions?: IAlarmAction[]
  /** Default arm64. */
  architecture?: Architecture
  /** For tests that cannot wait a quarter of an hour for a schedule. */
  tuning?: { thresholds?: Partial<Thresholds>; leaseMs?: number }
}

export type Auth = 'iam' | { jwt: HttpJwtAuthorizerProps & { issuer: string } } | { token: ISecret }

export interface Retention {
  /** Default a month. */
  logs?: RetentionDays
  /** Of payloads above 350 KB, from when they were written. It must exceed the age that a run can reach. Default 800 days. */
  payloads?: Duration
}
