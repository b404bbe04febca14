import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import { Client, Registry, Schedules, schedule, workflow } from '../../sdk/index.ts'
import { withSchedules } from '../../sdk/schedule.ts'
import { VirtualClock } from '../../sdk/testing/virtual-clock.ts'
import { AwsWorld } from '../../sdk/worlds/aws/world.ts'
import { awsClients } from './clients.ts'
import { makeResources } from './resources.ts'

const report = workflow('report', async () => 'done')
const yearly = schedule('yearly / 1 June', { cron: '0 0 1 6 *' }, report, { text: 'ü'.repeat(2_000) })
const leapDay = schedule('leap day', { cron: '0 0 29 2 *', overlap: 'allow' }, report, undefined)

/** The same as in every world; here it is seen on the table, with its documents and its limits. */
describe('schedules on AWS', () => {
  const clock = new VirtualClock(Date.parse('2027-06-01T12:00:00Z'))
  const clients = awsClients()
  const registry = new Registry(withSchedules([], [yearly, leapDay]))
  let resources: Awaited<ReturnType<typeof makeResources>>
  let world: AwsWorld
  let schedules: Schedules

  beforeAll(async () => {
    resources = await makeResources({ clients })
    world = new AwsWorld({ ...resources, clients, clock, log: () => {} })
    schedules = new Schedules(new Client(world, registry))
  })
  afterAll(async () => {
    await resources.remove()
    world.close()
  })

  const visit = (runId: string) => runOnce(world, registry, runId, { lease: { owner: 'a', ms: 30_000 } })
  const stateOf = async (name: string) => (await schedules.list()).find((each) => each.name === name)!

  it('are added, changed, removed and put back', async () => {
    const paused = async () =>
      Object.fromEntries((await schedules.list()).map(({ name, isPaused }) => [name, isPaused]))
    await Promise.all([schedules.sync([yearly, leapDay]), schedules.sync([yearly, leapDay])])
    expect(await paused()).toEqual({ [leapDay.name]: false, [yearly.name]: false })
    const { runId } = await stateOf(yearly.name)
    expect(await visit(runId)).toEqual({ status: 'suspended' })
    await schedules.pause(yearly.name)
    await schedules.sync([schedule(yearly.name, { every: '1h' }, report, { text: '' }), leapDay])
    await schedules.sync([yearly, leapDay])
    expect(await visit(runId)).toEqual({ status: 'suspended' })
    expect(await stateOf(yearly.name)).toMatchObject({ isPaused: true, cron: '0 0 1 6 *' })
    await schedules.sync([leapDay])
    expect(await paused()).toEqual({ [leapDay.name]: false })
    await schedules.sync([yearly, leapDay])
    expect(await paused()).toEqual({ [leapDay.name]: false, [yearly.name]: false })
    expect((await stateOf(yearly.name)).runId).not.toBe(runId)
  })

  it('start their run after more than a year', async () => {
    const { runId, nextDue } = await stateOf(yearly.name)
    expect(nextDue! - clock.now()).toBeGreaterThan(365 * 86_400_000)
    await visit(runId)
    for (const at of ['2028-05-31T12:00:00Z', '2028-06-01T00:00:00Z']) {
      expect((await stateOf(yearly.name)).started).toBe(0)
      clock.moveTo(Date.parse(at))
      expect(await visit(runId)).toEqual({ status: 'suspended' })
    }
    expect(await stateOf(yearly.name)).toMatchObject({ started: 1 })
    expect(await world.store.get(`${runId}.2028-06-01T00-00-00.000Z`)).toMatchObject({
      workflow: 'report',
      status: 'pending',
      input: yearly.plan.input,
    })
  })
})
