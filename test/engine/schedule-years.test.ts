import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { type ScheduleOptions, schedule, workflow } from '../../sdk/index.ts'
import { withSchedules } from '../../sdk/schedule.ts'
import { nextTime, timesBetween } from '../../sdk/scheduling/plan.ts'
import { type TestEnv, testEnv } from '../../sdk/testing/index.ts'

const YEARS = 10

/** When a schedule starts its runs in so many years. */
async function timesInYears(
  options: ScheduleOptions,
  startTime: string,
  years = YEARS,
): Promise<{ env: TestEnv; times: string[] }> {
  const times: string[] = []
  const note = workflow('note', async (ctx) => void times.push(new Date(ctx.now()).toISOString()))
  const env = await testEnv({ workflows: [], schedules: [schedule('long', options, note, undefined)], startTime })
  for (let year = 0; year < years; year++) await env.advance('365d')
  return { env, times }
}

describe('over ten years, a schedule', () => {
  it('runs on every 29 February', async () => {
    const { env, times } = await timesInYears({ cron: '0 0 29 2 *' }, '2026-01-01T00:00:00Z')
    expect(times).toEqual(['2028-02-29T00:00:00.000Z', '2032-02-29T00:00:00.000Z'])
    expect(await env.schedules.list()).toMatchObject([{ started: 2, nextDue: Date.UTC(2036, 1, 29) }])
  })

  it('runs on the same day of every year, leap years among them', async () => {
    const { times } = await timesInYears({ cron: '0 0 1 6 *' }, '2027-01-15T00:00:00Z')
    expect(times).toEqual(Array.from({ length: YEARS }, (_, i) => `${2027 + i}-06-01T00:00:00.000Z`))
  })

  it('keeps to the clock on the wall, summer and winter', async () => {
    const { times } = await timesInYears({ cron: '30 9 1 * *', timezone: 'America/New_York' }, '2026-01-01T00:00:00Z')
    const wall = new Intl.DateTimeFormat('en-GB', {
      timeZone: 'America/New_York',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
    })
    // Ten times 365 days are two short of ten years.
    expect(times).toHaveLength(YEARS * 12)
    expect(new Set(times.map((time) => wall.format(Date.parse(time))))).toEqual(new Set(['1, 09:30']))
    expect(new Set(times.map((time) => time.slice(11, 16)))).toEqual(new Set(['13:30', '14:30']))
  })

  it('keeps a distance to the millisecond', async () => {
    const start = Date.parse('2026-01-01T00:00:00Z')
    const { times } = await timesInYears({ every: '50d' }, '2026-01-01T00:00:00Z')
    expect(times.map(Date.parse)).toEqual(Array.from({ length: 73 }, (_, i) => start + (i + 1) * 50 * 86_400_000))
  })

  it('can get messages while it sleeps for years', async () => {
    const { env, times } = await timesInYears({ cron: '0 0 29 2 *' }, '2026-01-01T00:00:00Z', 1)
    await env.schedules.trigger('long')
    await env.settle()
    expect(times).toHaveLength(1)
    await env.schedules.pause('long')
    await env.advance('365d')
    await env.advance('365d')
    await env.schedules.resume('long')
    await env.settle()
    expect(times).toHaveLength(1)
    expect(await env.schedules.list()).toMatchObject([{ nextDue: Date.UTC(2032, 1, 29) }])
  })

  it.each<ScheduleOptions>([{ every: '100d' }, { cron: '0 0 11 4 *' }])(
    'that is woken starts the next run now, and not another one in its time (%j)',
    async (options) => {
      const { env, times } = await timesInYears(options, '2026-01-01T00:00:00Z', 0)
      await env.advance('30d')
      await env.client.wake('schedule.long')
      await env.advance('80d')
      expect(times).toEqual(['2026-01-31T00:00:00.000Z'])
      expect(await env.schedules.list()).toMatchObject([{ started: 1 }])
      await env.advance('365d')
      expect(times[1]).toBe('every' in options ? '2026-07-20T00:00:00.000Z' : '2027-04-11T00:00:00.000Z')
    },
  )

  it('whose times are over starts nothing more, and can still be triggered', async () => {
    const { env, times } = await timesInYears({ cron: '0 0 0 1 1 * 2027' }, '2026-01-01T00:00:00Z', 3)
    expect(times).toEqual(['2027-01-01T00:00:00.000Z'])
    expect((await env.schedules.list())[0]).not.toHaveProperty('nextDue')
    await env.schedules.trigger('long')
    await env.settle()
    expect(times).toHaveLength(2)
  })
})

describe('a run that takes very long', () => {
  const endless = workflow('endless', async (ctx) => {
    await ctx.sleep('half', '200d')
    await ctx.sleep('other half', '200d')
  })

  it.each([
    ['cron', { cron: '* * * * *' }, 1_000],
    ['every', { every: '1m' }, 400 * 1_440 - 1],
  ] as const)('leaves the journal of its schedule short (%s)', async (_, options, skipped) => {
    const env = await testEnv({ workflows: [], schedules: [schedule('busy', options, endless, undefined)] })
    await env.advance('300d')
    const { runId, nextDue } = (await env.schedules.list())[0]!
    expect(nextDue! - env.clock.now()).toBeLessThanOrEqual(60_000)
    expect((await env.client.history(runId)).length).toBeLessThan(10)
    await env.advance(100 * 86_400_000 + 90_000)
    expect(await env.schedules.list()).toMatchObject([{ started: 2, skipped }])
  })

  it.each([
    ['cron', { cron: '* * * * *' }, 0],
    ['every', { every: '1m' }, 400 * 1_440 - 1 - 1_000],
  ] as const)('has at most 1,000 follow it (%s)', async (_, options, skipped) => {
    const env = await testEnv({
      workflows: [],
      schedules: [schedule('busy', { ...options, overlap: 'queue' }, endless, undefined)],
    })
    for (const days of [200, 200]) await env.advance(days * 86_400_000 + 60_000)
    const { runId } = (await env.schedules.list())[0]!
    expect(await env.client.get(runId)).toMatchObject({ progress: { started: 2, waiting: 999, skipped } })
    expect((await env.client.history(runId)).length).toBeLessThan(15)
  })

  it('is not counted against while the schedule is paused', async () => {
    const env = await testEnv({ workflows: [], schedules: [schedule('busy', { every: '1h' }, endless, undefined)] })
    await env.advance('3h')
    await env.schedules.pause('busy')
    for (const days of ['300d', '150d'] as const) await env.advance(days)
    // The one at two o'clock, before the pause.
    expect(await env.schedules.list()).toMatchObject([{ started: 1, skipped: 1 }])
  })

  it.each<ScheduleOptions>([{ cron: '*/10 * * * *' }, { every: '10m' }])(
    'counts the times beside it, and not the one at which it ends (%j)',
    (options) => {
      const { plan } = schedule('busy', options, endless, undefined)
      const at = (minutes: number) => Date.UTC(2026, 0, 1, 0, minutes)
      expect(timesBetween(plan, at(0), at(9))).toEqual({ count: 0, last: at(0) })
      expect(timesBetween(plan, at(0), at(10))).toEqual({ count: 0, last: at(0) })
      expect(timesBetween(plan, at(0), at(11))).toEqual({ count: 1, last: at(10) })
      expect(timesBetween(plan, at(0), at(40))).toEqual({ count: 3, last: at(30) })
      expect(nextTime(plan, at(30))).toBe(at(40))
    },
  )
})

describe('runs that follow each other without a gap', () => {
  const slow = workflow('slow', async (ctx) => ctx.sleep('work', '90m'))
  const busy = schedule('busy', { every: '1h', overlap: 'queue' }, slow, undefined)

  it('leave the journal of their schedule short, and none of them gets lost', async () => {
    const env = await testEnv({ workflows: [], schedules: [busy] })
    await env.advance('301h')
    const { runId } = (await env.schedules.list())[0]!
    expect((await env.client.history(runId)).length).toBeLessThan(100)
    // One every hour and a half. Of the 300 that have come due, the others wait, but for those that will be counted when this one ends.
    const { started, waiting, skipped } = (await env.client.get(runId)).progress as {
      started: number
      waiting: number
      skipped: number
    }
    expect([started, skipped]).toEqual([201, 0])
    expect(started + waiting).toBeGreaterThanOrEqual(299)
    const { runs } = await env.client.list({ workflow: 'slow', limit: 1000 })
    expect(new Set(runs.map(({ runId }) => runId)).size).toBe(201)
  })

  it('wait while the schedule is paused, and follow when it is resumed', async () => {
    const env = await testEnv({ workflows: [], schedules: [busy] })
    await env.advance('5h')
    await env.schedules.pause('busy')
    await env.advance('10h')
    const { started } = (await env.schedules.list())[0]!
    await env.advance('10h')
    expect((await env.schedules.list())[0]).toMatchObject({ started })
    await env.schedules.resume('busy')
    await env.settle()
    expect((await env.schedules.list())[0]).toMatchObject({ started: started + 1 })
  })
})

describe('a run that cannot be started', () => {
  const v1 = workflow('report', async () => 'v1')
  const v2 = workflow('report', { version: 2 }, async () => 'v2')

  it.each(['skip', 'queue', 'allow'] as const)(
    'for want of its version is noted, and the schedule goes on (overlap %s)',
    async (overlap) => {
      const onV1 = schedule('hourly', { every: '1h', overlap }, v1, undefined)
      const onV2 = schedule('hourly', { every: '1h', overlap }, v2, undefined)
      const env = await testEnv({ workflows: withSchedules([], [onV1]) })
      await env.schedules.sync([onV1])
      await env.advance('90m')
      // Due before the new code has synced.
      await env.restart(withSchedules([], [onV2]))
      await env.advance('1h')
      expect(await env.schedules.list()).toMatchObject([
        {
          version: 1,
          nextDue: Date.parse('2026-01-01T03:00:00Z'),
          lastError: {
            at: Date.parse('2026-01-01T02:00:00Z'),
            message: expect.stringContaining("workflow 'report' has no version 1; known versions: 2"),
          },
        },
      ])
      await env.schedules.sync([onV2])
      await env.advance('1h')
      expect((await env.schedules.list())[0]).toMatchObject({ version: 2, started: 3 })
      expect((await env.schedules.list())[0]).not.toHaveProperty('lastError')
      const { runs } = await env.client.list({ workflow: 'report' })
      expect(await Promise.all(runs.map(({ runId: id }) => env.client.result(id)))).toEqual(['v2', 'v1'])
    },
  )

  it('is started the next time when the code has its version again', async () => {
    const onV1 = schedule('hourly', { every: '1h' }, v1, undefined)
    const env = await testEnv({ workflows: withSchedules([], [onV1]) })
    await env.schedules.sync([onV1])
    await env.restart(withSchedules([v2], [schedule('other', { every: '1h' }, v2, undefined)]))
    await env.advance('2h')
    expect((await env.client.list({ workflow: 'report' })).runs).toEqual([])
    await env.restart(withSchedules([], [onV1]))
    await env.advance('1h')
    expect((await env.client.list({ workflow: 'report' })).runs).toHaveLength(1)
    expect((await env.schedules.list())[0]).not.toHaveProperty('lastError')
  })

  it('because its input does not fit is noted', async () => {
    const strict = workflow('report', { input: z.string() }, async (_ctx, day) => day)
    const lax = workflow('report', async (_ctx, day: number) => day)
    const hourly = schedule('hourly', { every: '1h' }, lax, 1)
    const env = await testEnv({ workflows: withSchedules([], [hourly]) })
    await env.schedules.sync([hourly])
    await env.restart(withSchedules([], [schedule('hourly', { every: '1h' }, strict, 'monday')]))
    await env.advance('3h')
    expect(await env.schedules.list()).toMatchObject([
      { started: 3, lastError: { message: expect.stringContaining('does not fit its schema') } },
    ])
  })

  it('because another run has its id is noted', async () => {
    const hourly = schedule('hourly', { every: '1h' }, v1, undefined)
    const env = await testEnv({ workflows: withSchedules([v2], [hourly]) })
    await env.schedules.sync([hourly])
    await env.client.start(v2, undefined, { id: 'schedule.hourly.2026-01-01T01-00-00.000Z' })
    await env.advance('1h')
    expect(await env.schedules.list()).toMatchObject([
      { lastError: { message: expect.stringContaining('belongs to another run') } },
    ])
    await env.advance('1h')
    expect((await env.schedules.list())[0]).not.toHaveProperty('lastError')
  })

  it('or fails, is distinguished from one that completes', async () => {
    let isBroken = true
    const shaky = workflow('shaky', async () => {
      if (isBroken) throw new Error('out of paper')
    })
    const env = await testEnv({ workflows: [], schedules: [schedule('hourly', { every: '1h' }, shaky, undefined)] })
    await env.advance('1h')
    expect(await env.schedules.list()).toMatchObject([
      { lastError: { message: expect.stringContaining('out of paper') } },
    ])
    isBroken = false
    await env.advance('1h')
    expect((await env.schedules.list())[0]).not.toHaveProperty('lastError')
  })
})

describe('a schedule that is sent what it does not understand', () => {
  it.each([
    null,
    'now',
    { action: 'explode' },
    { action: 'update' },
    { action: 'update', plan: { workflow: 'note', version: 1, cron: 'never' } },
  ])('goes on as before: %j', async (payload) => {
    const note = workflow('note', async () => 'noted')
    const env = await testEnv({ workflows: [], schedules: [schedule('hourly', { every: '1h' }, note, undefined)] })
    await env.client.signal('schedule.hourly', 'schedule control', payload)
    await env.advance('2h')
    expect(await env.schedules.list()).toMatchObject([{ started: 2 }])
  })
})
