import { describe, expect, it } from 'vitest'
import { define, handler } from '../../sdk/definitions/index.ts'
import { ConflictError, FatalError, workflow } from '../../sdk/index.ts'
import { type RunHandle, type TestEnv, testEnv } from '../../sdk/testing/index.ts'

const HOUR = 3_600_000
const ok = handler('ok', ({ item }) => item ?? 'ok')
const fail = handler('fail', () => {
  throw new FatalError('no')
})
const child = workflow('child', async (ctx) => ctx.sleep('1h'))
const make = (name: string, steps: object[]) => define({ name, steps }, { handlers: [ok, fail], workflows: [child] })

async function seen(env: TestEnv, run: Pick<RunHandle, 'runId'>): Promise<Record<string, string>> {
  await env.settle()
  return Object.fromEntries((await env.client.steps(run.runId)).map(({ name, status }) => [name, status]))
}

describe('the steps of a run, from outside', () => {
  it('go from pending to completed, each with its times', async () => {
    const w = make('w', [
      { type: 'task', name: 'first', handler: 'ok' },
      { type: 'wait', name: 'nap', durationMs: HOUR },
      { type: 'task', name: 'last', handler: 'ok' },
    ])
    const env = await testEnv({ workflows: [w] })
    const begun = env.clock.now()
    const later = await env.start(w, undefined, { delay: '1h' })
    expect(await seen(env, later)).toEqual({ first: 'PENDING', nap: 'PENDING', last: 'PENDING' })
    const run = await env.start(w, undefined)
    expect(await seen(env, run)).toEqual({ first: 'COMPLETED', nap: 'WAITING', last: 'PENDING' })
    await run.result()
    expect(await env.client.steps(run.runId)).toEqual([
      { name: 'first', type: 'task', after: [], status: 'COMPLETED', startedAt: begun, endedAt: begun },
      { name: 'nap', type: 'wait', after: ['first'], status: 'COMPLETED', startedAt: begun, endedAt: begun + HOUR },
      {
        name: 'last',
        type: 'task',
        after: ['nap'],
        status: 'COMPLETED',
        startedAt: begun + HOUR,
        endedAt: begun + HOUR,
      },
    ])
  })

  it('wait for signals and children too, and run while a body does or will be tried again', async () => {
    let release = () => {}
    const slow = handler('slow', () => new Promise<void>((resolve) => (release = resolve)))
    let isBroken = true
    const flaky = handler('flaky', () => {
      if (isBroken) throw new Error('not yet')
    })
    const steps = [
      { type: 'signal', name: 'ask', signal: 'answer', timeoutMs: HOUR, after: [] },
      { type: 'workflow', name: 'call', workflow: 'child', after: [] },
      { type: 'task', name: 'work', handler: 'slow', after: [] },
      { type: 'task', name: 'again', handler: 'flaky', retry: { initialMs: HOUR, jitter: false }, after: [] },
      { type: 'map', name: 'each', items: '[1, 2]', handler: 'ok', after: [] },
    ]
    const w = define({ name: 'w', steps }, { handlers: [slow, flaky, ok], workflows: [child] })
    const env = await testEnv({ workflows: [w, child] })
    const run = await env.start(w, undefined)
    expect(await seen(env, run)).toEqual({
      ask: 'WAITING',
      call: 'WAITING',
      work: 'RUNNING',
      again: 'RUNNING',
      each: 'COMPLETED',
    })
    const [ask, , , again] = await env.client.steps(run.runId)
    expect([ask!.wakeAt, again!.wakeAt]).toEqual([env.clock.now() + HOUR, env.clock.now() + HOUR])
    isBroken = false
    release()
    await run.signal('answer', 42)
    await run.result()
    expect(new Set(Object.values(await seen(env, run)))).toEqual(new Set(['COMPLETED']))
  })

  it('fail, and are skipped: after a failure, and on the other side of a branch', async () => {
    const w = make('w', [
      { type: 'task', name: 'bad', handler: 'fail', after: [] },
      { type: 'task', name: 'spared', handler: 'ok', after: 'bad', onParentFailure: 'skip' },
      { type: 'branch', name: 'which', condition: 'input.left', ifTrue: ['left'], ifFalse: ['right'], after: [] },
      { type: 'task', name: 'left', handler: 'ok' },
      { type: 'task', name: 'right', handler: 'ok' },
    ])
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, { left: false })
    await run.result()
    expect(await seen(env, run)).toEqual({
      bad: 'FAILED',
      spared: 'SKIPPED',
      which: 'COMPLETED',
      left: 'SKIPPED',
      right: 'COMPLETED',
    })
  })

  it('that were not done when the run was ended are failed or skipped, not left open', async () => {
    const w = make('w', [
      { type: 'wait', name: 'nap', durationMs: HOUR },
      { type: 'task', name: 'last', handler: 'ok' },
    ])
    const env = await testEnv({ workflows: [w] })
    const [terminated, cancelled] = [await env.start(w, undefined), await env.start(w, undefined)]
    await env.settle()
    await env.client.terminate(terminated.runId)
    await env.client.cancel(cancelled.runId)
    expect(await seen(env, terminated)).toEqual({ nap: 'FAILED', last: 'SKIPPED' })
    expect(await seen(env, cancelled)).toEqual({ nap: 'FAILED', last: 'SKIPPED' })
  })

  it('stand as they do after a failed run was let go on', async () => {
    let isBroken = true
    const flaky = handler('flaky', () => (isBroken ? Promise.reject(new FatalError('no')) : 'mended'))
    const steps = [
      { type: 'task', name: 'work', handler: 'flaky' },
      { type: 'wait', name: 'nap', durationMs: HOUR },
    ]
    const w = define({ name: 'w', steps }, { handlers: [flaky] })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await expect(run.result()).rejects.toThrow("step 'work' failed")
    expect(await seen(env, run)).toEqual({ work: 'FAILED', nap: 'SKIPPED' })
    isBroken = false
    await env.client.retry(run.runId)
    expect(await seen(env, run)).toEqual({ work: 'COMPLETED', nap: 'WAITING' })
  })

  it('are refused for a run of code, and for one that no longer fits its definition', async () => {
    const code = workflow('code', async () => 1)
    const before = make('w', [{ type: 'task', name: 'old', handler: 'ok' }])
    const env = await testEnv({ workflows: [code, before] })
    const run = await env.start(before, undefined)
    await run.result()
    const other = await env.start(code, undefined)
    await expect(env.client.steps(other.runId)).rejects.toThrow(ConflictError)
    await env.restart([make('w', [{ type: 'task', name: 'new', handler: 'ok' }])])
    await expect(env.client.steps(run.runId)).rejects.toThrow(/cannot be determined: .*step 'old'/)
  })
})
