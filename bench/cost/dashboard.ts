import { nextPause, PACE } from '../../dashboard/live/pace.ts'
import { FORMAT } from '../../sdk/base/names.ts'
import { Client } from '../../sdk/client/client.ts'
import { Registry } from '../../sdk/workflow.ts'
import { AwsWorld } from '../../sdk/worlds/aws/world.ts'
import { awsClients } from '../../test/aws/clients.ts'
import { makeResources } from '../../test/aws/resources.ts'
import { Meter } from './meter.ts'
import { usdOfRequests } from './prices.ts'

const OPEN_MS = 8 * 3_600_000
const RUNS = 60
const WORKFLOWS = 5
/** What a request takes of the API's function, in GB-seconds: 50 ms of 512 MB. */
const GB_SECONDS = 0.025

export interface DashboardCost {
  looks: number
  requests: number
  readUnits: number
  usd: number
}

/** What the list of runs costs that is open for eight hours over a deployment: left alone, and with somebody at it and news at every look. Hidden, it asks nothing. */
export async function measureDashboard(): Promise<Record<string, DashboardCost>> {
  const resources = await makeResources()
  const clients = awsClients()
  const meter = new Meter()
  meter.install(clients)
  const world = new AwsWorld({ ...resources, clients })
  try {
    const now = Date.now()
    for (let i = 0; i < RUNS; i++) {
      const run = {
        id: `r${i}`,
        workflow: `w${i % WORKFLOWS}`,
        version: 1,
        format: FORMAT,
        input: { order: i },
        secret: 's',
        tags: [],
        createdAt: now,
        wakeAt: now,
      }
      await world.store.create(run)
    }
    const client = new Client(world, new Registry([]))
    meter.reset()
    await client.list({ limit: 50 })
    await client.counts()
    const { readUnits } = meter.bill
    const over = (looks: number): DashboardCost => {
      const requests = looks * 2
      return {
        looks,
        requests,
        readUnits: looks * readUnits,
        usd: Number(usdOfRequests(requests, looks * readUnits, GB_SECONDS).toPrecision(3)),
      }
    }
    return { 'left alone': over(looksIn(false)), 'somebody at it, always news': over(looksIn(true)), hidden: over(0) }
  } finally {
    await resources.remove()
    world.close()
    meter.close()
  }
}

function looksIn(isAttended: boolean): number {
  let looks = 1
  let pauseMs = PACE.shortestMs
  for (let at = 0; at + pauseMs <= OPEN_MS; looks++) {
    at += pauseMs
    pauseMs = nextPause(pauseMs, isAttended, isAttended ? 0 : at)
  }
  return looks
}
