import { Duration } from 'aws-cdk-lib'
import {
  Alarm,
  ComparisonOperator,
  type IAlarmAction,
  type IMetric,
  MathExpression,
  Metric,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import type { IQueue } from 'aws-cdk-lib/aws-sqs'
import { Construct } from 'constructs'
import { METRIC, METRICS_NAMESPACE } from '../functions/metrics.ts'
import { TABLE } from '../sdk/worlds/aws/table.ts'
import { alarmActionsOf } from './alarm-actions.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { OverwinterProps } from './options.ts'
import type { Overwinter } from './overwinter.ts'

const PERIOD = Duration.minutes(5)

/** A metric that the functions write themselves. Their `service` is the path of the construct. */
export function ownMetric(overwinter: Overwinter, metricName: string, statistic: string, workflow?: string): Metric {
  const dimensionsMap = { service: overwinter.node.path, ...(workflow !== undefined && { workflow }) }
  const label = workflow === undefined ? {} : { label: workflow }
  return new Metric({ namespace: METRICS_NAMESPACE, metricName, statistic, period: PERIOD, dimensionsMap, ...label })
}

/**
 * Requests that DynamoDB refused, for the table and for each index. The table's own metric excludes its
 * indexes; and there is no ThrottledRequests without an operation.
 */
export function throttles({ table }: Overwinter): IMetric[] {
  const places = [{}, ...TABLE.indexes.map(({ name }) => ({ GlobalSecondaryIndexName: name }))]
  return places.flatMap((place) =>
    ['ReadThrottleEvents', 'WriteThrottleEvents'].map(
      (metricName) =>
        new Metric({
          namespace: 'AWS/DynamoDB',
          metricName,
          statistic: 'Sum',
          period: PERIOD,
          dimensionsMap: { TableName: table.tableName, ...place },
        }),
    ),
  )
}

interface Condition {
  metric: IMetric
  /** The threshold. */
  at: number
  /** What it means and what to do, for the mail to the operator. */
  says: string
  /** How many periods of five minutes it looks at. */
  periods?: number
  /** How many of these periods must breach; all of them unless given. */
  datapoints?: number
  /** The section of docs/operate.md, if it is not the alarm's own name. */
  section?: string
}

/** Longer than the longest pause between two sends of the sweeper for one run: a quarter of an hour. */
const BETWEEN_SWEEPS = { periods: 4, datapoints: 1 }
const LATE = Duration.minutes(15)
const PAST_RETENTION = Duration.hours(1)

export class Alarms extends Construct {
  private readonly actions: IAlarmAction[]

  constructor(overwinter: Overwinter, props: OverwinterProps, longestVisit: Duration) {
    super(overwinter, 'Alarms')
    this.actions = alarmActionsOf(overwinter, props)
    this.watchRuns(overwinter, props.failedRunsAlarm ?? 1)
    this.watchQueues(overwinter, longestVisit)
    for (const [name, handler] of Object.entries(overwinter.functions)) this.watchFunction(name, handler)
    this.add('LimitersUnchecked', {
      metric: ownMetric(overwinter, METRIC.uncheckedLimiters, 'Maximum'),
      at: 1,
      // A single failed check, such as a throttled call, is repeated a minute later.
      periods: 2,
      says:
        'The sweeper cannot check a limiter, usually because a record of it cannot be read. Its runs and ' +
        "steps wait; all others go on. `overwinter doctor` and the sweeper's log name the document. Put it " +
        'right, or `overwinter limits reset <name>`.',
    })
    this.add('SchedulerRefusals', {
      metric: ownMetric(overwinter, METRIC.schedulerRefusals, 'Sum'),
      at: 1,
      says:
        'EventBridge Scheduler refuses schedules, by its quota for example. No run is lost: the sweeper ' +
        'wakes them, about two minutes late. Raise the quota.',
    })
    const refused = Object.fromEntries(throttles(overwinter).map((metric, i) => [`m${i}`, metric]))
    this.add('TableThrottles', {
      metric: new MathExpression({
        period: PERIOD,
        label: 'requests that DynamoDB refused, table and indexes',
        expression: Object.keys(refused)
          .map((id) => `FILL(${id}, 0)`)
          .join(' + '),
        usingMetrics: refused,
      }),
      at: 1,
      periods: 3,
      says:
        'DynamoDB refuses requests. They are repeated, so nothing is lost; see the quotas of on-demand ' +
        'tables if it lasts.',
    })
    this.add('SweeperSilent', {
      metric: overwinter.functions.Sweeper.metricInvocations({ period: PERIOD, statistic: 'Sum' }),
      at: 0,
      periods: 2,
      says: 'The sweeper has not run for ten minutes, so lost wake-ups stay lost. Is its rule enabled?',
    })
    this.add('ApiServerErrors', {
      metric: overwinter.api.metricServerError({ period: PERIOD, statistic: 'Sum' }),
      at: 1,
      periods: 3,
      datapoints: 2,
      says:
        'The API answers with status 500 or more. The log of the function Api has the error, by the ' +
        'errorId of the answer.',
    })
  }

  watchFunction(name: string, handler: IFunction): void {
    this.add(`${name}Errors`, {
      metric: handler.metricErrors({ period: PERIOD, statistic: 'Sum' }),
      at: 1,
      periods: 3,
      says: `The function ${name} has been failing for a quarter of an hour. See its log.`,
      section: '<function>Errors',
    })
    this.add(`${name}Throttles`, {
      metric: handler.metricThrottles({ period: PERIOD, statistic: 'Sum' }),
      at: 1,
      periods: 3,
      says: `The function ${name} is being throttled. Raise its concurrency or the account's quota.`,
      section: '<function>Throttles',
    })
  }

  /** For a function that reads a stream of DynamoDB, which keeps unread records for a day. */
  watchStream(name: string, handler: IFunction): void {
    this.add(`${name}Age`, {
      metric: handler.metric('IteratorAge', { period: PERIOD, statistic: 'Maximum' }),
      at: LATE.toMilliseconds(),
      says:
        `The function ${name} is a quarter of an hour behind the stream it reads. What it has not read ` +
        'after a day is lost. See its errors and throttles.',
      section: '<function>Age',
    })
  }

  watchLifecycle({ handler, deadLetters }: Lifecycle): void {
    this.watchStream('Lifecycle', handler)
    this.add('LifecycleDeadLetters', {
      metric: deadLetters.metricApproximateNumberOfMessagesVisible({ period: PERIOD, statistic: 'Maximum' }),
      at: 1,
      says:
        'Changes of runs could not be sent to the event bus, and the stream has moved on. Each letter says ' +
        'where in the stream. See the log of Lifecycle.',
    })
  }

  watchEventDeadLetters(queue: IQueue): void {
    this.add('EventDeadLetters', {
      metric: queue.metricApproximateNumberOfMessagesVisible({ period: PERIOD, statistic: 'Maximum' }),
      at: 1,
      says:
        'Events from outside could not be taken, and are kept among the dead letters of events. Each says ' +
        'why, in its attribute `reason`; docs/events.md tells how to send it again.',
    })
  }

  private watchRuns(overwinter: Overwinter, failedRunsAlarm: number | false): void {
    this.add('RunsParked', {
      metric: ownMetric(overwinter, METRIC.parked, 'Sum'),
      at: 1,
      says:
        'A run has become stuck: its code does not fit its history or is not deployed, or its wake-ups ' +
        'failed too often. List runs with status=stuck, read the error, fix it, POST /runs/{id}/retry.',
    })
    this.add('RunsStuck', {
      metric: ownMetric(overwinter, METRIC.stuckRuns, 'Maximum'),
      at: 1,
      ...BETWEEN_SWEEPS,
      says:
        'Runs are stuck, and wait for a person: the alarm stays on until none is. List them with ' +
        'status=stuck, or by their causes with `overwinter incidents`.',
    })
    if (failedRunsAlarm !== false)
      this.add('RunsFailed', {
        metric: ownMetric(overwinter, METRIC.failed, 'Sum'),
        at: failedRunsAlarm,
        says:
          'Runs have failed. `overwinter incidents` lists them by their causes; once the cause is fixed, ' +
          'retry them by incident.',
      })
    this.add('RunsOverdue', {
      metric: ownMetric(overwinter, METRIC.oldestOverdueRun, 'Maximum'),
      at: LATE.toSeconds(),
      ...BETWEEN_SWEEPS,
      says:
        'A run should have gone on a quarter of an hour ago, and no runner has taken it up though the ' +
        'sweeper asks again and again. See the errors and throttles of the runner.',
    })
    this.add('RemovalsOverdue', {
      metric: ownMetric(overwinter, METRIC.oldestOverdueRemoval, 'Maximum'),
      at: PAST_RETENTION.toSeconds(),
      ...BETWEEN_SWEEPS,
      says:
        'Runs are an hour past their retention and still stored: the sweeper does not keep up, or cannot ' +
        'remove them. See its log.',
    })
  }

  private watchQueues({ wakeups, tasks: { queues } }: Overwinter, longestVisit: Duration): void {
    const period = { period: PERIOD }
    this.add('DeadLetters', {
      // A function reads this queue all the time and hides what it cannot process, so hidden messages count
      // too.
      metric: new MathExpression({
        ...period,
        label: 'messages that stay in the dead-letter queue',
        expression: 'waiting + hidden',
        usingMetrics: {
          waiting: wakeups.deadLetters.metricApproximateNumberOfMessagesVisible({ ...period, statistic: 'Maximum' }),
          hidden: wakeups.deadLetters.metricApproximateNumberOfMessagesNotVisible({ ...period, statistic: 'Maximum' }),
        },
      }),
      at: 1,
      periods: 3,
      says:
        'Messages stay in the dead-letter queue: their runs could not be marked as stuck either, or they ' +
        'are no wake-ups at all. See the log of DeadLetters.',
    })
    this.add('QueueAge', {
      metric: wakeups.queue.metricApproximateAgeOfOldestMessage({ ...period, statistic: 'Maximum' }),
      // A message ages while a runner works on it, and that may take as long as the runner's timeout.
      at: longestVisit.toSeconds() + PERIOD.toSeconds(),
      says:
        'Due runs have been waiting for a runner for five minutes and more. Is the concurrency of the ' +
        'runner, or of the account, used up?',
    })
    for (const [type, tasks] of queues)
      this.add(`${tasks.node.id}Waiting`, {
        // Not by age: the message of a running task stays in the queue, hidden, and grows old there.
        metric: new MathExpression({
          ...period,
          label: `tasks of type '${type}' that no worker takes`,
          expression: 'IF(FILL(taken, 0) < 1, waiting, 0)',
          usingMetrics: {
            waiting: tasks.metricApproximateNumberOfMessagesVisible({ ...period, statistic: 'Maximum' }),
            taken: tasks.metricNumberOfMessagesReceived({ ...period, statistic: 'Sum' }),
          },
        }),
        at: 1,
        periods: 3,
        says:
          `Tasks of type '${type}' have been waiting for a quarter of an hour, and no worker takes any. ` +
          'Are there workers? GET /v1/workers lists them.',
        section: '<type>Waiting',
      })
  }

  private add(id: string, { metric, at, says, periods = 1, datapoints, section = id }: Condition): void {
    const isSilence = at === 0
    const alarm = new Alarm(this, id, {
      metric,
      alarmDescription: `${says} See "${section}" in docs/operate.md.`,
      threshold: at,
      comparisonOperator: isSilence
        ? ComparisonOperator.LESS_THAN_OR_EQUAL_TO_THRESHOLD
        : ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      evaluationPeriods: periods,
      ...(datapoints !== undefined && { datapointsToAlarm: datapoints }),
      treatMissingData: isSilence ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
    })
    if (this.actions.length > 0) alarm.addAlarmAction(...this.actions)
  }
}
