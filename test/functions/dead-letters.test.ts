import type { SQSEvent } from 'aws-lambda'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Client, Registry, workflow } from '../../sdk/index.ts'
import { writeWake } from '../../sdk/worlds/aws/wake-message.ts'
import { openAwsInMemory } from '../sim/aws/open-world.ts'

const order = workflow('order', async () => 'done')
const HOURS = 3 * 3_600_000
/** A run that was to start at once, and the message for it, which has been received too often. */
async function started() {
  const { world, clock } = openAwsInMemory({ seed: 'dead letters' })
  vi.doMock('../../functions/environment.ts', () => ({ awsWorld: () => world, log: () => {} }))
  const { handler } = await import('../../functions/dead-letters.ts')
  const client = new Client(world, new Registry([order]))
  await client.start(order, undefined, { id: 'o-1' })
  const message = {
    messageId: 'm',
    body: writeWake({ runId: 'o-1', at: clock.now() }),
    attributes: { SentTimestamp: String(clock.now()) },
  }
  const die = () => handler({ Records: [message] } as unknown as SQSEvent)
  return { world, clock, client, die }
}

beforeEach(() => vi.resetModules())
afterEach(() => vi.doUnmock('../../functions/environment.ts'))

it('a run whose message was only throttled, for hours, is not parked: the sweeper sends it again', async () => {
  const { world, clock, client, die } = await started()
  clock.moveTo(clock.now() + HOURS)
  expect(await die()).toEqual({ batchItemFailures: [] })
  expect((await client.get('o-1')).status).toBe('pending')
  expect((await world.sweep(10)).map(({ runId }) => runId)).toEqual(['o-1'])
})

it('a run that its runners died of is parked', async () => {
  const { world, clock, client, die } = await started()
  await world.store.claim('o-1', { owner: 'runner', ms: 30_000 })
  clock.moveTo(clock.now() + HOURS)
  expect(await die()).toEqual({ batchItemFailures: [] })
  expect(await client.get('o-1')).toMatchObject({ status: 'stuck', error: { name: 'DeadLetterError' } })
})
