import { vi } from 'vitest'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import { Client, FatalError, Registry, workflow } from '../../sdk/index.ts'
import type { WakeupTargets } from '../../sdk/worlds/aws/wakeups.ts'
import type { AwsWorld } from '../../sdk/worlds/aws/world.ts'
import { openAwsInMemory } from '../sim/aws/open-world.ts'

export interface Emitted {
  namespace: string
  name: string
  dimensions: Record<string, string>
}

interface Line {
  _aws: { CloudWatchMetrics: { Namespace: string; Dimensions: string[][]; Metrics: { Name: string }[] }[] }
  [field: string]: unknown
}

const lease = { owner: 'test', ms: 30_000 }
const HOUR = 3_600_000

/** Runs that fail, are stuck, are overdue and are past their retention, in AWS in memory. */
export async function aTroubledWorld(onCall?: () => void) {
  const opened = openAwsInMemory({ seed: 'trouble', ...(onCall && { onCall }) })
  const { world, clock } = opened
  const fails = workflow('fails', () => Promise.reject(new FatalError('no')))
  const fleeting = workflow('fleeting', { retention: '1h' }, async () => {})
  const registry = new Registry([fails, fleeting])
  const client = new Client(world, registry)
  const outcomes = []
  for (const [id, each] of [
    ['failed', fails],
    ['fleeting', fleeting],
  ] as const) {
    await client.start(each, undefined, { id })
    outcomes.push(await runOnce(world, registry, id, { lease }))
  }
  await client.start(fails, undefined, { id: 'stuck' })
  await world.store.park('stuck', { name: 'DeadLetterError', message: 'too often' })
  await client.start(fails, undefined, { id: 'overdue' })
  clock.moveTo(clock.now() + 3 * HOUR)
  return { ...opened, outcomes }
}

/** A limiter that is due and cannot be read. */
export async function spoilLimiter({ documents }: AwsWorld, dueAt: number): Promise<void> {
  await documents.put('gates broken', 'tenant', 'no state', { dueAt })
}

/** What the functions write while they meet all kinds of trouble, with these variables. */
export async function emittedMetrics(variables: Record<string, unknown>): Promise<Emitted[]> {
  vi.resetModules()
  for (const [name, value] of Object.entries(variables))
    if (name !== 'OVERWINTER_PUBLIC_URL') vi.stubEnv(name, typeof value === 'string' ? value : 'x')
  const { world, clock, outcomes } = await aTroubledWorld()
  await spoilLimiter(world, clock.now())
  const lines: string[] = []
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((line) => lines.push(String(line)) > 0)
  try {
    const environment = await import('../../functions/environment.ts')
    vi.doMock('../../functions/environment.ts', () => ({ ...environment, awsWorld: () => world }))
    const { countVisit } = await import('../../functions/outcome-metrics.ts')
    const { metrics } = await import('../../functions/metrics.ts')
    for (const outcome of outcomes) countVisit(outcome, 5, undefined)
    countVisit({ status: 'stuck' }, 5, undefined)
    refuseSchedule(environment.awsWorld())
    metrics.publish()
    const { handler } = await import('../../functions/sweeper.ts')
    await handler()
  } finally {
    write.mockRestore()
    vi.doUnmock('../../functions/environment.ts')
    vi.unstubAllEnvs()
  }
  return lines.filter((line) => line.startsWith('{"_aws"')).flatMap((line) => metricsIn(JSON.parse(line) as Line))
}

function refuseSchedule(world: AwsWorld): void {
  const { targets } = world.wakeups as unknown as { targets: WakeupTargets }
  targets.onRefusedSchedule!({ runId: 'r', at: 0 }, new Error('the quota is full'))
}

function metricsIn(line: Line): Emitted[] {
  return line._aws.CloudWatchMetrics.flatMap(({ Namespace, Dimensions, Metrics }) =>
    Metrics.map(({ Name }) => ({
      namespace: Namespace,
      name: Name,
      dimensions: Object.fromEntries(Dimensions[0]!.map((dimension) => [dimension, line[dimension] as string])),
    })),
  )
}
