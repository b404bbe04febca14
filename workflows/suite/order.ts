import { describe, expect, test } from 'vitest'
import { approved, order } from '../order.ts'
import { Performance, type Stage } from './stage.ts'

const input = { id: 'o-1', cents: 4_200, address: 'Winter Road 1' }

export const describeOrder = (on: () => Stage) =>
  describe('order', () => {
    test('approved, it is shipped', async () => {
      const run = await Performance.start(on(), order, input)
      expect(await run.reaches('waiting')).toMatchObject({
        progress: { state: 'charged' },
        waitingFor: [{ kind: 'signal', on: 'approved' }],
      })
      expect(await run.signal(approved, { by: 'ann' })).toEqual({ accepted: true })
      expect(await run.output()).toEqual({ payment: 'payment-o-1-4200-once', parcel: 'parcel-o-1', approvedBy: 'ann' })
      expect(await run.steps()).toEqual(['charge', 'ship'])
    })

    test('without an approval in time, it is refunded', async () => {
      const run = await Performance.start(on(), order, { ...input, patience: on().takes('30m', '2s') })
      expect(await run.failure()).toBe("nobody approved order 'o-1' in time")
      expect(await run.steps()).toEqual(['charge', 'compensate/refund'])
    })

    test('without an address it cannot be shipped, and is refunded', async () => {
      const run = await Performance.start(on(), order, { ...input, address: '' })
      await run.signal(approved, { by: 'ann' })
      expect(await run.failure()).toContain('has no address')
      expect(await run.steps()).toEqual(['charge', 'compensate/refund'])
    })
  })
