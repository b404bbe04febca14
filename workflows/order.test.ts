import { expect, test } from 'vitest'
import { approved, order } from './order.ts'
import { allWorkflows, golden } from './test-kit.ts'

const input = { id: 'o-1', cents: 4_200, address: 'Winter Road 1' }

test('an approved order is shipped', async () => {
  const env = await allWorkflows()
  const run = await env.start(order, input)
  expect(await run.get()).toMatchObject({ status: 'waiting', progress: { state: 'charged' } })
  await run.signal(approved, { by: 'ann' })
  expect(await run.result()).toEqual({ payment: 'payment-o-1-4200-once', parcel: 'parcel-o-1', approvedBy: 'ann' })
  expect(await run.history()).toMatchHistory(golden('order-approved'))
})

test('an order that nobody approves is refunded', async () => {
  const env = await allWorkflows()
  const run = await env.start(order, input)
  await expect(run.result()).rejects.toThrow("nobody approved order 'o-1' in time")
  expect(await run.history()).toMatchHistory(golden('order-refunded'))
})

test('an order that cannot be shipped is refunded', async () => {
  const env = await allWorkflows()
  const run = await env.start(order, { ...input, address: '' })
  await run.signal(approved, { by: 'ann' })
  await expect(run.result()).rejects.toThrow('has no address')
  expect(await run.history()).toContainEqual(expect.objectContaining({ type: 'step.completed', id: 'compensate/refund' }))
})
