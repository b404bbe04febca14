export type MetricUnit = 'Count' | 'Milliseconds' | 'Seconds'

/** What one line of the log may hold of one metric. */
const MOST_VALUES = 100

/**
 * Metrics in CloudWatch's embedded format: a line in the log, so that counting costs no call. Powertools does the same, and was a fortieth of the runner's
 * bundle. The construct names the namespace and the service.
 */
class Metrics {
  /** Of all workflows under '', and of those that are counted by themselves under their names. */
  private readonly counted = new Map<string, Map<string, { unit: MetricUnit; values: number[] }>>()

  add(name: string, unit: MetricUnit, value: number, workflow = ''): void {
    const group = this.counted.get(workflow) ?? new Map<string, { unit: MetricUnit; values: number[] }>()
    this.counted.set(workflow, group)
    const metric = group.get(name) ?? { unit, values: [] }
    group.set(name, metric)
    if (metric.values.push(value) === MOST_VALUES) this.publish()
  }

  /** Past `console`, which in Lambda makes a field of what is to be the line itself. */
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
  /** How long after its time a run was taken up, in milliseconds. */
  wakeLag: 'WakeLag',
  /** Runs that the sweeper found overdue: each is a wake-up that got lost or a runner that died. */
  rescues: 'Rescues',
  /** Runs that ended as failed. Named as the run loop reports it, like all outcomes. */
  failed: 'failed',
  /** Runs that were parked as stuck, whoever did it and why. */
  parked: 'Parked',
  /** Attempts of steps that failed and are to be followed by another. */
  stepRetries: 'StepRetries',
  /** Steps that failed for good. */
  stepFailures: 'StepFailures',
  /** How many events of its history a visit had to go through before it could go on. */
  replayLength: 'ReplayLength',
  /** Spans that no backend took in time. */
  droppedSpans: 'DroppedSpans',
  /** Events from outside that will never do, and were put among the dead letters. */
  deadEvents: 'DeadEvents',
  /** Runs that are stuck now. Like the next two it is a gauge of the sweeper, written while it is not zero. */
  stuckRuns: 'StuckRuns',
  /** How late the run is that has waited longest for a runner. */
  oldestOverdueRun: 'OldestOverdueRun',
  /** For how long the oldest run is past its retention and still there. */
  oldestOverdueRemoval: 'OldestOverdueRemoval',
  /** Limiters that the sweeper could not check, because something of them cannot be read, for example. Written while there are any. */
  uncheckedLimiters: 'UncheckedLimiters',
  /** Schedules that EventBridge Scheduler refused, by its quota for example. The sweeper wakes their runs. */
  schedulerRefusals: 'SchedulerRefusals',
} as const
