import { expect, it } from 'vitest'
import * as z from 'zod'
import { ConflictError, signal, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

const go = signal('go', z.object({ at: z.coerce.date() }))
const waits = workflow('waits', async (ctx, name: string) => {
  const { at } = await ctx.waitFor(go)
  return { name, at }
})
const other = workflow('other', async () => 1)

it('a started run is signalled, waited for and looked into without its id being said again', async () => {
  const env = await testEnv({ workflows: [waits] })
  const run = await env.client.start(waits, 'Ada', { id: 'w' })
  expect(await run.signal(go, { at: '2026-01-02' }, { idempotencyKey: 'k' })).toEqual({ accepted: true })
  expect(await run.signal(go, { at: '2026-01-02' }, { idempotencyKey: 'k' })).toEqual({ accepted: false })
  expect(await env.skipUntil(run.result())).toEqual({ name: 'Ada', at: new Date('2026-01-02') })
  expect((await run.history()).at(-1)).toMatchObject({ type: 'run.completed' })
})

it('a started run can be asked to stop', async () => {
  const env = await testEnv({ workflows: [waits] })
  const run = await env.client.start(waits, 'Ada')
  await run.cancel('enough')
  await expect(env.skipUntil(run.result())).rejects.toThrow('cancelled')
  expect(await env.client.get(run.runId)).toMatchObject({ runId: run.runId, status: 'cancelled' })
})

it('a started run is shown and sent as runId, status and created', async () => {
  const env = await testEnv({ workflows: [waits] })
  const run = await env.client.start(waits, 'Ada', { id: 'w' })
  expect(JSON.parse(JSON.stringify(run))).toEqual({ runId: 'w', status: 'pending', created: true })
  expect({ ...run }).toEqual({ runId: 'w', status: 'pending', created: true })
})

it('a result asked for with another workflow than the run’s is refused, and the right one is named', async () => {
  const env = await testEnv({ workflows: [waits, other] })
  await env.client.start(other, undefined, { id: 'o' })
  expect(await env.skipUntil(env.client.result(other, 'o'))).toBe(1)
  const wrong = env.skipUntil(env.client.result(waits, 'o'))
  await expect(wrong).rejects.toThrow(ConflictError)
  await expect(wrong).rejects.toThrow("run 'o' is of workflow 'other', not of 'waits'")
})
