import { describe, expect, it } from 'vitest'
import { Client } from '../../sdk/client/client.ts'
import { FatalError, signal, workflow } from '../../sdk/index.ts'
import { hasEnded } from '../../sdk/ports/run.ts'
import { LocalCloud } from './local-cloud.ts'
import { NO_TROUBLE, type Trouble } from './trouble.ts'

const approved = signal<string>('approved')

/** Steps, parallel branches, a retry, a sleep, an until, a race, a signal, two children and a compensation, in one run. */
function referenceRun(trouble: Trouble) {
  const effects = new Map<string, number>()
  const effect = <T>(key: string, value?: T): T => {
    effects.set(key, (effects.get(key) ?? 0) + 1)
    return value as T
  }
  const child = workflow('child', async (ctx, n: number) => {
    const doubled = await ctx.step('double', ({ idempotencyKey }) => effect(idempotencyKey, n * 2))
    await ctx.sleep('think', '5m')
    return doubled
  })
  const slow = workflow('slow', async (ctx) => ctx.sleep('for long', '10d'))
  const reference = workflow('reference', async (ctx) => {
    const a = await ctx.step('a', ({ idempotencyKey }) => effect(idempotencyKey, 'A'))
    ctx.compensate('undo a', ({ idempotencyKey }) => void effect(idempotencyKey))
    const [b, c] = await Promise.all([
      ctx.step('b', ({ idempotencyKey }) => effect(idempotencyKey, 'B')),
      ctx.step(
        'c',
        ({ attempt, idempotencyKey }) => {
          effect(idempotencyKey)
          if (attempt < 3) throw new Error('flaky')
          return 'C'
        },
        { retry: { attempts: 3, initial: '1m', jitter: false } },
      ),
    ])
    await ctx.sleep('nap', '1h')
    await ctx.until('in stock', ({ round, idempotencyKey }) => effect(idempotencyKey, round >= 2), { every: '2m' })
    await ctx.race('slow or late', { slow: (c) => c.run(slow, undefined, { id: 'slow' }), late: (c) => c.sleep('1m') })
    const by = await ctx.waitFor(approved)
    const kid = await ctx.run(child, 21)
    try {
      await ctx.step('pay', ({ idempotencyKey }) => {
        effect(idempotencyKey)
        throw new FatalError('no money')
      })
    } catch (error) {
      await ctx.step('apologise', ({ idempotencyKey }) => effect(idempotencyKey, `${a}${b}${c} ${by} ${kid}`))
      throw error
    }
  })
  const cloud = new LocalCloud({ seed: 'reference', trouble, deployments: () => [[reference, child, slow]] })
  return { cloud, effects }
}

async function play(trouble: Trouble) {
  const { cloud, effects } = referenceRun(trouble)
  const world = cloud.observer()
  const client = new Client(world, cloud.workflows)
  await client.start('reference', undefined, { id: 'ref' })
  cloud.clock.at(cloud.clock.now() + 2 * 3_600_000, () => void client.signal('ref', approved, 'Ada'))
  const until = cloud.clock.now() + 86_400_000
  const isOver = async () => (await world.store.list({ limit: 10 })).runs.every(({ status }) => hasEnded(status))
  while (cloud.clock.now() < until && cloud.failures.length === 0 && !(await isOver())) await cloud.step()
  const { runs } = await world.store.list({ limit: 10 })
  const journals = Object.fromEntries(
    await Promise.all(
      runs.map(async ({ runId: id }) => {
        const events = (await world.store.frames(id)).flatMap((frame) => frame.events)
        // Times differ, because recovery takes some; what happened does not.
        return [
          id,
          events.map((event) =>
            JSON.stringify(event, (key, value: unknown) =>
              ['dt', 'until', 'stack', 'ms'].includes(key) ? undefined : value,
            ),
          ),
        ]
      }),
    ),
  )
  const records = await Promise.all(runs.map(async ({ runId: id }) => (await world.store.get(id))!))
  const results = records.map(({ id, status, output, error }) => ({ id, status, output, error: error?.message }))
  return { failures: cloud.failures, calls: cloud.calls, journals, results, effects }
}

describe('a crash before and after every store call of a reference run', () => {
  it('changes neither result nor journal; effects happen at least once, under one key (I3, I4, I5)', async () => {
    const clean = await play(NO_TROUBLE)
    expect(clean.results).toMatchObject([
      { id: 'ref.child', status: 'completed', output: 42 },
      { id: 'slow', status: 'cancelled' },
      { id: 'ref', status: 'failed', error: expect.stringContaining('no money') },
    ])
    expect(clean.calls).toBeGreaterThanOrEqual(20)
    let crashes = 0
    for (let call = 0; call < clean.calls; call++) {
      for (const when of ['before', 'after'] as const) {
        const crashed = await play({ ...NO_TROUBLE, crashAt: { call, when } })
        const where = `crash ${when} call ${call}`
        expect(crashed.failures, where).toEqual([])
        expect(crashed.results, where).toEqual(clean.results)
        expect(crashed.journals, where).toEqual(clean.journals)
        expect([...crashed.effects.keys()].sort(), where).toEqual([...clean.effects.keys()].sort())
        for (const [key, times] of crashed.effects)
          expect(times, `${where}: ${key}`).toBeGreaterThanOrEqual(clean.effects.get(key)!)
        crashes++
      }
    }
    expect(crashes).toBe(clean.calls * 2)
  })
})
