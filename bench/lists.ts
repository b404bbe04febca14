import { Client, Registry, Schedules, workflow } from '../sdk/index.ts'
import type { NewRun } from '../sdk/ports/run.ts'
import type { RunFilter } from '../sdk/ports/run-lists.ts'
import { openAwsInMemory } from '../test/sim/aws/open-world.ts'
import { report } from './report.ts'

const RUNS = 100_000
const START = Date.parse('2026-01-01T00:00:00Z')
/** Of 200 runs, in this order: nine in ten have ended, and of what is left nearly all sleep. */
const OPEN_EVERY = 10

/**
 * What lists and an idle stack read, in DynamoDB's read units: AWS's own code on DynamoDB in memory, which counts as AWS does. 100,000 runs
 * of ten workflows, one of them rare; each run has a tag of its own customer, of whom there are 1,000.
 */
export async function benchLists(): Promise<void> {
  let called = 0
  const calls = () => called
  const { world, table, clock } = openAwsInMemory({ seed: 'lists', onCall: () => void called++ })
  for (let i = 0; i < RUNS; i++) {
    clock.moveTo(START + i * 100)
    await world.store.create(run(i, clock.now()))
    if (i % OPEN_EVERY !== 0) await world.store.terminate(`run-${i}`, 'done')
    else if (i % 10_000 === 0) await world.store.park(`run-${i}`, { name: 'Error', message: 'odd' })
  }
  const cost = async (name: string, filter: Omit<RunFilter, 'limit'>, goal?: number) => {
    const [before, called] = [table.readUnits, calls()]
    const { runs, cursor } = await world.store.list({ ...filter, limit: 50 })
    const figures = {
      readUnits: table.readUnits - before,
      calls: calls() - called,
      runs: runs.length,
      isCut: Number(runs.length < 50 && cursor !== undefined),
    }
    report('lists', `50 of ${RUNS} runs, ${name}`, figures, goal === undefined ? {} : { readUnits: goal })
  }
  await cost('no filter', {}, 120)
  await cost('of a workflow', { workflow: 'w1' }, 60)
  await cost('of a rare workflow', { workflow: 'rare' }, 60)
  await cost('of a customer', { tag: 'customer:7' }, 60)
  await cost('stuck', { status: 'stuck' }, 40)
  await cost('failed, of which there are none', { status: 'failed' }, 40)
  await cost('of one hour', { from: START + 3_600_000, to: START + 7_200_000 }, 120)
  await cost('open ones of a workflow', { workflow: 'w1', isOpen: true }, 400)
  await cost('ids that begin with run-777', { idPrefix: 'run-777' })
  await cost('of a state that no run is in', { status: 'cancelled' })

  const sweepBefore = { units: table.readUnits, calls: calls() }
  clock.moveTo(clock.now() + 200 * 86_400_000 - 1)
  await world.sweep(10_000)
  const sweep = { units: table.readUnits - sweepBefore.units, calls: calls() - sweepBefore.calls }
  const schedules = new Schedules(new Client(world, new Registry([workflow('w', async () => {})])))
  await schedules.sync([])
  const syncBefore = { units: table.readUnits, calls: calls() }
  await schedules.sync([])
  const sync = { units: table.readUnits - syncBefore.units, calls: calls() - syncBefore.calls }
  report('at rest', 'a sweep that finds nothing', { readUnits: sweep.units, calls: sweep.calls })
  report('at rest', 'a look at the schedules, of which there are none', { readUnits: sync.units, calls: sync.calls })
  const perMonth = { sweeps: 60 * 24 * 30, syncs: 12 * 24 * 30 }
  const usd = ((perMonth.sweeps * sweep.units + perMonth.syncs * sync.units) * 0.125) / 1_000_000
  report(
    'at rest',
    'reads of a month',
    { callsPerHour: 60 * sweep.calls + 12 * sync.calls, usd: Math.round(usd * 1_000) / 1_000 },
    { usd: 0.2 },
  )
}

function run(i: number, now: number): NewRun {
  const name = i % 1_000 === 0 ? 'rare' : `w${i % 9}`
  const isAsleep = i % OPEN_EVERY === 0 && i % 10_000 !== 0
  return {
    id: `run-${i}`,
    workflow: name,
    version: 1,
    format: 2,
    input: { customer: i % 1_000 },
    secret: 'secret',
    createdAt: now,
    wakeAt: isAsleep ? now + 300 * 86_400_000 : now,
    tags: [`customer:${i % 1_000}`, 'shop'],
    commonTags: ['shop'],
    retentionMs: 300 * 86_400_000,
  }
}
