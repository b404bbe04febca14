import { beforeEach, describe, expect, it } from 'vitest'
import { workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'

let isMended = false
const numbers = new Set<string>()
beforeEach(() => {
  isMended = false
  numbers.clear()
})

interface Trip {
  isUndone: boolean
}

/** Books, and fails to pay as long as the cause is there. */
const trip = workflow('trip', { tags: ({ isUndone }) => [`undone:${isUndone}`] }, async (ctx, { isUndone }: Trip) => {
  numbers.add(ctx.uuid())
  await ctx.step('book', () => 'booked')
  if (isUndone) ctx.compensate('unbook', () => 'unbooked')
  return ctx.step(
    'pay',
    () => {
      if (!isMended) throw Object.assign(new Error('card declined'), { code: 'declined' })
      return 'paid'
    },
    { retry: { attempts: 1 } },
  )
})

async function envWith(undone: number, others: number) {
  const env = await testEnv({ workflows: [trip] })
  for (let i = 0; i < undone; i++) await env.start(trip, { isUndone: true }, { id: `undone-${i}` })
  for (let i = 0; i < others; i++) await env.start(trip, { isUndone: false }, { id: `other-${i}` })
  await env.settle()
  const [incident] = (await env.client.incidents()).incidents
  return { env, incident: incident!.fingerprint }
}

describe('retrying many runs, some of which have undone their steps', () => {
  it('promises only those that can go on, and says why the others cannot', async () => {
    const { env, incident } = await envWith(3, 2)
    expect(await env.client.wouldSteer({ action: 'retry', filter: { incident } })).toMatchObject({
      matches: 5,
      can: 2,
      refused: [
        {
          why: expect.stringContaining('have undone their steps (ctx.compensate)'),
          count: 3,
          runs: expect.arrayContaining(['undone-0']),
        },
      ],
    })
  })

  it('keeps to every other filter beside the incident', async () => {
    const { env, incident } = await envWith(3, 2)
    for (const [filter, matches] of [
      [{ tag: 'undone:false' }, 2],
      [{ idPrefix: 'undone-' }, 3],
      [{ workflow: 'else' }, 0],
      [{ status: 'stuck' as const }, 0],
    ] as const)
      expect(await env.client.wouldSteer({ action: 'retry', filter: { incident, ...filter } })).toMatchObject({
        matches,
      })
  })

  it('says afterwards how many were done and how many were refused', async () => {
    const { env, incident } = await envWith(3, 2)
    isMended = true
    const { runId } = await env.client.steerMany({ action: 'retry', filter: { incident } })
    expect(await env.skipUntil(env.client.result(runId))).toMatchObject({
      matched: 5,
      done: 2,
      skipped: 3,
      refused: [{ why: expect.stringContaining('have undone their steps'), count: 3 }],
    })
  })

  it('fails where none could be done: nothing looks as if all were well', async () => {
    const { env, incident } = await envWith(3, 0)
    const { runId } = await env.client.steerMany({ action: 'retry', filter: { incident } })
    const { status, error } = await env.skipUntil(env.client.settled(runId))
    expect([status, error!.message]).toEqual([
      'failed',
      expect.stringMatching(/none of the 3 runs was retried: 3 have undone their steps.*rerun/),
    ])
  })
})

describe('rerunning many runs', () => {
  it('starts each anew from its beginning, with numbers of its own, and leaves the first ones as they are', async () => {
    const { env, incident } = await envWith(3, 0)
    isMended = true
    const bulk = { action: 'rerun', filter: { incident } } as const
    expect(await env.client.wouldSteer(bulk)).toMatchObject({ matches: 3, can: 3, refused: [] })
    const { runId } = await env.client.steerMany(bulk)
    expect(await env.skipUntil(env.client.result(runId))).toMatchObject({ matched: 3, done: 3, failed: 0 })
    await env.settle()
    const { runs } = await env.client.list({ workflow: 'trip', status: 'completed' })
    expect(runs).toHaveLength(3)
    expect((await env.client.history(runs[0]!.runId))[1]).toMatchObject({
      type: 'run.rerun',
      of: expect.stringMatching(/^undone-/),
    })
    expect(numbers.size).toBe(6)
    expect((await env.client.list({ status: 'failed' })).runs).toHaveLength(3)
  })

  it('twice starts each once: the second time they are refused, with what was started for them', async () => {
    const { env, incident } = await envWith(2, 0)
    isMended = true
    const bulk = { action: 'rerun', filter: { incident } } as const
    await env.skipUntil(env.client.result((await env.client.steerMany(bulk)).runId))
    expect(await env.client.wouldSteer(bulk)).toMatchObject({
      matches: 2,
      can: 0,
      refused: [{ why: expect.stringContaining('have been rerun'), count: 2 }],
    })
    const again = await env.skipUntil(env.client.settled((await env.client.steerMany(bulk)).runId))
    expect([again.status, again.error!.message]).toEqual([
      'failed',
      expect.stringContaining('none of the 2 runs was rerun'),
    ])
    expect((await env.client.list({ workflow: 'trip' })).runs).toHaveLength(4)
  })

  it('killed halfway starts none twice, and counts each as done', async () => {
    const { env, incident } = await envWith(30, 0)
    isMended = true
    const { runId } = await env.client.steerMany({ action: 'rerun', filter: { incident }, perSecond: 10 })
    for (let kills = 0; kills < 4; kills++) {
      await env.advance('700ms')
      await env.restart()
    }
    expect(await env.skipUntil(env.client.result(runId))).toMatchObject({ matched: 30, done: 30, skipped: 0 })
    expect((await env.client.list({ workflow: 'trip', limit: 100 })).runs).toHaveLength(60)
  })

  it('from a step is refused to those that have undone what came before it', async () => {
    const { env, incident } = await envWith(2, 1)
    const bulk = { action: 'rerun', filter: { incident }, from: 'pay' } as const
    expect(await env.client.wouldSteer(bulk)).toMatchObject({
      can: 1,
      refused: [{ count: 2, why: expect.stringContaining('would take over work that was undone') }],
    })
    expect(await env.client.wouldSteer({ ...bulk, inheritUndone: true })).toMatchObject({ can: 3, refused: [] })
  })

  it.each([
    [{ filter: { workflow: 'trip' } }, 'give a status in which runs have ended'],
    [{ filter: { status: 'stuck' as const } }, 'retry them, or end them first'],
    [{ filter: { status: 'failed' as const }, from: '' }, 'from is empty'],
    [{ action: 'retry' as const, filter: { status: 'failed' as const }, from: 'pay' }, 'only a rerun takes'],
  ])('is refused before anything is started: %j', async (change, message) => {
    const { env } = await envWith(1, 0)
    await expect(env.client.steerMany({ action: 'rerun', ...change })).rejects.toThrow(message)
  })
})

describe('rerunning one run that has undone its steps', () => {
  it('from a step behind them is refused, with what would be taken over', async () => {
    const { env } = await envWith(1, 0)
    await expect(env.client.rerun('undone-0', { from: 'pay' })).rejects.toThrow(
      /has undone its steps \(unbook\).*would take over the results of book as if they still stood.*inheritUndone/,
    )
    expect((await env.client.list()).runs).toHaveLength(1)
  })

  it('is done where that is accepted, from a step before them, and from the beginning', async () => {
    const { env } = await envWith(1, 0)
    isMended = true
    for (const options of [{ from: 'pay', inheritUndone: true }, { from: 'book' }, {}])
      expect(await env.skipUntil(env.client.result((await env.client.rerun('undone-0', options)).runId))).toBe('paid')
  })

  it('that was cancelled is refused too', async () => {
    const stays = workflow('stays', async (ctx) => {
      await ctx.step('book', () => 1)
      ctx.compensate('unbook', () => 1)
      await ctx.step('check', () => 1)
      await ctx.sleep('stay', '1d')
    })
    const env = await testEnv({ workflows: [stays] })
    await env.start(stays, undefined, { id: 's' })
    await env.settle()
    await env.client.cancel('s')
    await env.settle()
    await expect(env.client.rerun('s', { from: 'check' })).rejects.toThrow('has undone its steps (unbook)')
  })
})
