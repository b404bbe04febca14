import { describe, expect, test } from 'vitest'
import { assistant } from '../token-budget.ts'
import { Performance, type Stage } from './stage.ts'

/** It takes most of a tenant's minute. */
const question = { prompt: 'How does a dormouse get through the winter?', longest: 8_000 }
const answer = '8 words'

export const describeTokenBudget = (on: () => Stage) =>
  describe('token budget', () => {
    test('a tenant who has used up their budget waits, and other tenants do not', async () => {
      const [busy, other] = [`busy-${on().now()}`, `other-${on().now()}`]
      const first = await Performance.start(on(), assistant, { tenant: busy, ...question })
      expect(await first.output()).toEqual({ tenant: busy, answer })
      const second = await Performance.start(on(), assistant, { tenant: busy, ...question })
      await second.waitsFor('limit', 'ask the model')
      const third = await Performance.start(on(), assistant, { tenant: other, ...question })
      expect(await third.output()).toEqual({ tenant: other, answer })
      await on().client.terminate(second.runId)
    })
  })
