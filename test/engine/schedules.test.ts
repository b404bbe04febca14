import { describe, expect, it } from 'vitest'
import type { Duration } from '../../sdk/base/duration.ts'
import { type Schedule, schedule, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

const HOUR = 3_600_000
const report = workflow('report', async (ctx, minutes: number) => {
  if (minutes > 0) await ctx.sleep('work', minutes * 60_000)
  return 'done'
})

async function startTimes(schedules: Schedule[], startTime: string, duration: Duration) {
  const env = await testEnv({ workflows: [], schedules, startTime })
  await env.advance(duration)
  const { runs } = await env.client.list({ workflow: 'report', limit: 100 })
  return { env, times: runs.map((run) => new Date(run.createdAt).toISOString()).reverse() }
}

describe('a schedule', () => {
  it('starts its workflow at every time of its cron expression', async () => {
    const { env, times } = await startTimes(
      [schedule('nightly', { cron: '30 2 * * *' }, report, 0)],
      '2026-01-01T00:00:00Z',
      '3d',
    )
    expect(times).toEqual(['2026-01-01T02:30:00.000Z', '2026-01-02T02:30:00.000Z', '2026-01-03T02:30:00.000Z'])
    expect(await env.schedules.list()).toMatchObject([
      { name: 'nightly', workflow: 'report', isPaused: false, started: 3, nextDue: Date.parse('2026-01-04T02:30:00Z') },
    ])
  })

  it('keeps to the clock on the wall when summer time begins and ends', async () => {
    const nine = schedule('nine', { cron: '0 9 * * *', timezone: 'Europe/Berlin' }, report, 0)
    expect((await startTimes([nine], '2026-03-28T00:00:00Z', '2d')).times).toEqual([
      '2026-03-28T08:00:00.000Z',
      '2026-03-29T07:00:00.000Z',
    ])
    expect((await startTimes([nine], '2026-10-24T00:00:00Z', '2d')).times).toEqual([
      '2026-10-24T07:00:00.000Z',
      '2026-10-25T08:00:00.000Z',
    ])
  })

  it('runs once on the day an hour is missing or repeated', async () => {
    const early = schedule('early', { cron: '30 2 * * *', timezone: 'Europe/Berlin' }, report, 0)
    expect((await startTimes([early], '2026-03-28T12:00:00Z', '1d')).times).toHaveLength(1)
    expect((await startTimes([early], '2026-10-24T12:00:00Z', '1d')).times).toHaveLength(1)
  })

  it('keeps a fixed distance', async () => {
    const { times } = await startTimes([schedule('often', { every: '20m' }, report, 0)], '2026-01-01T00:00:00Z', '1h')
    expect(times).toEqual(['2026-01-01T00:20:00.000Z', '2026-01-01T00:40:00.000Z', '2026-01-01T01:00:00.000Z'])
  })

  it.each([
    ['skip', ['00:20', '01:00', '01:40']],
    ['queue', ['00:20', '00:50', '01:20', '01:50']],
    ['allow', ['00:20', '00:40', '01:00', '01:20', '01:40', '02:00']],
  ] as const)('with overlap %s deals with runs that take longer than the distance', async (overlap, expected) => {
    const { times } = await startTimes(
      [schedule('busy', { every: '20m', overlap }, report, 30)],
      '2026-01-01T00:00:00Z',
      '2h',
    )
    expect(times.map((time) => time.slice(11, 16))).toEqual(expected)
  })

  it.each([
    [false, 1],
    [true, 5],
  ])('after an outage, with catchUp %s, makes up for %i of the times it missed', async (catchUp, runs) => {
    const env = await testEnv({
      workflows: [],
      schedules: [schedule('hourly', { every: '1h', overlap: 'allow', catchUp }, report, 0)],
    })
    await env.settle()
    env.clock.moveTo(env.clock.now() + 5.5 * HOUR)
    await env.settle()
    expect((await env.client.list({ workflow: 'report' })).runs).toHaveLength(runs)
    await env.advance('30m')
    expect((await env.client.list({ workflow: 'report' })).runs).toHaveLength(runs + 1)
  })

  it('can be paused, resumed and triggered', async () => {
    const env = await testEnv({ workflows: [], schedules: [schedule('hourly', { every: '1h' }, report, 0)] })
    const count = async () => (await env.client.list({ workflow: 'report' })).runs.length
    await env.schedules.pause('hourly')
    await env.advance('5h')
    expect(await count()).toBe(0)
    expect(await env.schedules.list()).toMatchObject([{ isPaused: true }])
    await env.schedules.trigger('hourly')
    await env.settle()
    expect(await count()).toBe(1)
    await env.schedules.resume('hourly')
    await env.advance('1h')
    expect(await count()).toBe(2)
    await expect(env.schedules.trigger('weekly')).rejects.toThrow("no schedule 'weekly'; known: hourly")
  })

  it('survives restarts, goes on for ever with a short journal, and follows a changed plan', async () => {
    const hourly = schedule('tick', { every: '1h' }, report, 0)
    const env = await testEnv({ workflows: [], schedules: [hourly] })
    await env.advance('3h')
    await env.restart()
    await env.advance('60h')
    expect((await env.client.list({ workflow: 'report', limit: 1000 })).runs).toHaveLength(63)
    const { runId } = (await env.schedules.list())[0]!
    expect((await env.client.history(runId)).length).toBeLessThan(100)
    await env.schedules.sync([schedule('tick', { every: '10h' }, report, 0)])
    await env.advance('10h')
    expect((await env.client.list({ workflow: 'report', limit: 1000 })).runs).toHaveLength(64)
    await env.schedules.sync([])
    await env.advance('50h')
    expect((await env.client.list({ workflow: 'report', limit: 1000 })).runs).toHaveLength(64)
    expect(await env.schedules.list()).toEqual([])
  })

  it.each([
    [{}, 'give either cron or every'],
    [{ cron: '* * * * *', every: '1h' }, 'give either cron or every'],
    [{ cron: 'every tuesday' }, 'does not work'],
    [{ cron: '0 0 30 2 *' }, 'does not work'],
    [{ cron: '* * * * *', timezone: 'Mars/Olympus' }, 'does not work'],
    [{ every: '-5m' }, 'positive'],
  ])('refuses %j', (options, message) => {
    expect(() => schedule('bad', options as never, report, 0)).toThrow(message)
  })
})
