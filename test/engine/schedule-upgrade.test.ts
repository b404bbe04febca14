import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkRunId, earlierScheduleRunId, scheduleRunId } from '../../sdk/base/names.ts'
import { type HistoryEvent, type Json, schedule, workflow } from '../../sdk/index.ts'
import type { RunRecord } from '../../sdk/ports/run.ts'
import { withSchedules } from '../../sdk/schedule.ts'
import { SCHEDULE_WORKFLOW, stateOf } from '../../sdk/scheduling/state.ts'
import { replayHistory, type TestEnv, testEnv } from '../../sdk/testing/index.ts'

const report = workflow('report', async () => 'done')
const reportV2 = workflow('report', { version: 2 }, async () => 'done')
const stranger = workflow('stranger', async () => 'done')
const OVERLAPS = ['skip', 'queue', 'allow'] as const
type Overlap = (typeof OVERLAPS)[number]

/** What a run of schedule 'hourly' had journaled under 0.1.0 by half past ten: on time, triggered, paused, resumed, with a new plan. */
const recorded = (what: Overlap | 'backlog') =>
  JSON.parse(readFileSync(new URL(`./golden/schedule-${what}-0.1.0.json`, import.meta.url), 'utf8')) as HistoryEvent[]
/** The plan it had in the end. */
const twoHourly = (overlap: Overlap, target = report) => schedule('hourly', { every: '2h', overlap }, target, 30)
const scheduleWorkflow = (...targets: (typeof report)[]) =>
  withSchedules(
    [],
    targets.map((target) => twoHourly('skip', target)),
  ).at(-1)!

async function openRuns(env: TestEnv): Promise<string[]> {
  const { runs } = await env.client.list({ workflow: SCHEDULE_WORKFLOW, limit: 1000 })
  return runs.flatMap(({ runId: id, endedAt }) => (endedAt === undefined ? [id] : [])).sort()
}

/** A store in which 0.1.0 has left the run of a schedule as it was recorded. */
async function leftBy010(overlap: Overlap, code = withSchedules([], [twoHourly(overlap)])): Promise<TestEnv> {
  const [begun, ...events] = recorded(overlap)
  const { at, input } = begun as HistoryEvent & { input: Json }
  const env = await testEnv({ workflows: code, startTime: '2026-01-01T10:30:00Z' })
  await env.store.create({
    id: 'schedule.hourly',
    workflow: SCHEDULE_WORKFLOW,
    version: 1,
    format: 1,
    input,
    secret: 'kept',
    createdAt: at,
    wakeAt: env.clock.now(),
    tags: [],
    journal: { seq: 1, at, epoch: 1, events: events.map((event) => ({ ...event, dt: event.at - at })) as never },
  })
  await env.restart()
  await env.settle()
  return env
}

describe.each(OVERLAPS)('a schedule of 0.1.0 with overlap %s', (overlap) => {
  it('replays from wherever it was left', async () => {
    const history = recorded(overlap)
    for (let upTo = 1; upTo <= history.length; upTo++) await replayHistory(scheduleWorkflow(report), history, upTo)
  })

  it('replays in code that no longer has the version it started, or the workflow', async () => {
    const history = recorded(overlap)
    for (const code of [scheduleWorkflow(reportV2), scheduleWorkflow(stranger)])
      for (let upTo = 1; upTo <= history.length; upTo++) await replayHistory(code, history, upTo)
  })

  it('is taken over: it keeps its run, its times and its counts', async () => {
    const env = await leftBy010(overlap)
    const before = stateOf((await env.store.get('schedule.hourly')) as RunRecord)
    await env.schedules.sync([twoHourly(overlap)])
    await env.settle()
    expect(await openRuns(env)).toEqual(['schedule.hourly'])
    expect(await env.schedules.list()).toMatchObject([
      { runId: 'schedule.hourly', nextDue: Date.parse('2026-01-01T12:00:00Z'), started: before.started },
    ])
    await env.advance('6h')
    const { runs } = await env.client.list({ workflow: 'report' })
    expect(runs.map(({ runId }) => runId)).toEqual(
      [16, 14, 12].map((hour) => `schedule.hourly.2026-01-01T${hour}-00-00.000Z`),
    )
    expect(await env.schedules.list()).toMatchObject([{ started: before.started + 3, skipped: before.skipped }])
  })

  it('gets new plans, and ends when the code drops it', async () => {
    const env = await leftBy010(overlap)
    await env.schedules.sync([schedule('hourly', { every: '30m', overlap }, report, 0)])
    await env.advance('2h')
    expect((await env.client.list({ workflow: 'report' })).runs).toHaveLength(4)
    await env.schedules.sync([])
    expect(await openRuns(env)).toEqual([])
    await env.schedules.sync([twoHourly(overlap)])
    expect(await openRuns(env)).toEqual(['schedule.hourly.2'])
  })

  it('is ended by code that does not have it any more', async () => {
    const env = await leftBy010(overlap)
    await env.schedules.sync([])
    expect(await openRuns(env)).toEqual([])
  })

  it('goes on when the code has another version by now', async () => {
    const env = await leftBy010(overlap, withSchedules([], [twoHourly(overlap, reportV2)]))
    await env.advance('90m')
    expect(await env.client.get('schedule.hourly')).toMatchObject({
      status: 'waiting',
      progress: { lastError: { message: expect.stringContaining('no version 1') } },
    })
    await env.schedules.sync([twoHourly(overlap, reportV2)])
    await env.advance('2h')
    expect(await env.schedules.list()).toMatchObject([{ version: 2 }])
    expect((await env.client.list({ workflow: 'report' })).runs).toHaveLength(1)
  })
})

it('a schedule of 0.1.0 whose runs follow each other without a gap replays from wherever it was left', async () => {
  const history = recorded('backlog')
  for (let upTo = 1; upTo <= history.length; upTo++) await replayHistory(scheduleWorkflow(report), history, upTo)
})

describe('runs of 0.1.0', () => {
  const [banged, dashed] = [schedule('a!b', { every: '1h' }, report, 1), schedule('a-b', { every: '1h' }, report, 2)]
  const code = withSchedules([], [banged, dashed])
  const begin = (env: TestEnv, { name, plan }: typeof banged) =>
    env.client.start(
      SCHEDULE_WORKFLOW,
      { plan, isPaused: false, started: 0, skipped: 0 },
      { id: earlierScheduleRunId(name) },
    )

  it('are taken over by the one of two schedules that they work for', async () => {
    const env = await testEnv({ workflows: code })
    await begin(env, dashed)
    await env.schedules.sync([banged, dashed])
    await env.settle()
    expect(await env.schedules.list()).toMatchObject([
      { name: 'a!b', runId: 'schedule.a~21b' },
      { name: 'a-b', runId: 'schedule.a-b' },
    ])
    await env.advance('1h')
    const { runs: reports } = await env.client.list({ workflow: 'report' })
    expect(
      (await Promise.all(reports.map(({ runId: id }) => env.client.get(id)))).map(({ input }) => input).sort(),
    ).toEqual([1, 2])
  })

  it('are taken over when the code was rolled back to 0.1.0 and forward again', async () => {
    const env = await testEnv({ workflows: code })
    await env.schedules.sync([banged])
    // As 0.1.0 does it, which knows no other id.
    await env.client.terminate('schedule.a~21b', 'the code no longer has this schedule')
    await begin(env, banged)
    await env.schedules.sync([banged])
    await env.settle()
    expect(await openRuns(env)).toEqual(['schedule.a-b'])
    await env.advance('2h')
    expect((await env.client.list({ workflow: 'report' })).runs).toHaveLength(2)
  })

  it('that were started by hand, with any input, are left alone', async () => {
    const env = await testEnv({ workflows: code })
    const odd = workflow(SCHEDULE_WORKFLOW, async (ctx) => ctx.sleep('1d'))
    await env.restart([report, odd])
    await env.client.start(SCHEDULE_WORKFLOW, null, { id: 'schedule.by-hand' })
    await env.schedules.sync([])
    expect(await openRuns(env)).toEqual(['schedule.by-hand'])
  })
})

describe('the run ids of schedules', () => {
  const name = fc.oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 100 }),
    // Close enough to each other to be taken for one another.
    fc.string({ unit: fc.constantFrom('a', '~', '.', '-', '!', '2', '~21', '~2e'), minLength: 1, maxLength: 2 }),
  )

  it('are never those of another schedule, nor of a run that one starts', () => {
    const one = (name: string, serial: number) => ({ name, serial })
    const any = fc.record({ name, serial: fc.oneof(fc.constantFrom(1, 2), fc.integer({ min: 1, max: 1_000_000 })) })
    fc.assert(
      fc.property(any, any, (a, b) => {
        fc.pre(a.name !== b.name || a.serial !== b.serial)
        const ids = [a, b].flatMap(({ name, serial }) => {
          const id = scheduleRunId(name, serial)
          return [id, `${id}.2026-01-01T00-00-00.000Z`, `${id}.2026-01-01T00-00-00.000Z-triggered-1000000`]
        })
        expect(new Set(ids).size).toBe(ids.length)
        for (const id of ids) checkRunId(id)
      }),
      {
        numRuns: 2_000,
        examples: [
          [one('a', 1), one('a.2026-01-01T00-00-00.000Z', 1)],
          [one('a', 2), one('a.2', 1)],
          [one('a', 2), one('a.2.2026-01-01T00-00-00.000Z', 1)],
        ],
      },
    )
  })

  it('can be read', () => {
    expect(scheduleRunId('nightly-report', 1)).toBe('schedule.nightly-report')
    expect(scheduleRunId('nightly-report', 2)).toBe('schedule.nightly-report.2')
    expect(scheduleRunId('a.b c/é€', 12)).toBe('schedule.a~2eb~20c~2f~e9~u20ac.12')
  })

  it('are as short as a run id must be', () => {
    const [long, longer] = ['€'.repeat(99), '€'.repeat(100)]
    expect(scheduleRunId(long!, 1)).not.toBe(scheduleRunId(longer!, 1))
    expect(() => schedule('half \ud83d', { every: '1h' }, report, undefined)).toThrow('half a character')
  })
})
