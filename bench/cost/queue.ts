import { Client } from '../../sdk/client/client.ts'
import type { Context } from '../../sdk/context.ts'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import type { Wake } from '../../sdk/ports/world.ts'
import { VirtualClock } from '../../sdk/testing/virtual-clock.ts'
import { type AnyWorkflow, Registry, workflow } from '../../sdk/workflow.ts'
import { AwsWorld } from '../../sdk/worlds/aws/world.ts'
import { awsClients } from '../../test/aws/clients.ts'
import { makeResources } from '../../test/aws/resources.ts'
import { Meter } from './meter.ts'

const RUNS = 120
const LIMIT = 10

const body = (ctx: Context) => ctx.step('work', () => 'done')
const SCENARIOS: Record<string, AnyWorkflow> = {
  'no limit': workflow('free', body),
  'limit of 10, queued behind it': workflow('queued', { concurrency: { limit: LIMIT } }, body),
  'limit of 1,000, passed at once': workflow('straight', { concurrency: { limit: 1_000 } }, body),
}

export interface QueueCost {
  name: string
  writeUnits: number
  readUnits: number
  /** More than without a limit. */
  extraWriteUnits: number
}

/** What a turn at a limit costs: many runs of one step, started at once, for each run. */
export async function measureQueue(): Promise<QueueCost[]> {
  const measured: QueueCost[] = []
  for (const [name, flow] of Object.entries(SCENARIOS)) {
    const { writeUnits, readUnits } = await measure(flow)
    const extraWriteUnits = Math.round((writeUnits - (measured[0]?.writeUnits ?? writeUnits)) * 100) / 100
    measured.push({ name, writeUnits, readUnits, extraWriteUnits })
  }
  return measured
}

async function measure(flow: AnyWorkflow): Promise<{ writeUnits: number; readUnits: number }> {
  const resources = await makeResources()
  const clients = awsClients()
  const meter = new Meter()
  meter.install(clients)
  const clock = new VirtualClock(Date.parse('2030-01-01T00:00:00Z'))
  const world = new AwsWorld({ ...resources, clients, clock })
  const registry = new Registry([flow])
  const due: Wake[] = []
  // The world sends some by itself, so they are taken at its own port.
  world.wakeups.send = async (wakes) => void due.push(...wakes)
  const client = new Client(world, registry)
  try {
    // What a process does once is not what a run costs.
    await client.start(flow, undefined)
    await takeAll()
    meter.reset()
    for (let i = 0; i < RUNS; i++) await client.start(flow, undefined)
    await takeAll()
    const counts = await client.counts()
    console.log(JSON.stringify(counts))
    const { writeUnits, readUnits } = meter.bill
    const each = (units: number) => Math.round((units / RUNS) * 100) / 100
    return { writeUnits: each(writeUnits), readUnits: each(readUnits) }
  } finally {
    await resources.remove()
    world.close()
    meter.close()
  }

  /** How many have completed. */
  async function takeAll(): Promise<number> {
    let completed = 0
    for (let wake = due.shift(); wake; wake = due.shift()) {
      clock.moveTo(Math.max(clock.now(), wake.at))
      const { status } = await runOnce(world, registry, wake.runId, { lease: { owner: 'runner', ms: 30_000 } })
      if (status !== 'completed') throw new Error(`run '${wake.runId}' is ${status}`)
      completed++
    }
    return completed
  }
}
