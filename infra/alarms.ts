import { Duration } from 'aws-cdk-lib'
import { Alarm, ComparisonOperator, type IAlarmAction, type IMetric, MathExpression, Metric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import type { IQueue } from 'aws-cdk-lib/aws-sqs'
import { Construct } from 'constructs'
import { METRIC, METRICS_NAMESPACE } from '../functions/metrics.ts'
import type { Overwinter } from './overwinter.ts'

const PERIOD = Duration.minutes(5)

/** Of what the functions count themselves. Their `service` is the path of the construct. */
export function ownMetric(overwinter: Overwinter, metricName: string, statistic: string, workflow?: string): Metric {
  const dimensionsMap = { service: overwinter.node.path, ...(workflow !== undefined && { workflow }) }
  const label = workflow === undefined ? {} : { label: workflow }
  return new Metric({ namespace: METRICS_NAMESPACE, metricName, statistic, period: PERIOD, dimensionsMap, ...label })
}

interface Condition {
  metric: IMetric
  /** Goes off at this value. */
  at: number
  /** What it means and what to do, in the mail that wakes somebody. */
  says: string
  /** In this many periods of five minutes. */
  periods?: number
}

export class Alarms extends Construct {
  private readonly actions: IAlarmAction[]

  constructor(overwinter: Overwinter, longestVisit: Duration, actions: IAlarmAction[] = []) {
    super(overwinter, 'Alarms')
    this.actions = actions
    const { queue, deadLetters } = overwinter.wakeups
    const period = { period: PERIOD }
    this.add('RunsParked', {
      metric: ownMetric(overwinter, METRIC.parked, 'Sum'),
      at: 1,
      says: 'A run is stuck: its code does not fit its history or is not deployed, or its wake-ups failed too often. List runs with status=stuck, read the error, fix it, POST /runs/{id}/retry.',
    })
    this.add('DeadLetters', {
      metric: deadLetters.metricApproximateNumberOfMessagesVisible({ ...period, statistic: 'Maximum' }),
      at: 1,
      periods: 3,
      says: 'Messages stay in the dead-letter queue: their runs could not be marked as stuck either, or they are messages of somebody else. See the log of DeadLetters.',
    })
    this.add('QueueAge', {
      metric: queue.metricApproximateAgeOfOldestMessage({ ...period, statistic: 'Maximum' }),
      // A message grows older while a runner is at work on it, and that may take as long as a runner has.
      at: longestVisit.toSeconds() + PERIOD.toSeconds(),
      says: 'Due runs have been waiting for a runner for five minutes and more. Is the concurrency of the runner, or of the account, used up?',
    })
    for (const [type, tasks] of overwinter.tasks.queues) {
      this.add(`${tasks.node.id}Waiting`, {
        // Not by age: the message of a task that a worker is busy with stays in the queue, hidden, and grows old there.
        metric: new MathExpression({
          ...period,
          label: `tasks of type '${type}' that nobody takes`,
          expression: 'IF(FILL(taken, 0) < 1, waiting, 0)',
          usingMetrics: {
            waiting: tasks.metricApproximateNumberOfMessagesVisible({ ...period, statistic: 'Maximum' }),
            taken: tasks.metricNumberOfMessagesReceived({ ...period, statistic: 'Sum' }),
          },
        }),
        at: 1,
        periods: 3,
        says: `Tasks of type '${type}' have been waiting for a quarter of an hour, and nobody takes any. Are there workers? GET /v1/workers lists them.`,
      })
    }
    for (const [name, handler] of Object.entries(overwinter.functions)) this.watchFunction(name, handler)
    this.add('TableThrottles', {
      metric: overwinter.table.metric('ThrottledRequests', { ...period, statistic: 'Sum' }),
      at: 1,
      periods: 3,
      says: 'DynamoDB refuses requests. They are repeated, so nothing is lost; see the quotas of on-demand tables if it lasts.',
    })
    this.add('SweeperSilent', {
      metric: overwinter.functions.Sweeper.metricInvocations({ ...period, statistic: 'Sum' }),
      at: 0,
      periods: 2,
      says: 'The sweeper has not run for ten minutes: nobody looks after lost wake-ups. Is its rule enabled?',
    })
  }

  watchFunction(name: string, handler: IFunction): void {
    this.add(`${name}Errors`, {
      metric: handler.metricErrors({ period: PERIOD, statistic: 'Sum' }),
      at: 1,
      periods: 3,
      says: `The function ${name} has been failing for a quarter of an hour. See its log.`,
    })
    this.add(`${name}Throttles`, {
      metric: handler.metricThrottles({ period: PERIOD, statistic: 'Sum' }),
      at: 1,
      periods: 3,
      says: `The function ${name} is being throttled. Raise its reserved concurrency or the account's quota.`,
    })
  }

  watchEventDeadLetters(queue: IQueue): void {
    this.add('EventDeadLetters', {
      metric: queue.metricApproximateNumberOfMessagesVisible({ period: PERIOD, statistic: 'Maximum' }),
      at: 1,
      says: 'Events from outside could not be taken, and are kept among the dead letters of events. Each says why, in its attribute `reason`; docs/events.md tells how to send it again.',
    })
  }

  private add(id: string, { metric, at, says, periods = 1 }: Condition): void {
    const isSilence = at === 0
    const alarm = new Alarm(this, id, {
      metric,
      alarmDescription: says,
      threshold: at,
      comparisonOperator: isSilence ? ComparisonOperator.LESS_THAN_OR_EQUAL_TO_THRESHOLD : ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      evaluationPeriods: periods,
      treatMissingData: isSilence ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
    })
    if (this.actions.length > 0) alarm.addAlarmAction(...this.actions)
  }
}
