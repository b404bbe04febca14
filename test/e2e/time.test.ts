import { GetScheduleCommand, ResourceNotFoundException } from '@aws-sdk/client-scheduler'
import { beforeAll, describe, expect, it } from 'vitest'
import { scheduleName } from '../../sdk/worlds/aws/wakeups.ts'
import { nap } from '../../workflows/index.ts'
import { PATIENCE_MS } from '../outside/patience.ts'
import { type Deployment, deployed, eventually } from './deployment.ts'
import { punctual } from './workflows.ts'

const DAY = 86_400
/** As in app.ts: how long before its time a schedule fires. */
const LEAD_MS = 2_000

describe('time, with thresholds of seconds instead of minutes', () => {
  let deployment: Deployment
  let client: Deployment['client']
  beforeAll(async () => {
    deployment = await deployed()
    client = deployment.client
  })

  const asleep = async (runId: string) => {
    const { wakeAt } = await eventually('the run sleeps', async () => {
      const run = await client.get(runId)
      return run.status === 'sleeping' && run.wakeAt !== undefined && { wakeAt: run.wakeAt }
    })
    return wakeAt
  }
  const schedule = (runId: string, at: number) =>
    deployment.aws.scheduler
      .send(new GetScheduleCommand({ Name: scheduleName({ runId, at }), GroupName: deployment.outputs.SchedulerGroup }))
      .catch((error: unknown) => {
        if (error instanceof ResourceNotFoundException) return undefined
        throw error
      })

  it('a short sleep is a delayed message: there is no schedule', async () => {
    const { runId } = await client.start(punctual, { ms: 3_000 })
    expect(await schedule(runId, await asleep(runId))).toBeUndefined()
    const { lateness } = await client.result<{ lateness: number }>(runId, { timeout: PATIENCE_MS })
    expect(lateness).toBeGreaterThanOrEqual(0)
  })

  it('a long sleep is a schedule that fires early, and a delayed message for the rest', async () => {
    const { runId } = await client.start(punctual, { ms: 8_000 })
    const wakeAt = await asleep(runId)
    expect(await schedule(runId, wakeAt)).toMatchObject({ ActionAfterCompletion: 'DELETE' })
    const { lateness } = await client.result<{ lateness: number }>(runId, { timeout: PATIENCE_MS })
    expect(lateness).toBeGreaterThanOrEqual(0)
    expect(await schedule(runId, wakeAt)).toBeUndefined()
  })

  it('a sleep of 365 days is armed for the right second; ending the run takes it back', async () => {
    const { runId } = await client.start(nap, { name: 'bear', seconds: 365 * DAY })
    const wakeAt = await asleep(runId)
    const { startedAt } = await client.get(runId)
    expect(wakeAt - startedAt!).toBeGreaterThanOrEqual(365 * DAY * 1000)
    expect(wakeAt - startedAt!).toBeLessThan(365 * DAY * 1000 + 10_000)
    const at = new Date(wakeAt - LEAD_MS).toISOString().slice(0, 19)
    expect((await schedule(runId, wakeAt))?.ScheduleExpression).toBe(`at(${at})`)
    await client.terminate(runId)
    expect(await schedule(runId, wakeAt)).toBeUndefined()
  })

  it('366 days are refused, in a sleep and in a delay', async () => {
    const { runId } = await client.start(nap, { name: 'bear', seconds: 366 * DAY })
    await expect(client.result(runId, { timeout: PATIENCE_MS })).rejects.toThrow(/365 days/)
    await expect(client.start(nap, { name: 'bear', seconds: 1 }, { delay: '366d' })).rejects.toThrow(/365 days/)
  })

  it('cancelling ends a long sleep at once, and its schedule is gone', async () => {
    const { runId } = await client.start(nap, { name: 'bear', seconds: 30 * DAY })
    const wakeAt = await asleep(runId)
    expect(await schedule(runId, wakeAt)).toBeDefined()
    await client.cancel(runId, 'spring came early')
    expect(await client.settled(runId, { timeout: PATIENCE_MS })).toMatchObject({ status: 'cancelled' })
    await eventually('the schedule is gone', async () => (await schedule(runId, wakeAt)) === undefined)
  })

  it('a run that starts later does not start before its time', async () => {
    const began = Date.now()
    const { runId } = await client.start(nap, { name: 'Ada', seconds: 1 }, { delay: '6s' })
    await client.result(runId, { timeout: PATIENCE_MS })
    const { startedAt } = await client.get(runId)
    expect(startedAt! - began).toBeGreaterThanOrEqual(6_000)
  })

  it('of 100 sleeps at once none ends early', async () => {
    // The first are delayed messages, the others go over both hops. Nobody asks meanwhile: two cores have enough to do.
    const sleeps = Array.from({ length: 100 }, (_, i) => 3_000 + i * 120)
    const runs = await Promise.all(sleeps.map((ms) => client.start(punctual, { ms })))
    await new Promise((resolve) => setTimeout(resolve, sleeps.at(-1)! + 1_000))
    const lateness = await Promise.all(
      runs.map(
        async ({ runId }) => (await client.result<{ lateness: number }>(runId, { timeout: PATIENCE_MS })).lateness,
      ),
    )
    lateness.sort((a, b) => a - b)
    console.info(
      `lateness of 100 sleeps: least ${lateness[0]} ms, median ${lateness[50]} ms, p99 ${lateness[98]} ms, most ${lateness[99]} ms`,
    )
    expect(lateness[0]).toBeGreaterThanOrEqual(0)
  })
})
