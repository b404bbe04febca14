export type MetricUnit = 'Count' | 'Milliseconds' | 'Seconds'

/** The most values of one metric in one line of the log. */
const MOST_VALUES = 100

/**
 * Metrics in CloudWatch's embedded format: a line in the log, so that counting costs no call. Powertools does
 * the same, but was a fortieth of the runner's bundle. The construct sets namespace and service.
 */
class Metrics {
  /** Under '' for all workflows, and under the name of each workflow with metrics of its own. */
  private readonly counted = new Map<string, Map<string, { unit: MetricUnit; values: number[] }>>()

  add(name: string, unit: MetricUnit, value: number, workflow = ''): void {
    const group = this.counted.get(workflow) ?? new Map<string, { unit: MetricUnit; values: number[] }>()
    this.counted.set(workflow, group)
    const metric = group.get(name) ?? { unit, values: [] }
    group.set(name, metric)
    if (metric.values.push(value) === MOST_VALUES) this.publish()
  }

  /** Bypasses `console`, which in Lambda would wrap the line in a field. */
  publish(write: (line: string) => void = (line) => process.stdout.write(line)): void {
    const { POWERTOOLS_METRICS_NAMESPACE: Namespace, POWERTOOLS_SERVICE_NAME: service } = process.env
    for (const [workflow, group] of this.counted) {
      const whose = workflow === '' ? { service } : { service, workflow }
      const Metrics = [...group].map(([Name, { unit }]) => ({ Name, Unit: unit }))
      const values = [...group].map(([name, { values }]) => [name, values.length === 1 ? values[0] : values] as const)
      const _aws = {
        Timestamp: Date.now(),
        CloudWatchMetrics: [{ Namespace, Dimensions: [Object.keys(whose)], Metrics }],
      }
      write(`${JSON.stringify({ _aws, ...whose, ...Object.fromEntries(values) })}\n`)
    }
    this.counted.clear()
  }
}

export const metrics = new Metrics()

export const METRICS_NAMESPACE = 'Overwinter'

/** The names, shared with the construct's alarms and dashboard. */
export const METRIC = {
  /** How long after its due time a run was claimed, in milliseconds. */
  wakeLag: 'WakeLag',
  /** Runs that the sweeper found overdue: each is a lost wake-up or a dead runner. */
  rescues: 'Rescues',
  /** Runs that ended as failed. Named as the run loop reports it, like all outcomes. */
  failed: 'failed',
  /** Runs that were parked as stuck, by any process and for any reason. */
  parked: 'Parked',
  /** Failed attempts of steps that will be retried. */
  stepRetries: 'StepRetries',
  /** Steps that failed for good. */
  stepFailures: 'StepFailures',
  /** How many events a visit had to replay. */
  replayLength: 'ReplayLength',
  /** Spans that no backend accepted in time. */
  droppedSpans: 'DroppedSpans',
  /** Events from outside that can never be taken, and are among the dead letters. */
  deadEvents: 'DeadEvents',
  /** Runs that are stuck now. Like the next two it is a gauge of the sweeper, written while it is not zero. */
  stuckRuns: 'StuckRuns',
  /** How late the longest overdue run is. */
  oldestOverdueRun: 'OldestOverdueRun',
  /** How long the oldest run past its retention has been due for removal. */
  oldestOverdueRemoval: 'OldestOverdueRemoval',
  /**
   * Limiters that the sweeper could not check, for example because their state cannot be read. Written while
   * there are any.
   */
  uncheckedLimiters: 'UncheckedLimiters',
  /** Schedules that EventBridge Scheduler refused, by its quota for example. The sweeper wakes their runs. */
  schedulerRefusals: 'SchedulerRefusals',
} as const
