import { expect, test } from 'vitest'
import { startingPaused } from '../../functions/start-paused.ts'
import { workflow } from '../../sdk/index.ts'
import type { World } from '../../sdk/ports/world.ts'
import { testEnv } from '../../sdk/testing/index.ts'

const order = workflow('order', async (ctx) => ctx.step('charge', () => 'charged'))

test('everything is paused once, before the first run; after a resume, functions that start later do not pause it again', async () => {
  const env = await testEnv({ workflows: [order] })
  const { client } = env
  await startingPaused(client.world, 'at first')()
  const run = await env.start(order, undefined)
  await env.settle()
  expect(await run.status()).toBe('queued')
  expect(await client.pauses()).toMatchObject([{ scope: { all: true } }])
  await client.resume({ all: true })
  expect(await run.result()).toBe('charged')
  await startingPaused(client.world, 'at first')()
  expect(await client.pauses()).toEqual([])
  await startingPaused(client.world, 'another time')()
  expect(await client.pauses()).toMatchObject([{ scope: { all: true } }])
})

test('where it is not asked for, nothing is read or written', async () => {
  const nothing = new Proxy({}, { get: () => expect.unreachable() }) as never
  expect(startingPaused(nothing, undefined)()).toBeUndefined()
})

test('one that dies between the pause and the mark leaves the pause, and the next one carries on', async () => {
  const { world } = (await testEnv({ workflows: [order] })).client
  let isBroken = true
  const { documents, clock, ids } = world
  const dying: Pick<World, 'documents' | 'clock' | 'ids'> = {
    clock,
    ids,
    documents: {
      get: (...asked) => documents.get(...asked),
      list: (...asked) => documents.list(...asked),
      delete: (...asked) => documents.delete(...asked),
      remove: (...asked) => documents.remove(...asked),
      put: (collection, ...rest) => {
        if (collection === 'deployments' && isBroken) throw new Error('gone')
        return documents.put(collection, ...rest)
      },
    },
  }
  const begin = startingPaused(dying as World, 'at first')
  await expect(begin()).rejects.toThrow('gone')
  expect(await documents.list('pauses')).toMatchObject([{ key: 'pause:all', version: 1 }])
  isBroken = false
  await begin()
  await begin()
  expect(await documents.list('deployments')).toMatchObject([{ key: 'paused at first' }])
})
