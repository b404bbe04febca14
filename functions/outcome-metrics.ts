import type { RunOutcome } from '../sdk/engine/closing.ts'
import type { Counted } from './counting.ts'
import { METRIC, type MetricUnit, metrics } from './metrics.ts'

type Measured = [name: string, unit: MetricUnit, value: number]

/** The metrics of a visit: its lag, the outcome of the run and its steps, and whether an operator is needed. */
export function metricsOf({ status }: RunOutcome, lagMs: number, visit?: Counted): Measured[] {
  if (status === 'skipped' || status === 'unknown') return []
  return [
    [METRIC.wakeLag, 'Milliseconds', lagMs],
    [status, 'Count', 1],
    ...(status === 'stuck' ? [[METRIC.parked, 'Count', 1] satisfies Measured] : []),
    ...(visit ? ofSteps(visit) : []),
  ]
}

function ofSteps({ replayed, retries, failures }: Counted): Measured[] {
  const counts: Measured[] = [
    [METRIC.replayLength, 'Count', replayed],
    [METRIC.stepRetries, 'Count', retries],
    [METRIC.stepFailures, 'Count', failures],
  ]
  // Zeros are not written: most visits have none of these.
  return counts.filter(([, , value]) => value > 0)
}

/**
 * The workflows with metrics of their own. Each costs as many metrics as all workflows together, so they are
 * listed by the user.
 */
const COUNTED = new Set((process.env.OVERWINTER_COUNTED_WORKFLOWS ?? '').split('\n').filter(Boolean))

export function countVisit(outcome: RunOutcome, lagMs: number, visit: Counted | undefined): void {
  for (const measured of metricsOf(outcome, lagMs, visit)) {
    metrics.add(...measured)
    if (visit && COUNTED.has(visit.workflow)) metrics.add(...measured, visit.workflow)
  }
}
