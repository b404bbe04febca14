import { ServiceQuotaExceededException, ThrottlingException } from '@aws-sdk/client-scheduler'
import { expect, it } from 'vitest'
import { createApp } from '../../functions/http/app.ts'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import { Client, Registry, workflow } from '../../sdk/index.ts'
import { METADATA } from '../sim/aws/errors.ts'
import { openAwsInMemory } from '../sim/aws/open-world.ts'

const HOUR = 3_600_000
const trial = workflow('trial', async (ctx) => {
  await ctx.sleep('two weeks', '14d')
  return 'over'
})

function open() {
  const refused: string[] = []
  const config = {
    onRefusedSchedule: ({ runId }: { runId: string }, { name }: Error) => void refused.push(`${runId}: ${name}`),
  }
  const { world, aws, clock } = openAwsInMemory({ seed: 'refusals', config })
  const registry = new Registry([trial])
  const client = new Client(world, registry)
  const visit = (runId: string) =>
    runOnce(world, registry, runId, {
      lease: { owner: 'runner', ms: 30_000 },
      deadline: clock.now() + 60_000,
      mostDeaths: 5,
    })
  const refuse = (error: Error) => {
    const throwing = () => {
      throw error
    }
    Object.assign(aws.scheduler.commands, { CreateScheduleCommand: throwing, DeleteScheduleCommand: throwing })
  }
  return { world, clock, client, visit, refused, refuse }
}

const details = { message: 'no', Message: 'no', $metadata: METADATA }
const quota = new ServiceQuotaExceededException({ ...details, ServiceCode: 'scheduler', QuotaCode: 'L-1' } as never)
const throttling = new ThrottlingException(details)

it.each([quota, throttling])(
  'a start for later that Scheduler refuses is a run all the same, and the sweeper wakes it: %s',
  async (refusal) => {
    const { world, clock, client, visit, refused, refuse } = open()
    refuse(refusal)
    const app = createApp({ client, log: () => {} })
    const body = JSON.stringify({ id: 'later', delay: '1h' })
    const headers = { 'content-type': 'application/json' }
    expect((await app.request('/workflows/trial/runs', { method: 'POST', headers, body })).status).toBe(201)
    expect(refused).toEqual([`later: ${refusal.name}`])
    clock.moveTo(clock.now() + HOUR + 91_000)
    expect((await world.sweep(10)).map(({ runId }) => runId)).toEqual(['later'])
    expect(await visit('later')).toMatchObject({ status: 'suspended' })
    expect(refused).toHaveLength(2)
  },
)

it.each([quota, throttling])('a commit stands whose schedule could not be taken back: %s', async (refusal) => {
  const { client, visit, refused, refuse } = open()
  await client.start(trial, undefined, { id: 'early' })
  expect(await visit('early')).toMatchObject({ status: 'suspended' })
  refuse(refusal)
  await client.cancel('early')
  expect(await visit('early')).toMatchObject({ status: 'cancelled' })
  expect(refused).toEqual([`early: ${refusal.name}`])
})

it('any other refusal is an error', async () => {
  const { client, refuse } = open()
  refuse(Object.assign(new Error('no such role'), { name: 'ValidationException' }))
  await expect(client.start(trial, undefined, { id: 'wrong', delay: HOUR })).rejects.toThrow('no such role')
})
