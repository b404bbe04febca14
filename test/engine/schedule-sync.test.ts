import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { schedule, workflow } from '../../sdk/index.ts'
import { withSchedules } from '../../sdk/schedule.ts'
import { SCHEDULE_WORKFLOW } from '../../sdk/scheduling/state.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import {
  CODE,
  deployed,
  hourly,
  IS_WRITE,
  often,
  other,
  ownRuns,
  report,
  started,
  withFaults,
} from './schedule-fixture.ts'

describe('schedules that the code changes', () => {
  it('fire again when they are removed and put back', async () => {
    const env = await deployed()
    await env.schedules.sync([hourly])
    await env.schedules.sync([])
    expect(await started(env, '3h')).toBe(0)
    await env.schedules.sync([hourly])
    expect(await started(env, '3h')).toBe(3)
    expect(await env.schedules.list()).toMatchObject([{ name: 'tick', runId: 'schedule.tick.2', started: 3 }])
  })

  it('are put back with another plan, and keep none of the others back', async () => {
    const env = await deployed()
    await env.schedules.sync([hourly])
    await env.schedules.sync([])
    await env.schedules.sync([often, other])
    expect(await started(env, '1h')).toBe(7)
    expect(await env.schedules.list()).toMatchObject([{ name: 'other' }, { name: 'tick', everyMs: 600_000 }])
  })

  it('follow a plan that comes back, however often it does', async () => {
    const env = await deployed()
    for (const plan of [hourly, often, hourly, often, hourly, often]) {
      await env.schedules.sync([plan])
      await env.settle()
      expect(await env.schedules.list()).toMatchObject([{ everyMs: plan.plan.everyMs }])
    }
    expect(await started(env, '1h')).toBe(6)
    expect(await ownRuns(env)).toEqual(['schedule.tick'])
  })

  it('follow the last of several plans that come before they have looked at the first', async () => {
    const env = await deployed()
    await env.schedules.sync([hourly])
    await env.settle()
    for (const plan of [often, hourly, often, hourly]) await env.schedules.sync([plan])
    expect(await started(env, '3h')).toBe(3)
  })

  it('stay paused when their plan changes or their run is ended, and not when they were removed', async () => {
    const env = await deployed()
    await env.schedules.sync([hourly])
    await env.schedules.pause('tick')
    await env.settle()
    await env.schedules.sync([often])
    expect(await started(env, '1h')).toBe(0)
    await env.client.terminate((await ownRuns(env))[0]!)
    await env.schedules.sync([often])
    expect(await started(env, '1h')).toBe(0)
    await env.schedules.sync([])
    await env.schedules.sync([often])
    expect(await started(env, '1h')).toBe(6)
  })

  it('keep their distance when the plan only seems to be new', async () => {
    const env = await deployed()
    await env.schedules.sync([hourly])
    await env.advance('50m')
    await env.schedules.sync([often])
    await env.schedules.sync([hourly])
    await env.schedules.sync([hourly])
    expect(await started(env, '55m')).toBe(0)
    expect(await started(env, '5m')).toBe(1)
  })

  it('get another run when theirs was ended by hand, and say so', async () => {
    const env = await deployed()
    await env.schedules.sync([hourly])
    await env.advance('2h')
    await env.client.terminate('schedule.tick', 'by hand')
    const ended = "its own run 'schedule.tick' ended (terminated); the next sync starts another"
    expect(await env.schedules.list()).toMatchObject([{ started: 2, lastError: { message: ended } }])
    await expect(env.schedules.trigger('tick')).rejects.toThrow(
      "schedule 'tick' cannot be steered now: run 'schedule.tick' has already ended",
    )
    await env.schedules.sync([hourly])
    await env.settle()
    expect(await env.schedules.list()).toMatchObject([
      { started: 2, lastError: { message: expect.stringContaining('another one took over') } },
    ])
    expect(await started(env, '2h')).toBe(2)
    expect((await env.schedules.list())[0]).not.toHaveProperty('lastError')
  })

  it('make up for what they missed since their run failed, as after an outage', async () => {
    const failing = workflow(SCHEDULE_WORKFLOW, async (ctx, state: object) => {
      ctx.progress({ ...state, lastDue: ctx.now() })
      await ctx.sleep('next', '1h')
      throw new Error('as 0.1.0 did')
    })
    const env = await testEnv({ workflows: [report, failing] })
    await env.schedules.sync([hourly])
    await env.advance('210m')
    expect(await env.client.get('schedule.tick')).toMatchObject({ status: 'failed' })
    await env.restart(CODE)
    await env.schedules.sync([hourly])
    await env.advance('30m')
    const { runs } = await env.client.list({ workflow: 'report' })
    expect(runs.map(({ createdAt }) => new Date(createdAt).toISOString().slice(11, 16))).toEqual(['04:00', '03:30'])
  })

  it('go on when their run was parked by code that did not fit it', async () => {
    let fits = true
    const body = CODE.at(-1)!.body
    const changing = workflow(SCHEDULE_WORKFLOW, async (ctx, state) =>
      fits ? body(ctx, state) : ctx.sleep('something else', '1h'),
    )
    const env = await testEnv({ workflows: [report, changing] })
    await env.schedules.sync([hourly])
    await env.settle()
    fits = false
    await env.advance('1h')
    expect(await env.client.get('schedule.tick')).toMatchObject({ status: 'stuck' })
    expect(await env.schedules.list()).toMatchObject([
      { lastError: { message: expect.stringContaining('is stuck: ') } },
    ])
    fits = true
    await env.schedules.sync([hourly])
    await env.advance('1h')
    expect(await env.schedules.list()).toMatchObject([{ started: 2 }])
  })
})

describe('syncing schedules', () => {
  const checked = workflow('checked', { input: z.object({ day: z.string() }) }, async () => 'done')
  const invalid = schedule('invalid', { every: '1h' }, checked, { day: 1 } as never)

  it('syncs the others when one cannot be synced, and names each that could not', async () => {
    const taken = schedule('taken', { every: '1h' }, checked, { day: 'monday' })
    const env = await testEnv({ workflows: withSchedules([report], [invalid, taken, hourly]) })
    await env.schedules.sync([taken])
    const failing = withFaults(env, (call) => {
      if (call === 'store.deliver') throw new Error('the store is away')
    })
    const later = schedule('taken', { every: '2h' }, checked, { day: 'monday' })
    const error = await failing.sync([invalid, later, hourly]).then(
      () => undefined,
      (error: AggregateError) => error,
    )
    expect(error).toBeInstanceOf(AggregateError)
    expect(error!.errors).toHaveLength(2)
    expect(error!.message).toMatch(
      /'invalid': the input of schedule 'invalid' does not fit its schema; change what is listed here and try again\n[^']*\n? *'taken': the store is away$/s,
    )
    expect((await env.schedules.list()).map(({ name }) => name)).toEqual(['taken', 'tick'])
    await env.schedules.sync([later, hourly])
    await env.settle()
    expect(await env.schedules.list()).toMatchObject([{ name: 'taken', everyMs: 7_200_000 }, { name: 'tick' }])
  })

  it('refuses two of one name before anything is written', async () => {
    const env = await deployed()
    await expect(env.schedules.sync([other, hourly, often])).rejects.toThrow("two schedules are named 'tick'")
    expect(await env.schedules.list()).toEqual([])
    expect(await ownRuns(env)).toEqual([])
  })

  it('does not take an id that a run of another workflow has', async () => {
    const env = await deployed()
    await env.client.start(report, undefined, { id: 'schedule.tick' })
    const faulty = withFaults(env, async (call) => {
      if (call === 'store.create') await env.client.start(report, undefined, { id: 'schedule.tick.2' })
    })
    await expect(faulty.sync([hourly])).rejects.toThrow("'schedule.tick.2' has just ended, or is another workflow's")
    await env.schedules.sync([hourly])
    expect(await started(env, '2h')).toBe(2)
    expect(await ownRuns(env)).toEqual(['schedule.tick.3'])
  })

  it('does not end a run of another workflow that has the id', async () => {
    const sleeper = workflow('sleeper', async (ctx) => ctx.sleep('1d'))
    const env = await testEnv({ workflows: [...CODE, sleeper] })
    const faulty = withFaults(env, async (call) => {
      if (call === 'store.create') await env.client.start(sleeper, undefined, { id: 'schedule.tick' })
    })
    await expect(faulty.sync([hourly])).rejects.toThrow("is another workflow's")
    await env.schedules.sync([])
    expect(await env.schedules.list()).toEqual([])
    expect(await env.handle('schedule.tick').status()).toBe('sleeping')
  })

  it('leaves a later plan alone when it is held up with its own', async () => {
    const env = await deployed()
    await env.schedules.sync([hourly])
    await env.settle()
    const heldUp = withFaults(env, async (call) => {
      if (call === 'store.deliver') await env.schedules.sync([hourly])
      await env.settle()
    })
    await heldUp.sync([often])
    await env.settle()
    expect(await env.schedules.list()).toMatchObject([{ everyMs: 3_600_000 }])
  })

  it('leaves schedules alone that others have just added', async () => {
    const env = await deployed()
    const slow = withFaults(env, async (call) => {
      if (call === 'store.list') await env.schedules.sync([other])
    })
    await slow.sync([])
    expect(await ownRuns(env)).toEqual(['schedule.other'])
  })

  it('writes nothing when nothing has changed', async () => {
    const env = await deployed()
    await env.schedules.sync([hourly, other])
    await env.settle()
    const calls: string[] = []
    await withFaults(env, (call) => void calls.push(call)).sync([hourly, other])
    expect(calls.filter((call) => IS_WRITE.test(call))).toEqual([])
  })

  it('walks over no runs, however many there are', async () => {
    const env = await deployed()
    await env.schedules.sync([hourly])
    const reads: string[] = []
    const watched = withFaults(env, (call) => void reads.push(call))
    await watched.sync([hourly, other])
    await watched.sync([])
    await watched.list()
    expect(reads).not.toContain('store.list')
    const quiet: string[] = []
    await withFaults(env, (call) => void quiet.push(call)).sync([])
    expect(quiet).toEqual(['documents.list', 'documents.get'])
  })

  it('agrees with others that do it at the same time', async () => {
    const env = await deployed()
    for (const schedules of [[hourly, other], [often], [], [often, other]]) {
      await Promise.all(
        Array.from({ length: 5 }, () =>
          withFaults(env, () => new Promise((resolve) => setImmediate(resolve))).sync(schedules),
        ),
      )
      await env.settle()
      const plans = (list: readonly { name: string; everyMs?: number }[]) =>
        Object.fromEntries(list.map(({ name, everyMs }) => [name, everyMs]))
      expect(plans(await env.schedules.list())).toEqual(plans(schedules.map(({ plan }) => plan)))
      expect(await ownRuns(env)).toHaveLength(schedules.length)
    }
    expect(await started(env, '1h')).toBe(7)
  })

  it('does not start what was removed while it was held up', async () => {
    const env = await deployed()
    let isHeldUp = true
    const heldUp = withFaults(env, async (call) => {
      if (call !== 'store.create' || !isHeldUp) return
      isHeldUp = false
      await env.schedules.sync([])
    })
    await heldUp.sync([hourly])
    expect(await ownRuns(env)).toEqual([])
    expect(await started(env, '5h')).toBe(0)
  })
})
