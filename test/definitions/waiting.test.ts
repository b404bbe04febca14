import { describe, expect, it } from 'vitest'
import { lifecycleOf } from '../../functions/lifecycle-events.ts'
import { dag, define, findProblems, findWarnings, handler } from '../../sdk/definitions/index.ts'
import { interpret } from '../../sdk/definitions/interpret.ts'
import type { Definition } from '../../sdk/definitions/schema.ts'
import { workflow } from '../../sdk/index.ts'
import { type TestEnv, testEnv } from '../../sdk/testing/index.ts'

const MINUTE = 60_000
const DAY = 86_400_000
const NOTHING = { handlers: new Set<string>(), workflows: new Set<string>() }
const say = handler('say', () => 'said')
const naps = define(
  {
    name: 'naps',
    steps: [
      { type: 'wait', name: 'nap', durationMs: MINUTE },
      { type: 'task', name: 'say', handler: 'say' },
    ],
  },
  { handlers: [say] },
)

const statuses = async (env: TestEnv, runId: string) => {
  await env.settle()
  return Object.fromEntries((await env.client.steps(runId)).map(({ name, status }) => [name, status]))
}

describe('a wait', () => {
  it('uses no worker: nothing is claimed or running until it is over', async () => {
    const env = await testEnv({ workflows: [naps] })
    const run = await env.start(naps, undefined)
    const before = await run.get()
    expect(before).toMatchObject({ status: 'sleeping', wakeAt: env.clock.now() + MINUTE })
    await env.advance('59s')
    const frames = (await env.store.frames(run.runId)).length
    expect(await env.store.get(run.runId)).toMatchObject({ status: 'sleeping', epoch: 1 })
    await run.result()
    expect((await env.store.frames(run.runId)).length).toBeGreaterThan(frames)
  })

  it('is started and completed in the history, with when it will end', async () => {
    const env = await testEnv({ workflows: [naps] })
    const begun = env.clock.now()
    const run = await env.start(naps, undefined)
    await run.result()
    const history = await run.history()
    expect(history.slice(1, 3)).toMatchObject([
      { type: 'sleep.started', id: 'nap', until: begun + MINUTE, ms: MINUTE, at: begun },
      { type: 'sleep.completed', id: 'nap', at: begun + MINUTE },
    ])
  })

  it.each([
    ['nothing', 0],
    ['less than nothing', -1],
    ['more than 365 days', 365 * DAY + 1],
  ])('of %s is refused, as data and in the builder', (_what, durationMs) => {
    expect(findProblems({ name: 'w', steps: [{ type: 'wait', name: 'nap', durationMs }] }, NOTHING)).toMatchObject([
      { path: '$.steps[0].durationMs' },
    ])
    expect(() => dag('w').sleep('nap', durationMs)).toThrow(/positive|365 days/)
  })

  it('that nothing comes after is warned of, and so is a step that follows nothing where others do', () => {
    const say = (name: string, after?: string) => ({
      type: 'task' as const,
      name,
      lambda: 'say',
      ...(after !== undefined && { after }),
    })
    const nap = (after?: string) => ({
      type: 'wait' as const,
      name: 'nap',
      durationMs: 1_000,
      ...(after !== undefined && { after }),
    })
    const warned = (...steps: Parameters<typeof findWarnings>[0]['steps']) =>
      findWarnings({ name: 'w', steps }).map(({ path, message }) => `${path} ${message.slice(0, 30)}`)
    expect(warned(say('a'), nap(), say('b'))).toEqual([])
    expect(warned(say('a'), say('b'), nap())).toEqual(['$.steps[2] nothing comes after this wait,'])
    expect(warned(say('a'), nap('a'), say('b', 'nap'))).toEqual([])
    // What the author meant: nap, then b. What was written: b at once.
    expect(warned(say('a'), nap('a'), say('b'))).toEqual([
      '$.steps[1] nothing comes after this wait,',
      '$.steps[2] says nothing of what it comes ',
    ])
  })

  it('of 365 days is fine, and over 30 days warned of: when it is defined, and in the log when it begins', async () => {
    const year = { name: 'year', steps: [{ type: 'wait' as const, name: 'nap', durationMs: 365 * DAY }] }
    expect(findProblems(year, NOTHING)).toEqual([])
    expect(findWarnings(year)).toEqual([{ path: '$.steps[0].durationMs', message: 'is longer than 30 days' }])
    expect(findWarnings({ name: 'month', steps: [{ type: 'wait', name: 'nap', durationMs: 30 * DAY }] })).toEqual([])
    const w = define(year)
    const env = await testEnv({ workflows: [w] })
    await (await env.start(w, undefined)).result()
    expect(env.logs).toMatchObject([{ level: 'warn', message: "sleep 'nap' is longer than 30 days" }])
  })

  it('with neither duration nor timestamp is refused, and fails its step if it ever gets to run', async () => {
    const timeless: Definition = { name: 'timeless', steps: [{ type: 'wait', name: 'nap' }] }
    expect(() => define(timeless)).toThrow("$.steps[0]: give either 'durationMs' or 'untilTimestamp'")
    const unchecked = workflow('timeless', (ctx, input) =>
      interpret(ctx, timeless, input, { handlers: new Map(), workflows: new Map() }),
    )
    const env = await testEnv({ workflows: [unchecked] })
    await expect((await env.start(unchecked, undefined)).result()).rejects.toThrow(
      "wait 'nap' has neither durationMs nor untilTimestamp",
    )
  })

  it('until a time that has passed is over at once', async () => {
    const w = define({ name: 'w', steps: [{ type: 'wait', name: 'past', untilTimestamp: '2020-04-15T09:00:00.000Z' }] })
    const env = await testEnv({ workflows: [w] })
    const before = env.clock.now()
    const run = await env.start(w, undefined)
    await run.get()
    expect(await run.status()).toBe('completed')
    expect(env.clock.now()).toBe(before)
  })

  it('ends once: wake-ups that come twice, or late, change nothing', async () => {
    const env = await testEnv({ workflows: [naps] })
    const run = await env.start(naps, undefined)
    await run.get()
    await env.client.wake(run.runId, { idempotencyKey: 'resume' })
    await env.client.wake(run.runId, { idempotencyKey: 'resume' })
    await run.result()
    await env.client.wake(run.runId, { idempotencyKey: 'resume' })
    expect(await env.store.claim(run.runId, { owner: 'late', ms: 1_000 })).toBeUndefined()
    expect((await run.history()).map(({ type }) => type)).toEqual([
      'run.started',
      'sleep.started',
      'sleep.completed',
      'step.completed',
      'run.completed',
    ])
  })

  it('is told to the outside: the run paused, then the step completed after a wait', async () => {
    const env = await testEnv({ workflows: [naps] })
    const run = await env.start(naps, undefined)
    await run.result()
    const told = (await env.store.frames(run.runId)).flatMap(lifecycleOf)
    expect(told).toMatchObject([
      { type: 'run.paused', waitingFor: [{ kind: 'sleep', id: 'nap' }] },
      { type: 'step.completed', step: 'nap', resumedFromWait: true },
      { type: 'step.completed', step: 'say', resumedFromWait: false },
      { type: 'run.completed' },
    ])
  })
})

describe('a pause within a step', () => {
  it('keeps the step running, and goes on where it was', async () => {
    const twoHalves = handler('halves', async ({ lastCheckpoint, pause }) =>
      lastCheckpoint === 'half' ? 'whole' : pause('rest', '1h', 'half'),
    )
    const w = define(
      { name: 'w', steps: [{ type: 'task', name: 'work', handler: 'halves' }] },
      { handlers: [twoHalves] },
    )
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    expect(await statuses(env, run.runId)).toEqual({ work: 'RUNNING' })
    expect(await env.client.steps(run.runId)).toMatchObject([{ wakeAt: env.clock.now() + 3_600_000 }])
    expect((await run.get()).waitingFor).toMatchObject([{ kind: 'pause', id: 'work' }])
    expect(await run.result()).toMatchObject({ outputs: { work: 'whole' } })
  })
})
