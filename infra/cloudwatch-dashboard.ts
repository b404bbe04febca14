import { Dashboard, GraphWidget, type IMetric, TextWidget } from 'aws-cdk-lib/aws-cloudwatch'
import { METRIC } from '../functions/metrics.ts'
import { ownMetric, throttles } from './alarms.ts'
import type { OverwinterProps } from './options.ts'
import type { Overwinter } from './overwinter.ts'
import { tracingOf } from './tracing.ts'

/** The outcomes that the run loop reports: what happened to runs that a runner held. */
const OUTCOMES = ['completed', METRIC.failed, 'cancelled', 'suspended', 'continued', 'released', 'stuck', 'superseded']

const WIDTH = 8

/** From what users notice, through the machinery, to the infrastructure. */
export function createDashboard(overwinter: Overwinter, props: OverwinterProps): Dashboard {
  const { api, functions, wakeups } = overwinter
  const graph = (title: string, ...left: IMetric[]) => new GraphWidget({ title, left, width: WIDTH, height: 6 })
  const perFunction = (metric: 'metricErrors' | 'metricThrottles') =>
    Object.values(functions).map((handler) => handler[metric]({ statistic: 'Sum' }))
  const dashboard = new Dashboard(overwinter, 'Dashboard')
  dashboard.addWidgets(new TextWidget({ markdown: `# Overwinter: ${overwinter.node.path}`, width: 24, height: 1 }))
  dashboard.addWidgets(
    graph('What became of runs', ...OUTCOMES.map((outcome) => ownMetric(overwinter, outcome, 'Sum'))),
    graph('Wake lag (ms)', ownMetric(overwinter, METRIC.wakeLag, 'p50'), ownMetric(overwinter, METRIC.wakeLag, 'p99')),
    graph(
      'Rescued by the sweeper, parked',
      ...[METRIC.rescues, METRIC.parked, METRIC.schedulerRefusals].map((name) => ownMetric(overwinter, name, 'Sum')),
    ),
  )
  dashboard.addWidgets(
    graph('Stuck now', ownMetric(overwinter, METRIC.stuckRuns, 'Maximum')),
    graph('Oldest overdue run (s)', ownMetric(overwinter, METRIC.oldestOverdueRun, 'Maximum')),
    graph('Oldest run past its retention (s)', ownMetric(overwinter, METRIC.oldestOverdueRemoval, 'Maximum')),
    graph('Limiters that could not be checked', ownMetric(overwinter, METRIC.uncheckedLimiters, 'Maximum')),
  )
  dashboard.addWidgets(
    graph(
      'Steps tried again, failed',
      ownMetric(overwinter, METRIC.stepRetries, 'Sum'),
      ownMetric(overwinter, METRIC.stepFailures, 'Sum'),
    ),
    graph(
      'Replay length (events)',
      ownMetric(overwinter, METRIC.replayLength, 'p50'),
      ownMetric(overwinter, METRIC.replayLength, 'p99'),
    ),
    ...(tracingOf(props) === 'no' ? [] : [graph('Spans dropped', ownMetric(overwinter, METRIC.droppedSpans, 'Sum'))]),
  )
  const workflows = props.metrics?.workflows ?? []
  const byWorkflow = (name: string, statistic: string) =>
    workflows.map((workflow) => ownMetric(overwinter, name, statistic, workflow))
  if (workflows.length > 0)
    dashboard.addWidgets(
      graph('Failed runs, by workflow', ...byWorkflow(METRIC.failed, 'Sum')),
      graph('Failed steps, by workflow', ...byWorkflow(METRIC.stepFailures, 'Sum')),
      graph('Wake lag by workflow (ms, p99)', ...byWorkflow(METRIC.wakeLag, 'p99')),
    )
  dashboard.addWidgets(
    graph(
      'Due runs in the queue',
      wakeups.queue.metricApproximateNumberOfMessagesVisible(),
      wakeups.deadLetters.metricApproximateNumberOfMessagesVisible(),
    ),
    graph('Age of the oldest (s)', wakeups.queue.metricApproximateAgeOfOldestMessage()),
    graph(
      'Runners',
      functions.Runner.metric('ConcurrentExecutions', { statistic: 'Maximum' }),
      functions.Runner.metricDuration({ statistic: 'p99' }),
    ),
  )
  dashboard.addWidgets(
    graph('Errors', ...perFunction('metricErrors')),
    graph('Throttles', ...perFunction('metricThrottles'), ...throttles(overwinter)),
    graph(
      'API',
      api.metricCount(),
      api.metricClientError(),
      api.metricServerError(),
      api.metricLatency({ statistic: 'p99' }),
    ),
  )
  return dashboard
}
