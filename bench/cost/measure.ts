import { FORMAT } from '../../sdk/base/names.ts'
import { Client } from '../../sdk/client/client.ts'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import type { Wake, World } from '../../sdk/ports/world.ts'
import { VirtualClock } from '../../sdk/testing/virtual-clock.ts'
import { Registry } from '../../sdk/workflow.ts'
import { AwsWorld } from '../../sdk/worlds/aws/world.ts'
import { awsClients } from '../../test/aws/clients.ts'
import { makeResources } from '../../test/aws/resources.ts'
import { type Bill, Meter } from './meter.ts'
import { durableUsdPerMillion, stepFunctionsUsdPerMillion, usdPerMillion } from './prices.ts'
import { SCENARIOS, type Scenario } from './scenarios.ts'

export interface Measured extends Bill {
  name: string
  usdPerMillion: number
  /** Our price as a part of theirs. */
  vsLambdaDurable: number
  vsStepFunctions: number
  lines: string[]
}

/** Runs each scenario once against the stand-in that AWS_ENDPOINT_URL names, and counts. */
export async function measureCosts(): Promise<Measured[]> {
  const resources = await makeResources()
  const clients = awsClients()
  const meter = new Meter()
  meter.install(clients)
  const clock = new VirtualClock(Date.parse('2030-01-01T00:00:00Z'))
  const world = new AwsWorld({ ...resources, clients, clock })
  const measured: Measured[] = []
  try {
    for (const scenario of SCENARIOS) {
      // The first run of a workflow that a process starts writes the workflow's name down, once.
      await world.store.create({
        ...FIRST_RUN,
        id: `first ${scenario.workflow.name}`,
        workflow: scenario.workflow.name,
        createdAt: clock.now(),
        wakeAt: clock.now(),
      })
      meter.reset()
      await takeToItsEnd(world, clock, scenario, meter)
      const { bill } = meter
      const usd = usdPerMillion(meter.bill)
      measured.push({
        name: scenario.name,
        ...bill,
        usdPerMillion: round(usd),
        vsLambdaDurable: round(usd / durableUsdPerMillion(scenario.elsewhere)),
        vsStepFunctions: round(usd / stepFunctionsUsdPerMillion(scenario.elsewhere)),
        lines: meter.lines,
      })
    }
  } finally {
    await resources.remove()
    world.close()
    meter.close()
  }
  return measured
}

/** What the runner function does with each message of the queue, under virtual time. */
async function takeToItsEnd(
  world: AwsWorld,
  clock: VirtualClock,
  { workflow, result }: Scenario,
  meter: Meter,
): Promise<void> {
  const registry = new Registry([workflow])
  const inFlight: (Wake & { arrives: number })[] = []
  const { store, documents, tasks, ids, log, inlineWaitMs, flow } = world
  const send = async (wakes: Wake[]) => {
    await world.wakeups.send(wakes)
    for (const wake of wakes) {
      const isLong = wake.at - clock.now() >= 900_000
      inFlight.push({ ...wake, arrives: isLong ? wake.at - 60_000 : wake.at })
    }
  }
  const take = (runId: string) => runOnce(recording, registry, runId, { lease: { owner: 'runner', ms: 30_000 } })
  // A call of the runner is one trip, and what the runner does there are others.
  const handOver = async ({ runId }: Wake) => {
    meter.bill.roundTrips++
    await take(runId)
  }
  const recording: World = {
    store,
    documents,
    tasks,
    clock,
    ids,
    log,
    inlineWaitMs,
    flow,
    wakeups: { send, ...(result === 'waited for' && { handOver }) },
  }
  const client = new Client(recording, registry)
  if (result === 'waited for') return void (await client.startAndSettle(workflow, { order: 4711 }, { timeout: '20s' }))
  const { runId } = await client.start(workflow, { order: 4711 })
  for (let wake = inFlight.shift(); wake; wake = inFlight.shift()) {
    clock.moveTo(wake.arrives)
    if (wake.arrives < wake.at) {
      await send([wake])
      continue
    }
    // The queue's own call of the runner.
    meter.bill.roundTrips++
    const { status } = await take(wake.runId)
    if (status === 'completed') return result === 'asked for' ? void (await client.get(runId)) : undefined
    if (status !== 'suspended') throw new Error(`scenario '${workflow.name}' is ${status}`)
  }
}

const FIRST_RUN = { version: 1, format: FORMAT, input: undefined, secret: 'secret', tags: [] }

const round = (value: number): number => Number(value.toPrecision(3))
