import { Metrics } from '@aws-lambda-powertools/metrics'

/** Written to the log in CloudWatch's embedded format, so that counting costs no call. The construct names the namespace. */
export const metrics = new Metrics()

export const METRICS_NAMESPACE = 'Overwinter'

/** The names, shared with the construct's alarms and dashboard. */
export const METRIC = {
  /** How long after its time a run was taken up, in milliseconds. */
  wakeLag: 'WakeLag',
  /** Runs that the sweeper found overdue: each is a wake-up that got lost or a runner that died. */
  rescues: 'Rescues',
  /** Runs that were parked as stuck, whoever did it and why. */
  parked: 'Parked',
  /** Events from outside that will never do, and were put among the dead letters. */
  deadEvents: 'DeadEvents',
} as const
