import { Duration } from 'aws-cdk-lib'
import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { Rule, Schedule } from 'aws-cdk-lib/aws-events'
import { LambdaFunction as Invoke } from 'aws-cdk-lib/aws-events-targets'
import type { Grant, IGrantable, IPrincipal } from 'aws-cdk-lib/aws-iam'
import { FunctionUrlAuthType, InvokeMode, type Function as LambdaFunction, RecursiveLoop } from 'aws-cdk-lib/aws-lambda'
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources'
import type { IBucket } from 'aws-cdk-lib/aws-s3'
import { Construct } from 'constructs'
import type { Environment } from '../functions/environment.ts'
import { writeTaskQueues } from '../functions/task-queue-names.ts'
import { GATEWAY_TIMEOUT_MS } from '../sdk/http-api/terms.ts'
import { acknowledgeFindings } from './acknowledgements.ts'
import { checkAdopted } from './adopted.ts'
import { Alarms } from './alarms.ts'
import { checkOptions, concurrencyOf } from './checks.ts'
import { createDashboard } from './cloudwatch-dashboard.ts'
import type { EventSource } from './event-source.ts'
import { createFunction, type FunctionProps } from './function.ts'
import { type Gateway, publicUrlOf } from './gateway.ts'
import { Grants, scopesFrom } from './grants.ts'
import { createHttpApi } from './http-api.ts'
import { addLifecycle } from './lifecycle.ts'
import { addOnFailure, withItsEvents } from './on-failure.ts'
import type { FunctionName, OverwinterProps } from './options.ts'
import {
  allow,
  apiMay,
  callbacksMay,
  deadLettersMay,
  eventsMay,
  invoke,
  runnerMay,
  schedulesMay,
  sweeperMay,
  workersMay,
} from './permissions.ts'
import { createRestApi } from './rest-api.ts'
import { createBucket, createTable } from './storage.ts'
import {
  type CancelOnEvent,
  type SignalOnEvent,
  type StartOnEvent,
  type SubscriptionOptions,
  Subscriptions,
} from './subscriptions.ts'
import { TaskQueues } from './task-queues.ts'
import { checkTaskTypes } from './task-types.ts'
import { createTokenAuthorizer } from './token-authorizer.ts'
import { tracingMay } from './tracing.ts'
import {
  bystanderVariables,
  checkVariables,
  countedVariables,
  grantSecrets,
  pausedVariables,
  runnerVariables,
} from './variables.ts'
import { DEAD_LETTERS_TIMEOUT, Wakeups } from './wakeups.ts'

export {
  type BucketOptions,
  type BusOptions,
  EventSource,
  type FilterOptions,
  type StreamOptions,
  type TopicOptions,
} from './event-source.ts'
export type { Gateway } from './gateway.ts'
export type { OnFailure } from './on-failure.ts'
export type { Auth, Bundling, FunctionName, OverwinterProps, RestOptions, Retention, SecretSource } from './options.ts'
export type { CancelOnEvent, SignalOnEvent, StartOnEvent, SubscriptionOptions } from './subscriptions.ts'

const DEFAULT_TIMEOUT = Duration.minutes(5)
/** Short, so that slow callers of an open route occupy few functions. */
const CALLBACKS_TIMEOUT = Duration.seconds(15)
/** A connection of a worker is ended after five minutes. */
const WORKERS_TIMEOUT = Duration.minutes(6)
/**
 * Enough for some fifty workers. Strangers can call the URL until the function has checked their token, and
 * must not use up the account's concurrency.
 */
const WORKERS_CONCURRENCY = 100

/** Durable workflows in this account: `new Overwinter(this, 'Workflows', { entry: 'workflows/index.ts' })`. */
export class Overwinter extends Construct implements IGrantable {
  /** The runner, which runs the steps: `table.grantReadData(workflows)`. */
  readonly grantPrincipal: IPrincipal
  readonly table: ITableV2
  readonly bucket: IBucket
  readonly api: Gateway
  /** Grants parts of the API. */
  readonly grants: Grants
  readonly wakeups: Wakeups
  readonly tasks: TaskQueues
  /** The subscriptions to events from outside. */
  readonly subscriptions: Subscriptions
  /** Where workers connect, poll and resolve; undefined without taskTypes. */
  readonly workersUrl: string | undefined
  readonly functions: {
    Runner: LambdaFunction
    Api: LambdaFunction
    Sweeper: LambdaFunction
    DeadLetters: LambdaFunction
    Schedules: LambdaFunction
    Lifecycle?: LambdaFunction
    Workers?: LambdaFunction
    Callbacks?: LambdaFunction
  }
  private readonly props: OverwinterProps

  constructor(scope: Construct, id: string, given: OverwinterProps) {
    super(scope, id)
    const props = withItsEvents(given)
    this.props = props
    checkOptions(props)
    checkVariables(this, props)
    checkAdopted(props)
    checkTaskTypes(this, props)
    const { timeout = DEFAULT_TIMEOUT, batchSize = 1 } = props
    this.table = props.table ?? createTable(this, props)
    this.bucket = props.bucket ?? createBucket(this, props)
    this.wakeups = new Wakeups(this, props, timeout)
    this.tasks = new TaskQueues(this, props)

    const may = {
      runner: [...runnerMay(this), ...invoke(this, props.invokes ?? []), ...tracingMay(props)],
      api: apiMay(this),
    }
    const Runner = this.add('Runner', {
      handler: 'runner',
      description: 'Takes due runs as far as they go',
      memory: 512,
      timeout,
      may: may.runner,
      keyUse: 'write',
      // A run that wakes up again and again looks like a loop to Lambda, which would stop it after 16
      // invocations. We end runaway runs ourselves.
      recursiveLoop: RecursiveLoop.ALLOW,
      loadsEntry: true,
      environment: { ...runnerVariables(this, props), ...countedVariables(props), ...pausedVariables(props) },
      reservedConcurrency: props.reservedConcurrency,
    })
    grantSecrets(props, Runner)
    const bystander = {
      loadsEntry: true,
      environment: { ...bystanderVariables(props), ...pausedVariables(props) },
      keyUse: 'write' as const,
    }
    const Api = this.add('Api', {
      handler: 'api',
      description: 'The HTTP API',
      memory: 512,
      timeout: Duration.millis(GATEWAY_TIMEOUT_MS),
      ...bystander,
      // The API hands runs that a caller waits for straight to a runner.
      environment: {
        ...bystander.environment,
        OVERWINTER_RUNNER: Runner.functionName,
        OVERWINTER_RUNNER_LOG: Runner.logGroup.logGroupName,
      },
      may: [...may.api, allow(['lambda:InvokeFunction'], Runner.functionArn)],
    })
    const Callbacks = props.callbacks === false ? undefined : this.addCallbacks()
    const Sweeper = this.add('Sweeper', {
      handler: 'sweeper',
      description: 'Sends overdue runs to the runners again, and removes those past their retention',
      memory: 512,
      timeout: Duration.seconds(55),
      may: sweeperMay(this),
      keyUse: 'write',
    })
    const DeadLetters = this.add('DeadLetters', {
      handler: 'dead-letters',
      description: 'Parks runs whose wake-ups failed too often',
      memory: 256,
      timeout: DEAD_LETTERS_TIMEOUT,
      may: deadLettersMay(this),
      keyUse: 'write',
    })
    const ScheduleSync = this.add('Schedules', {
      handler: 'schedules',
      description: 'Brings the schedules in the table in line with those in the code',
      memory: 256,
      timeout: Duration.seconds(55),
      may: schedulesMay(this),
      ...bystander,
    })
    // Deployed first: what the new API or a new schedule starts must not reach a runner without its code.
    for (const later of [Api, ScheduleSync, ...(Callbacks ? [Callbacks] : [])])
      later.node.defaultChild!.node.addDependency(Runner.node.defaultChild!)
    Runner.addEventSource(
      new SqsEventSource(this.wakeups.queue, {
        batchSize,
        maxConcurrency: concurrencyOf(props),
        reportBatchItemFailures: true,
      }),
    )
    DeadLetters.addEventSource(
      new SqsEventSource(this.wakeups.deadLetters, { batchSize: 10, reportBatchItemFailures: true }),
    )
    // One at a time is enough, and two would only send everything twice.
    new Rule(this, 'EveryMinute', {
      schedule: Schedule.rate(Duration.minutes(1)),
      targets: [new Invoke(Sweeper, { retryAttempts: 0 })],
    })
    new Rule(this, 'EveryFiveMinutes', {
      schedule: Schedule.rate(Duration.minutes(5)),
      targets: [new Invoke(ScheduleSync, { retryAttempts: 0 })],
    })
    const lifecycle = props.lifecycleEvents
      ? addLifecycle(this, props.lifecycleEvents, props.kmsKey, this.add.bind(this))
      : undefined
    const Workers = this.tasks.queues.size > 0 ? this.addWorkers() : undefined
    this.workersUrl = Workers?.url
    this.functions = {
      Runner,
      Api,
      Sweeper,
      DeadLetters,
      Schedules: ScheduleSync,
      ...(lifecycle && { Lifecycle: lifecycle.handler }),
      ...(Workers && { Workers: Workers.handler }),
      ...(Callbacks && { Callbacks }),
    }

    this.grantPrincipal = Runner.grantPrincipal
    const authorizer = createTokenAuthorizer(this, props, { table: this.table, environment: this.environment() })
    const createApi = (props.api ?? 'http') === 'http' ? createHttpApi : createRestApi
    const { api, open } = createApi(this, { handler: Api, callbacks: Callbacks, authorizer }, props)
    this.api = api
    this.grants = new Grants(this, api, props.auth, authorizer)
    const scopedBy = scopesFrom(props.auth)
    if (scopedBy) Api.addEnvironment('OVERWINTER_SCOPES' satisfies keyof Environment, scopedBy)
    const publicUrl = publicUrlOf(api, props)
    if (publicUrl !== undefined) Runner.addEnvironment('OVERWINTER_PUBLIC_URL' satisfies keyof Environment, publicUrl)
    const alarms = new Alarms(this, props, timeout)
    if (lifecycle) alarms.watchLifecycle(lifecycle)
    if (authorizer) alarms.watchFunction('Authorizer', authorizer)
    this.subscriptions = this.readyForEvents(alarms)
    addOnFailure(this, props)
    createDashboard(this, props)
    acknowledgeFindings(this, open)
  }

  /** Starts a run for each event: by a mapping of the entry, by its name, or by JSONata. Returns the function. */
  startOn(source: EventSource, mapping: string | StartOnEvent, options?: SubscriptionOptions): LambdaFunction {
    return this.subscriptions.add('start', source, mapping, options)
  }

  /** Sends a signal for each event. */
  signalOn(source: EventSource, mapping: string | SignalOnEvent, options?: SubscriptionOptions): LambdaFunction {
    return this.subscriptions.add('signal', source, mapping, options)
  }

  /** Cancels a run for each event. */
  cancelOn(source: EventSource, mapping: string | CancelOnEvent, options?: SubscriptionOptions): LambdaFunction {
    return this.subscriptions.add('cancel', source, mapping, options)
  }

  /** Allows starting runs, and nothing else. With `auth: { token }` use `grants.tokenFor('start')`. */
  grantStart(grantee: IGrantable): Grant {
    return this.grants.grant('start', grantee)
  }

  /** Allows reading runs, schedules and definitions, and nothing else. */
  grantRead(grantee: IGrantable): Grant {
    return this.grants.grant('read', grantee)
  }

  /**
   * Allows signalling, stopping, retrying and erasing runs, steering schedules and changing definitions, and
   * nothing else.
   */
  grantOperate(grantee: IGrantable): Grant {
    return this.grants.grant('operate', grantee)
  }

  /** Allows a worker to read the queue of this type itself, instead of polling over HTTP. */
  grantReceiveTasks(type: string, grantee: IGrantable): Grant {
    return this.tasks.grantReceive(type, grantee)
  }

  /**
   * A function of its own, because strangers can call it: it has fewer permissions than the API, and a flood
   * of calls does not block the API.
   */
  private addCallbacks(): LambdaFunction {
    const { concurrency } = this.props.callbacks || {}
    return this.add('Callbacks', {
      handler: 'callbacks',
      description: 'Takes the answers of those who hold the link of a callback',
      memory: 512,
      timeout: CALLBACKS_TIMEOUT,
      may: callbacksMay(this),
      keyUse: 'write',
      loadsEntry: true,
      environment: bystanderVariables(this.props),
      ...(concurrency !== undefined && { reservedConcurrency: concurrency }),
    })
  }

  /**
   * A function URL, because API Gateway ends a poll after half a minute. Workers have tokens of their own,
   * which the function checks.
   */
  private addWorkers(): { handler: LambdaFunction; url: string } {
    const description = 'Hands tasks to workers outside, and takes what they give back'
    const { workersConcurrency = WORKERS_CONCURRENCY } = this.props
    const handler = this.add('Workers', {
      handler: 'workers',
      description,
      memory: 256,
      timeout: WORKERS_TIMEOUT,
      may: workersMay(this),
      keyUse: 'write',
      // The codec is the user's code, and may need the entry's settings.
      ...(this.props.codec !== undefined && { environment: bystanderVariables(this.props) }),
      ...(workersConcurrency !== false && { reservedConcurrency: workersConcurrency }),
    })
    const { url } = handler.addFunctionUrl({
      authType: FunctionUrlAuthType.NONE,
      invokeMode: InvokeMode.RESPONSE_STREAM,
    })
    return { handler, url }
  }

  private readyForEvents(alarms: Alarms): Subscriptions {
    return new Subscriptions(this, this.props, {
      add: (scope, { deadLetters, ...props }) => {
        const environment = { ...this.environment(), ...bystanderVariables(this.props), ...props.environment }
        const may = eventsMay(this, deadLetters.queueArn)
        const handler = createFunction(
          scope,
          'Events',
          { ...props, environment, may, service: this.node.path },
          this.props,
        )
        // As for the API: what an event starts must not reach a runner without its code.
        handler.node.defaultChild!.node.addDependency(this.functions.Runner.node.defaultChild!)
        return handler
      },
      alarms,
    })
  }

  private add(
    id: FunctionName,
    props: Omit<FunctionProps, 'environment'> & { environment?: Record<string, string> },
  ): LambdaFunction {
    return createFunction(
      this,
      id,
      { ...props, environment: { ...this.environment(), ...props.environment } },
      this.props,
    )
  }

  private environment(): Record<string, string> {
    const { thresholds, leaseMs } = this.props.tuning ?? {}
    const { queue, schedules, schedulerRole } = this.wakeups
    return {
      OVERWINTER_TABLE: this.table.tableName,
      OVERWINTER_BUCKET: this.bucket.bucketName,
      OVERWINTER_QUEUE_URL: queue.queueUrl,
      OVERWINTER_QUEUE_ARN: queue.queueArn,
      OVERWINTER_SCHEDULER_GROUP: schedules.scheduleGroupName,
      OVERWINTER_SCHEDULER_ROLE_ARN: schedulerRole.roleArn,
      ...(this.tasks.queues.size > 0 && { OVERWINTER_TASK_QUEUES: writeTaskQueues(this.tasks.names) }),
      ...(this.props.maxAttempts !== undefined && { OVERWINTER_MAX_ATTEMPTS: String(this.props.maxAttempts) }),
      ...(thresholds && { OVERWINTER_THRESHOLDS: JSON.stringify(thresholds) }),
      ...(leaseMs !== undefined && { OVERWINTER_LEASE_MS: String(leaseMs) }),
    } satisfies Environment & Record<string, string>
  }
}
