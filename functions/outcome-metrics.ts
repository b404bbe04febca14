import type { RunOutcome } from '../sdk/engine/closing.ts'
import { METRIC, type MetricUnit } from './metrics.ts'

type Measured = [name: string, unit: MetricUnit, value: number]

/** What a runner counts of a visit: how late it came, what became of the run, and whether people have to look at it. */
export function metricsOf({ status }: RunOutcome, lagMs: number): Measured[] {
  if (status === 'skipped' || status === 'unknown') return []
  const counted: Measured[] = [
    [METRIC.wakeLag, 'Milliseconds', lagMs],
    [status, 'Count', 1],
  ]
  return status === 'stuck' ? [...counted, [METRIC.parked, 'Count', 1]] : counted
}
