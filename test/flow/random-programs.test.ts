import { expect, test } from 'vitest'
import { SeededRandom } from '../../sdk/base/random.ts'
import { limit, RetryableError, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { amount } from '../outside/amount.ts'

const A = limit('r-a', { concurrency: 2 })
const B = limit('r-b', { concurrency: 2, rate: 10, per: '1m' })

test.each(Array.from({ length: amount({ few: 3, many: 12 }) }, (_, i) => i))(
  'all runs end and no slot stays held, whatever users do: seed %i',
  async (seed) => {
    const random = new SeededRandom(`random ${seed}`)
    const some = (n: number) => Math.floor(random.next() * n)
    let epoch = 0
    const inside = new Map<string, number>()
    const most = new Map<string, number>()
    const during =
      (name: string, ms: number) =>
      async ({ signal }: { signal: AbortSignal }) => {
        const mine = epoch
        const key = `${name} ${mine}`
        inside.set(key, (inside.get(key) ?? 0) + 1)
        most.set(name, Math.max(most.get(name) ?? 0, inside.get(key)!))
        await new Promise<void>((resolve) => {
          env.clock.at(env.clock.now() + ms, resolve)
          signal.addEventListener('abort', () => resolve())
        })
        inside.set(key, inside.get(key)! - 1)
      }
    const one = workflow(
      'one',
      { concurrency: [{ limit: 2, key: (n: number) => `k${n % 3}` }, { limit: 3 }], priority: (n: number) => n % 2 },
      async (ctx, n: number) => {
        ctx.compensate('undo', during('a', 500), { limit: A })
        await ctx.step('x', during('a', 2_000), { limit: A })
        await ctx.sleep(5_000)
        await ctx.map('each', [1, 2, 3], (c) => c.step('y', during('a', 1_000), { limit: A }))
        return n
      },
    )
    const two = workflow('two', { rateLimit: { limit: 5, per: '1m' } }, async (ctx, n: number) =>
      ctx.step(
        'x',
        async ({ attempt, signal }) => {
          await during('b', 1_500)({ signal })
          if (n % 5 === 0 && attempt === 1) throw new RetryableError('429', { after: '20s', limit: B })
        },
        { limit: B },
      ),
    )
    const three = workflow('three', async (ctx, n: number) => {
      await ctx.race('which', {
        step: (c) => c.step('x', during('a', 3_000), { limit: A }),
        time: (c) => c.sleep(4_000),
      })
      await ctx.step('z', during('b', 100), { limit: B, cost: 2 })
      return n
    })
    const flows = [one, two, three]
    const env = await testEnv({ workflows: flows, seed })
    const ids: string[] = []
    const quiet = (promise: Promise<unknown>) => promise.catch(() => {})
    for (let i = 0; i < 60; i++) {
      const dice = some(20)
      const id = ids[some(ids.length || 1)]
      if (dice < 10) ids.push((await env.client.start(flows[some(3)]! as typeof one, i)).runId)
      else if (dice === 10 && id) await quiet(env.client.cancel(id))
      else if (dice === 11 && id) await quiet(env.client.terminate(id))
      else if (dice === 12) await quiet(env.client.pause({ workflow: ['one', 'two', 'three'][some(3)]! }))
      else if (dice === 13)
        for (const { scope } of await env.client.pauses())
          await quiet(env.client.resume(scope, { perSecond: 1 + some(20) }))
      else if (dice === 14)
        await quiet(env.client.limits.pause(['r-a', 'r-b', 'one:concurrency', 'two:rate'][some(4)]!))
      else if (dice === 15)
        for (const name of ['r-a', 'r-b', 'one:concurrency', 'two:rate']) await quiet(env.client.limits.resume(name))
      else if (dice === 16) {
        epoch++
        await env.restart()
      } else if (dice === 17 && id) await quiet(env.client.signal(id, 'look'))
      else await env.advance(some(20_000))
    }
    for (const { scope } of await env.client.pauses()) await quiet(env.client.resume(scope))
    for (const name of ['r-a', 'r-b', 'one:concurrency', 'two:rate']) await quiet(env.client.limits.resume(name))
    await env.advance('5h')
    const open = []
    for (const id of ids) {
      const { status, waitingFor } = await env.client.get(id)
      if (!['completed', 'cancelled', 'terminated'].includes(status)) open.push([id, status, waitingFor])
    }
    const left = (await env.client.limits.list()).flatMap(({ name, gates }) =>
      gates.filter(({ inside, waiting }) => inside > 0 || waiting.count > 0).map((gate) => ({ name, ...gate })),
    )
    expect({ open, left }).toEqual({ open: [], left: [] })
    expect(most.get('a') ?? 0).toBeLessThanOrEqual(2)
    expect(most.get('b') ?? 0).toBeLessThanOrEqual(2)
    expect(await env.client.pauses()).toEqual([])
  },
)
