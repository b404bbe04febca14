import { readdirSync, readFileSync } from 'node:fs'
import type { HistoryEvent } from 'overwinter'
import { type RunHandle, replayHistory, type TestEnv, testEnv } from 'overwinter/testing'
import 'overwinter/testing/vitest'
import { describe, expect, test } from 'vitest'
import { Registry } from '../sdk/workflow.ts'
import { approval, decided } from './approval.ts'
import { drip } from './drip.ts'
import { dripCampaign } from './drip-campaign.ts'
import { acknowledged, escalation } from './escalation.ts'
import { fanOut } from './fan-out.ts'
import { flaky } from './flaky.ts'
import { importShop } from './import-shop.ts'
import { nap } from './nap.ts'
import { billing, usage } from './nightly-batch.ts'
import { everyNight } from './nightly-report.ts'
import { approved, order } from './order.ts'
import { orderGraph } from './order-graph.ts'
import { parent } from './parent.ts'
import { pipeline } from './pipeline.ts'
import { rateLimitedPipeline } from './rate-limited-pipeline.ts'
import { workflows } from './stages/cast.ts'
import { assistant } from './token-budget.ts'

const shopping = { id: 'o-1', cents: 4_200, address: 'Winter Road 1' }
const incident = { incident: 'disk full', people: ['ann', 'bob', 'cleo'], deadline: '2026-01-01T01:00:00.000Z' }

/** One of each, from its start to shortly before its end. */
const RECORDED: Record<string, (env: TestEnv) => Promise<RunHandle>> = {
  nap: (env) => env.start(nap, { name: 'Ada', seconds: 365 * 86_400 }),
  'order-approved': async (env) => {
    const run = await env.start(order, shopping)
    await run.get()
    await run.signal(approved, { by: 'ann' })
    return run
  },
  'order-refunded': (env) => env.start(order, shopping),
  approval: async (env) => {
    const run = await env.start(approval, { document: 'budget' })
    await run.signal(decided, { by: 'ann', approve: true })
    return run
  },
  drip: (env) => env.start(drip, { email: 'ann@example.org' }),
  'drip-campaign': (env) => env.start(dripCampaign, {}),
  'rate-limited-pipeline': (env) => env.start(rateLimitedPipeline, undefined),
  'order-graph': (env) => env.start(orderGraph, { cents: 4_200 }),
  pipeline: (env) => env.start(pipeline, { pages: 4 }),
  escalation: async (env) => {
    const run = await env.start(escalation, incident)
    await env.advance('15m')
    await run.signal(acknowledged, { by: 'bob' })
    return run
  },
  'fan-out': (env) => env.start(fanOut, { items: 4, concurrency: 2 }),
  flaky: (env) => env.start(flaky, { failures: 2 }),
  parent: (env) => env.start(parent, { cities: ['Oslo', 'Umeå', 'Tromsø'] }),
  'import-shop': (env) => env.start(importShop, { shop: 'tea', pages: 4 }),
  assistant: async (env) => {
    const question = { tenant: 'acme', prompt: 'How does a dormouse get through the winter?', longest: 8_000 }
    await env.start(assistant, question)
    await env.settle()
    return env.start(assistant, question)
  },
  usage: async (env) => {
    await env.start(usage, { tenant: 'acme', units: 3 })
    return env.start(usage, { tenant: 'acme', units: 4 })
  },
  billing: (env) => env.start(billing, { tenants: ['acme', 'globex', 'initech'] }),
}

describe('what the examples journal has not changed, so that runs of yesterday go on in the code of today', () => {
  test.each(Object.entries(RECORDED))('%s', async (name, play) => {
    const env = await testEnv({ workflows })
    const run = await play(env)
    await run.result().catch(() => {})
    expect(await run.history()).toMatchHistory(new URL(`./golden/${name}.json`, import.meta.url).pathname)
  })
})

describe('histories recorded by 0.1.0 still fit, wherever a run may have been asleep', () => {
  const folder = new URL('./golden/0.1.0/', import.meta.url)
  test.each(readdirSync(folder))('%s', async (file) => {
    // Recorded times count from the start; the dates in inputs and outputs do not.
    const start = Date.parse('2026-01-01T00:00:00Z')
    const recorded = JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as (HistoryEvent & { until?: number })[]
    const history = recorded.map((event) => ({
      ...event,
      at: event.at + start,
      ...(event.until !== undefined && { until: event.until + start }),
    })) as HistoryEvent[]
    const [started] = history as [HistoryEvent & { workflow: string; version: number }]
    const workflow = new Registry(workflows).exact(started.workflow, started.version)
    for (let upTo = 1; upTo <= history.length; upTo++) await replayHistory(workflow, history, upTo)
  })
})

test('the nightly report runs at half past two, Berlin’s time, by its schedule alone', async () => {
  const env = await testEnv({ workflows: [], schedules: [everyNight], startTime: '2026-07-01T00:00:00Z' })
  await env.advance('1d')
  const { runs } = await env.client.list({ workflow: 'nightly-report' })
  expect(runs).toMatchObject([{ createdAt: Date.parse('2026-07-01T00:30:00Z') }])
  expect(await env.client.result(runs[0]!.runId)).toEqual({ day: '2026-07-01', total: 800 })
})

test('a flaky run that has given up goes on when it is retried by hand', async () => {
  const env = await testEnv({ workflows: [flaky] })
  const run = await env.start(flaky, { failures: 5 })
  await expect(run.result()).rejects.toThrow('failed after 5 attempts')
  env.stub('call-a-shaky-service', () => 6)
  await env.client.retry(run.runId)
  expect(await run.result()).toEqual({ attempts: 6 })
})
