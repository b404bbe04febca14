import { GetScheduleCommand, ListSchedulesCommand } from '@aws-sdk/client-scheduler'
import { DeleteMessageCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FORMAT } from '../../sdk/base/names.ts'
import type { Wake } from '../../sdk/ports/world.ts'
import { VirtualClock } from '../../sdk/testing/virtual-clock.ts'
import { readWake } from '../../sdk/worlds/aws/wake-message.ts'
import { scheduleName } from '../../sdk/worlds/aws/wakeups.ts'
import { AwsWorld, type AwsWorldConfig } from '../../sdk/worlds/aws/world.ts'
import { PATIENCE_MS } from '../outside/patience.ts'
import { awsClients } from './clients.ts'
import { makeResources } from './resources.ts'
import { firesSchedules } from './stand-in.ts'

const DAY = 86_400_000
/** On LocalStack these two cannot be shown; there `sweeping.test.ts` shows what wakes long sleeps instead. */
const fires = await firesSchedules()

describe('wake-ups', () => {
  const clients = awsClients()
  let resources: Awaited<ReturnType<typeof makeResources>>

  beforeAll(async () => {
    resources = await makeResources({ clients })
  })
  afterAll(() => resources.remove())

  const world = (config: Partial<AwsWorldConfig> = {}) => new AwsWorld({ ...resources, clients, ...config })

  /** Everything that arrives until `count` messages did. */
  async function receive(count: number, withinMs = PATIENCE_MS): Promise<Wake[]> {
    const wakes: Wake[] = []
    const deadline = Date.now() + withinMs
    while (wakes.length < count && Date.now() < deadline) {
      const { Messages = [] } = await clients.sqs.send(
        new ReceiveMessageCommand({ QueueUrl: resources.queueUrl, MaxNumberOfMessages: 10 }),
      )
      for (const { Body, ReceiptHandle } of Messages) {
        wakes.push(readWake(Body!))
        await clients.sqs.send(new DeleteMessageCommand({ QueueUrl: resources.queueUrl, ReceiptHandle }))
      }
      if (Messages.length === 0) await new Promise((resolve) => setTimeout(resolve, 10))
    }
    return wakes
  }
  const schedule = (wake: Wake) =>
    clients.scheduler.send(new GetScheduleCommand({ Name: scheduleName(wake), GroupName: resources.schedulerGroup }))

  it('that are due go out at once, in batches', async () => {
    const now = Date.now()
    const sent = Array.from({ length: 25 }, (_, i) => ({ runId: `r${i}`, at: now - i }))
    await world().wakeups.send(sent)
    expect((await receive(25)).sort((a, b) => b.at - a.at)).toEqual(sent)
  })

  it('of less than a quarter of an hour are delayed messages that arrive in the last second and are waited for there', async () => {
    const { wakeups } = world()
    const wake = { runId: 'soon', at: Date.now() + 2_300 }
    await wakeups.send([wake])
    expect(await receive(1)).toEqual([wake])
    expect(Date.now()).toBeGreaterThan(wake.at - 1_000)
    expect(await wakeups.isDue(wake)).toBe(true)
    expect(Date.now() - wake.at).toBeGreaterThanOrEqual(0)
  })

  it('from a quarter of an hour on are schedules, a minute early, under a name that tells nothing', async () => {
    const clock = new VirtualClock(Date.parse('2030-01-01T00:00:00Z'))
    const { wakeups } = world({ clock })
    const justBelow = { runId: 'just-below', at: clock.now() + 899_999 }
    const wake = { runId: 'x'.repeat(200), at: clock.now() + 900_000 }
    await wakeups.send([justBelow, wake])
    await expect(schedule(justBelow)).rejects.toThrow(/not.*exist|not found/i)
    const armed = await schedule(wake)
    expect(armed).toMatchObject({
      ScheduleExpression: 'at(2030-01-01T00:14:00)',
      ActionAfterCompletion: 'DELETE',
      FlexibleTimeWindow: { Mode: 'OFF' },
      Target: { Arn: resources.queueArn, Input: JSON.stringify(wake) },
    })
    expect(armed.Name).toMatch(/^[0-9a-zA-Z-_.]{1,64}$/)
  })

  it('a year ahead are armed, twice is once, and taking back is for good', async () => {
    const clock = new VirtualClock(Date.parse('2030-01-01T00:00:00Z'))
    const { wakeups } = world({ clock })
    const wake = { runId: 'winter', at: clock.now() + 365 * DAY }
    await wakeups.send([wake])
    await wakeups.send([wake])
    expect((await schedule(wake)).ScheduleExpression).toBe('at(2030-12-31T23:59:00)')
    await wakeups.cancel([wake])
    await wakeups.cancel([wake])
    await expect(schedule(wake)).rejects.toThrow()
  })

  it.runIf(fires)(
    'over both hops are exact: the schedule fires early and a delayed message covers the rest',
    async () => {
      const { wakeups } = world({ thresholds: { longWaitMs: 10_000, leadMs: 8_000 } })
      const wake = { runId: 'two-hops', at: Date.now() + 11_500 }
      await wakeups.send([wake])
      expect((await schedule(wake)).Name).toBe(scheduleName(wake))
      expect(await receive(1)).toEqual([wake])
      expect(Date.now()).toBeLessThan(wake.at - 1_000)
      expect(await wakeups.isDue(wake)).toBe(false)
      expect(await receive(1)).toEqual([wake])
      expect(await wakeups.isDue(wake)).toBe(true)
      expect(Date.now() - wake.at).toBeGreaterThanOrEqual(0)
      await expect(schedule(wake)).rejects.toThrow()
    },
  )

  it('that are armed for a run and not wanted any more are taken back by whoever ends it', async () => {
    const clock = new VirtualClock(Date.parse('2030-01-01T00:00:00Z'))
    const { store, wakeups } = world({ clock })
    const schedules = async () =>
      (await clients.scheduler.send(new ListSchedulesCommand({ GroupName: resources.schedulerGroup }))).Schedules!.map(
        ({ Name }) => Name,
      )
    const lease = { owner: 'a', ms: 30_000 }
    async function asleep(id: string) {
      const run = {
        id,
        workflow: 'w',
        version: 1,
        format: FORMAT,
        input: {},
        secret: 's',
        createdAt: clock.now(),
        wakeAt: clock.now(),
        tags: [],
      }
      await store.create(run)
      const { epoch, stimulus } = (await store.claim(id, lease))!.run
      const next = {
        kind: 'suspend',
        status: 'sleeping',
        wakeAt: clock.now() + DAY,
        waitingFor: [],
        seen: stimulus,
      } as const
      const result = await store.commit({ runId: id, epoch, next: { ...next, waitingFor: [] } })
      if (!result.ok) throw new Error('not suspended')
      await wakeups.send(result.wakes)
      return result.wakes[0]!
    }
    const cancelled = await asleep('cancelled')
    expect(await schedules()).toContain(scheduleName(cancelled))
    await store.deliver('cancelled', { id: 'c', kind: 'cancel' })
    const { epoch } = (await store.claim('cancelled', lease))!.run
    const event = { type: 'run.cancelled' } as const
    const ended = await store.commit({
      runId: 'cancelled',
      epoch,
      frame: { seq: 1, at: clock.now(), epoch, events: [event] },
      next: { kind: 'end', event },
    })
    expect(ended.ok).toBe(true)
    expect(await schedules()).not.toContain(scheduleName(cancelled))

    const terminated = await asleep('terminated')
    await store.terminate('terminated', 'enough')
    expect(await schedules()).not.toContain(scheduleName(terminated))
  })
})
