import { expect, it } from 'vitest'
import { METRIC } from '../../functions/metrics.ts'
import { metricsOf } from '../../functions/outcome-metrics.ts'

const counted = (status: Parameters<typeof metricsOf>[0]['status']) =>
  metricsOf({ status }, 7).map(([name, , value]) => [name, value])

it('a run that its runner parks is counted where the alarm looks, as one is whose messages failed', () => {
  expect(counted('stuck')).toEqual([
    [METRIC.wakeLag, 7],
    ['stuck', 1],
    [METRIC.parked, 1],
  ])
})

it('other outcomes write no metric that wakes an operator', () => {
  for (const status of [
    'completed',
    'failed',
    'cancelled',
    'suspended',
    'continued',
    'released',
    'superseded',
  ] as const)
    expect(counted(status)).toEqual([
      [METRIC.wakeLag, 7],
      [status, 1],
    ])
  expect([counted('skipped'), counted('unknown')]).toEqual([[], []])
})

it('what happened to steps is counted where something did', () => {
  const visit = { workflow: 'orders', replayed: 12, retries: 0, failures: 2 }
  expect(metricsOf({ status: 'failed' }, 7, visit).slice(2)).toEqual([
    [METRIC.replayLength, 'Count', 12],
    [METRIC.stepFailures, 'Count', 2],
  ])
})
