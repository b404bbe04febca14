import { expect, it, vi } from 'vitest'
import { metrics } from '../../functions/metrics.ts'

const published = (): unknown[] => {
  const lines: string[] = []
  metrics.publish((line) => void lines.push(line))
  return lines.map((line) => JSON.parse(line))
}

it('metrics are one line in the form that CloudWatch reads from logs, and counted once', () => {
  vi.stubEnv('POWERTOOLS_METRICS_NAMESPACE', 'Overwinter')
  vi.stubEnv('POWERTOOLS_SERVICE_NAME', 'Shop/Workflows')
  metrics.add('WakeLag', 'Milliseconds', 12)
  metrics.add('WakeLag', 'Milliseconds', 15)
  metrics.add('Parked', 'Count', 1)
  expect(published()).toEqual([
    {
      _aws: {
        Timestamp: expect.any(Number),
        CloudWatchMetrics: [
          {
            Namespace: 'Overwinter',
            Dimensions: [['service']],
            Metrics: [
              { Name: 'WakeLag', Unit: 'Milliseconds' },
              { Name: 'Parked', Unit: 'Count' },
            ],
          },
        ],
      },
      service: 'Shop/Workflows',
      WakeLag: [12, 15],
      Parked: 1,
    },
  ])
  expect(published()).toEqual([])
})

it('a line holds no more than 100 values of a metric', () => {
  const written = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  for (let i = 0; i < 150; i++) metrics.add('WakeLag', 'Milliseconds', i)
  const [first] = written.mock.calls.map(([line]) => JSON.parse(String(line)) as { WakeLag: number[] })
  written.mockRestore()
  expect(first!.WakeLag).toHaveLength(100)
  expect((published()[0] as { WakeLag: number[] }).WakeLag).toHaveLength(50)
})

it('what is counted of a workflow by itself is a line of its own, with the workflow as a dimension', () => {
  metrics.add('StepRetries', 'Count', 1)
  metrics.add('StepRetries', 'Count', 1, 'orders')
  const [all, orders] = published() as [Record<string, unknown>, Record<string, unknown>]
  expect(all).not.toHaveProperty('workflow')
  expect(orders).toMatchObject({
    workflow: 'orders',
    StepRetries: 1,
    _aws: { CloudWatchMetrics: [{ Dimensions: [['service', 'workflow']] }] },
  })
})
