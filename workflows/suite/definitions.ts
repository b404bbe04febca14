import { describe, expect, test } from 'vitest'
import { dripCampaign } from '../drip-campaign.ts'
import { orderGraph } from '../order-graph.ts'
import { rateLimitedPipeline } from '../rate-limited-pipeline.ts'
import { Performance, type Stage } from './stage.ts'

export const describeDefinitions = (on: () => Stage) =>
  describe('workflows as data', () => {
    test('the drip campaign sends a letter, waits two days, and sends another', async () => {
      const run = await Performance.start(on(), dripCampaign, {})
      await run.waitsFor('sleep', 'wait-2-days')
      await run.sleepsThrough('wait-2-days')
      const { outputs } = await run.output()
      expect(outputs).toMatchObject({
        'send-welcome-email': 'welcome (send-welcome-email)',
        'send-follow-up': 'follow-up (send-follow-up)',
      })
      expect(await run.sleeps()).toEqual([172_800_000])
      expect(await run.steps()).toEqual(['send-welcome-email', 'send-follow-up'])
    })

    test('the rate-limited pipeline cools down between two calls', async () => {
      const run = await Performance.start(on(), rateLimitedPipeline, undefined)
      await run.sleepsThrough('cooldown')
      expect((await run.output()).outputs).toMatchObject({
        'call-api': 'called for call-api',
        'next-call': 'called for next-call',
      })
      expect(await run.sleeps()).toEqual([30_000])
    })

    test('the order is validated, charged and shipped, each with what came before', async () => {
      const run = await Performance.start(on(), orderGraph, { cents: 4_200 })
      expect(await run.output()).toEqual({
        outputs: { validate: { valid: true }, charge: { charged: true }, ship: { shipped: true } },
        skipped: [],
        failed: [],
      })
      expect(await run.steps()).toEqual(['validate', 'charge', 'ship'])
    })
  })
