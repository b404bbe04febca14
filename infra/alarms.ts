import { Duration } from 'aws-cdk-lib'
import { Alarm, ComparisonOperator, type IAlarmAction, type IMetric, Metric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch'
import { Construct } from 'constructs'
import { METRIC, METRICS_NAMESPACE } from '../functions/metrics.ts'
import type { Overwinter } from './overwinter.ts'

const PERIOD = Duration.minutes(5)

/** Of what the functions count themselves. Their `service` is the path of the construct. */
export function ownMetric(overwinter: Overwinter, metricName: string, statistic: string): Metric {
  return new Metric({ namespace: METRICS_NAMESPACE, metricName, statistic, period: PERIOD, dimensionsMap: { service: overwinter.node.path } })
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

  constructor(overwinter: Overwinter, actions: IAlarmAction[] = []) {
    super(overwinter, 'Alarms')
    this.actions = actions
    const { queue, deadLetters } = overwinter.wakeups
    const period = { period: PERIOD }
    this.add('RunsParked', {
      metric: ownMetric(overwinter, METRIC.parked, 'Sum'),
      at: 1,
      says: 'A run is stuck because its wake-ups failed too often. List runs with status=stuck, read the error, fix it, POST /runs/{id}/retry.',
    })
    this.add('DeadLetters', {
      metric: deadLetters.metricApproximateNumberOfMessagesVisible({ ...period, statistic: 'Maximum' }),
      at: 1,
      periods: 3,
      says: 'Messages stay in the dead-letter queue: their runs could not be parked either, or they are no wake-ups at all. See the log of DeadLetters.',
    })
    this.add('QueueAge', {
      metric: queue.metricApproximateAgeOfOldestMessage({ ...period, statistic: 'Maximum' }),
      at: 300,
      says: 'Due runs have been waiting for a runner for five minutes. Is the concurrency of the runner, or of the account, used up?',
    })
    for (const [type, tasks] of overwinter.tasks.queues) {
      this.add(`${tasks.node.id}Waiting`, {
        metric: tasks.metricApproximateAgeOfOldestMessage({ ...period, statistic: 'Maximum' }),
        at: 900,
        periods: 3,
        says: `Tasks of type '${type}' wait for a worker for a quarter of an hour. Are there any? GET /v1/workers lists them.`,
      })
    }
    for (const [name, handler] of Object.entries(overwinter.functions)) {
      this.add(`${name}Errors`, {
        metric: handler.metricErrors({ ...period, statistic: 'Sum' }),
        at: 1,
        periods: 3,
        says: `The function ${name} has been failing for a quarter of an hour. See its log.`,
      })
      this.add(`${name}Throttles`, {
        metric: handler.metricThrottles({ ...period, statistic: 'Sum' }),
        at: 1,
        periods: 3,
        says: `The function ${name} is being throttled. Raise its reserved concurrency or the account's quota.`,
      })
    }
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
