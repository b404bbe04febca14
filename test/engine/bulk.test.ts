import { describe, expect, it } from 'vitest'
import { workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

const failures = new Map<string, number>()

/** Fails the first time, with its own id in the message. */
const flaky = workflow('flaky', async (ctx, { step = 'charge', message }: { step?: string; message?: string }) => {
  const { runId } = ctx.info
  return ctx.step(
    step,
    () => {
      const before = failures.get(runId) ?? 0
      failures.set(runId, before + 1)
      if (before === 0) throw new Error(message ?? `order ${runId} of 2026-11-16 was refused by 10.0.0.${before}`)
      return before
    },
    { retry: { attempts: 1 } },
  )
})

const patient = workflow('patient', async (ctx) => ctx.sleep('long', '30d'))

async function envWith(count: number, input: { step?: string; message?: string } = {}) {
  failures.clear()
  const env = await testEnv({ workflows: [flaky, patient] })
  for (let i = 0; i < count; i++) await env.start(flaky, input, { id: `r-${i}` })
  await env.settle()
  return env
}

describe('incidents', () => {
  it('a thousand failures that differ in ids are one', async () => {
    const env = await envWith(1_000)
    const { incidents, isComplete } = await env.client.incidents()
    expect(incidents).toMatchObject([
      {
        workflow: 'flaky',
        step: 'charge',
        count: 1_000,
        failed: 1_000,
        stuck: 0,
        says: 'order … of … was refused by …',
      },
    ])
    expect(incidents[0]!.runs).toHaveLength(5)
    expect(isComplete).toBe(true)
  })

  it('two errors without a message in different steps are two, and so are the same ones of two workflows', async () => {
    const env = await envWith(1, { step: 'one', message: '' })
    await env.start(flaky, { step: 'two', message: '' }, { id: 'other' })
    await env.settle()
    const { incidents } = await env.client.incidents()
    expect(incidents.map(({ step }) => step).sort()).toEqual(['one', 'two'])
    expect((await env.client.incidents({ workflow: 'patient' })).incidents).toEqual([])
  })
})

describe('a stuck run', () => {
  it('is retried once under one key, whatever becomes of it; and again under another', async () => {
    let visits = 0
    const gone = workflow('gone', async (ctx) => {
      visits++
      await ctx.step('one', () => 1)
      // Whoever awaits something else than ctx is stuck.
      await new Promise(() => {})
    })
    const env = await testEnv({ workflows: [gone] })
    await env.start(gone, undefined, { id: 'g' })
    await env.settle()
    expect((await env.client.get('g')).status).toBe('stuck')
    const before = visits
    for (let i = 0; i < 3; i++) {
      await env.client.retry('g', { idempotencyKey: 'k' })
      await env.settle()
    }
    expect(visits - before).toBe(1)
    await env.client.retry('g', { idempotencyKey: 'another' })
    await env.settle()
    expect(visits - before).toBe(2)
  })
})

describe('what is done to many runs', () => {
  it('retries each run of an incident once, so many a second, and says how many there were', async () => {
    const env = await envWith(25)
    const [incident] = (await env.client.incidents()).incidents
    const bulk = { action: 'retry', filter: { incident: incident!.fingerprint }, perSecond: 10 } as const
    expect(await env.client.wouldSteer(bulk)).toMatchObject({ matches: 25, isComplete: true })
    const began = env.now().getTime()
    const { runId } = await env.client.steerMany(bulk)
    expect(await env.skipUntil(env.client.result(runId))).toEqual({
      matched: 25,
      done: 25,
      skipped: 0,
      failed: 0,
      notes: [],
    })
    expect(env.now().getTime() - began).toBeGreaterThanOrEqual(2_000)
    for (let i = 0; i < 25; i++) {
      expect(await env.skipUntil(env.client.result(`r-${i}`))).toBe(1)
      expect((await env.client.history(`r-${i}`)).filter(({ type }) => type === 'run.retried')).toHaveLength(1)
    }
  })

  it('killed halfway goes on, and no run is retried twice', async () => {
    const env = await envWith(60)
    const { runId } = await env.client.steerMany({ action: 'retry', filter: { status: 'failed' }, perSecond: 10 })
    for (let kills = 0; kills < 5; kills++) {
      await env.advance('900ms')
      await env.restart()
    }
    expect(await env.skipUntil(env.client.result(runId))).toMatchObject({ matched: 60, done: 60, failed: 0 })
    await env.settle()
    for (let i = 0; i < 60; i++) {
      expect((await env.client.history(`r-${i}`)).filter(({ type }) => type === 'run.retried')).toHaveLength(1)
      expect(failures.get(`r-${i}`)).toBe(2)
    }
  })

  it('does no more than its limit', async () => {
    const env = await envWith(5)
    const bulk = { action: 'retry', filter: { status: 'failed' }, limit: 2 } as const
    expect(await env.client.wouldSteer(bulk)).toMatchObject({ matches: 2, isComplete: false })
    const { runId } = await env.client.steerMany(bulk)
    expect(await env.skipUntil(env.client.result(runId))).toMatchObject({ matched: 2, done: 2 })
    expect((await env.client.list({ status: 'failed' })).runs).toHaveLength(3)
  })

  it('ends open runs by a filter, and neither itself nor runs of schedules', async () => {
    const env = await envWith(0)
    for (let i = 0; i < 3; i++) await env.start(patient, undefined, { id: `p-${i}`, tags: ['vip'] })
    await env.start(patient, undefined, { id: 'other' })
    const { runId } = await env.client.steerMany({ action: 'terminate', filter: { tag: 'vip' }, reason: 'enough' })
    expect(await env.skipUntil(env.client.result(runId))).toMatchObject({ matched: 3, done: 3 })
    expect((await env.client.get('other')).status).not.toBe('terminated')
    const all = await env.client.steerMany({ action: 'cancel', filter: { from: 0 } })
    expect(await env.skipUntil(env.client.result(all.runId))).toMatchObject({ matched: 1, done: 1 })
    expect((await env.skipUntil(env.client.settled('other'))).status).toBe('cancelled')
  })

  it('can be stopped halfway', async () => {
    const env = await envWith(30)
    const { runId } = await env.client.steerMany({ action: 'retry', filter: { status: 'failed' }, perSecond: 1 })
    await env.client.cancel(runId)
    expect((await env.skipUntil(env.client.settled(runId))).status).toBe('cancelled')
    expect((await env.client.list({ status: 'failed' })).runs.length).toBeGreaterThan(0)
  })

  it.each([
    [{ perSecond: 0 }, 'perSecond must be a whole number from 1 to 100, got 0'],
    [{ perSecond: 101 }, 'perSecond must be a whole number from 1 to 100, got 101'],
    [{ limit: 10_001 }, 'limit must be a whole number from 1 to 10000, got 10001'],
    [{ filter: {} }, 'say which runs are meant'],
    [{ filter: { status: 'failed' as const, idPrefix: '' } }, 'idPrefix is empty'],
    [{ action: 'terminate' as const, filter: { idPrefix: '' } }, 'idPrefix is empty'],
    [{ filter: { workflow: 'flaky' } }, 'only failed and stuck runs can be retried'],
    [{ action: 'cancel' as const }, 'runs that are failed have ended'],
  ])('is refused before anything is started: %j', async (change, message) => {
    const env = await envWith(1)
    const bulk = { action: 'retry' as const, filter: { status: 'failed' as const }, ...change }
    await expect(env.client.steerMany(bulk)).rejects.toThrow(message)
    await expect(env.client.wouldSteer(bulk)).rejects.toThrow(message)
    expect((await env.client.list()).runs).toHaveLength(1)
  })
})
