import {
  ConflictException,
  CreateScheduleCommand,
  type CreateScheduleInput,
  DeleteScheduleCommand,
  GetScheduleCommand,
  ResourceNotFoundException,
  ValidationException,
} from '@aws-sdk/client-scheduler'
import { describe, expect, it } from 'vitest'
import { VirtualClock } from '../../../sdk/testing/virtual-clock.ts'
import { AwsInMemory } from './aws-in-memory.ts'
import { passTime } from './pass-time.ts'
import type { SchedulerHabits } from './scheduler.ts'

const START = Date.parse('2026-01-01T00:00:00Z')

function setUp(habits: Partial<SchedulerHabits> = {}) {
  const clock = new VirtualClock(START)
  const aws = new AwsInMemory({ seed: 'scheduler', clock, habits: { scheduler: habits } })
  const queue = aws.sqs.createQueue('wakes')
  const { scheduler } = aws.clientsOf(aws.network('test'))
  const create = (Name: string, changes: Partial<CreateScheduleInput> = {}) =>
    scheduler.send(
      new CreateScheduleCommand({
        Name,
        ScheduleExpression: 'at(2026-01-01T01:00:00)',
        FlexibleTimeWindow: { Mode: 'OFF' },
        ActionAfterCompletion: 'DELETE',
        Target: { Arn: queue.arn, RoleArn: 'arn:aws:iam::000000000000:role/scheduler', Input: Name },
        ...changes,
      }),
    )
  const remove = (Name: string) => scheduler.send(new DeleteScheduleCommand({ Name }))
  return { clock, aws, queue, scheduler, create, remove }
}

const HOUR = 3_600_000

describe('a schedule', () => {
  it('puts its input into the queue at its time, and is gone then', async () => {
    const { clock, aws, queue, create } = setUp()
    await create('a')
    await passTime(clock, HOUR - 1)
    expect(queue.contents).toEqual([])
    await passTime(clock, 1)
    expect(queue.contents).toMatchObject([{ body: 'a', sentAt: START + HOUR }])
    expect(aws.scheduler.contents).toEqual([])
    await create('a', { ScheduleExpression: 'at(2026-01-01T02:00:00)' })
  })

  it('stays after it has fired, unless it is to be deleted', async () => {
    const { clock, scheduler, create } = setUp()
    await create('a', { ActionAfterCompletion: 'NONE' })
    await passTime(clock, HOUR)
    expect(await scheduler.send(new GetScheduleCommand({ Name: 'a' }))).toMatchObject({
      Name: 'a',
      ScheduleExpression: 'at(2026-01-01T01:00:00)',
    })
  })

  it('has a name of its own within its group', async () => {
    const { create } = setUp()
    await create('a')
    await expect(create('a')).rejects.toBeInstanceOf(ConflictException)
    await create('a', { GroupName: 'other' })
  })

  it('is refused with a name, a time or a target that AWS does not take', async () => {
    const { create } = setUp()
    for (const name of ['', 'a b', 'ä', 'x'.repeat(65)])
      await expect(create(name)).rejects.toBeInstanceOf(ValidationException)
    await create('x'.repeat(64))
    for (const ScheduleExpression of [
      'at(2026-01-01T00:00:00)',
      'at(2025-12-31T23:59:59)',
      'at(tomorrow)',
      'at(2026-13-01T00:00:00)',
      'rate(1 hour)',
    ]) {
      await expect(create('b', { ScheduleExpression })).rejects.toBeInstanceOf(ValidationException)
    }
    await expect(create('b', { Target: undefined })).rejects.toBeInstanceOf(ValidationException)
  })

  it('does not fire once it is deleted, and can be deleted once', async () => {
    const { clock, queue, create, remove } = setUp()
    await create('a')
    await remove('a')
    await expect(remove('a')).rejects.toBeInstanceOf(ResourceNotFoundException)
    await passTime(clock, 2 * HOUR)
    expect(queue.contents).toEqual([])
  })

  it('may be a minute late, fire twice, or never', async () => {
    const { clock, queue, create } = setUp({ lateMs: [0, 60_000], twice: 0.3, never: 0.3 })
    for (let i = 0; i < 50; i++) await create(`${i}`)
    await passTime(clock, HOUR + 60_000)
    const times = queue.contents.map(({ sentAt }) => sentAt - START - HOUR)
    expect(Math.min(...times)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...times)).toBeGreaterThan(30_000)
    const fired = Map.groupBy(queue.contents, ({ body }) => body)
    expect(fired.size).toBeLessThan(50)
    expect([...fired.values()].some((one) => one.length === 2)).toBe(true)
  })
})
