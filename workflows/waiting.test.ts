import { testEnv } from 'overwinter/testing'
import { describe, expect, test } from 'vitest'
import { agent } from './agent.ts'
import { approval, decided } from './approval.ts'
import { drip, unsubscribed } from './drip.ts'
import { acknowledged, escalation } from './escalation.ts'
import { everyNight, nightlyReport } from './nightly-report.ts'
import { pipeline } from './pipeline.ts'
import { golden } from './test-kit.ts'

const open = () => testEnv({ workflows: [agent, approval, drip, escalation, nightlyReport, pipeline] })

describe('approval', () => {
  test('is given by a person', async () => {
    const env = await open()
    const run = await env.start(approval, { document: 'budget' })
    await run.signal(decided, { by: 'ann', approve: true })
    expect(await run.result()).toEqual({ document: 'budget', outcome: 'approved', by: 'ann' })
    expect(await run.history()).toMatchHistory(golden('approval'))
  })

  test('expires after half an hour', async () => {
    const env = await open()
    const run = await env.start(approval, { document: 'budget' })
    await env.advance('29m')
    expect(await run.status()).toBe('waiting')
    expect(await run.result()).toEqual({ document: 'budget', outcome: 'expired' })
  })
})

describe('drip campaign', () => {
  test('sends three letters over three weeks', async () => {
    const env = await open()
    const run = await env.start(drip, { email: 'ann@example.org' })
    const start = env.clock.now()
    expect(await run.result()).toMatchObject({ sent: { length: 3 }, unsubscribed: false })
    expect(env.clock.now() - start).toBe(21 * 86_400_000)
    expect(await run.history()).toMatchHistory(golden('drip'))
  })

  test('stops when somebody has had enough', async () => {
    const env = await open()
    const run = await env.start(drip, { email: 'ann@example.org' })
    await env.advance('3d')
    await run.signal(unsubscribed)
    expect(await run.result()).toMatchObject({ sent: { length: 2 }, unsubscribed: true })
  })
})

test('a rate-limited pipeline keeps its distance and cools down when told to', async () => {
  const env = await open()
  const run = await env.start(pipeline, { pages: 4 })
  const start = env.clock.now()
  expect(await run.result()).toEqual({ records: 400 })
  expect(env.clock.now() - start).toBe(3 * 30_000 + 120_000)
  expect(await run.history()).toMatchHistory(golden('pipeline'))
})

describe('escalation', () => {
  const input = { incident: 'disk full', people: ['ann', 'bob', 'cleo'], deadline: '2026-01-01T01:00:00.000Z' }

  test('goes on to the next person until somebody reacts', async () => {
    const env = await open()
    const run = await env.start(escalation, input)
    await env.advance('15m')
    await run.signal(acknowledged, { by: 'bob' })
    expect(await run.result()).toMatchObject({ told: { length: 2 }, acknowledgedBy: 'bob' })
    expect(await run.history()).toMatchHistory(golden('escalation'))
  })

  test('ends at its deadline, to the second', async () => {
    const env = await open()
    const run = await env.start(escalation, input)
    expect(await run.result()).toMatchObject({ told: { length: 3 }, acknowledgedBy: 'nobody' })
    expect(env.now()).toEqual(new Date(input.deadline))
  })
})

test('an agent goes on from its last checkpoint after a crash', async () => {
  const env = await open()
  const run = await env.start(agent, { goal: 'tidy up' })
  await env.restart()
  expect(await run.result()).toMatchObject({ turns: 3, notes: { length: 9 } })
})

test('the nightly report runs at half past two, Berlin’s time', async () => {
  const env = await testEnv({ workflows: [], schedules: [everyNight], startTime: '2026-07-01T00:00:00Z' })
  await env.advance('1d')
  const { runs } = await env.client.list({ workflow: 'nightly-report' })
  expect(runs).toMatchObject([{ createdAt: Date.parse('2026-07-01T00:30:00Z'), output: { day: '2026-07-01', total: 800 } }])
})
