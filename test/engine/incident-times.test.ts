import { describe, expect, it } from 'vitest'
import { incidentsOf } from '../../sdk/bulk/incidents.ts'
import { workflow } from '../../sdk/index.ts'
import type { RunSummary } from '../../sdk/ports/run-lists.ts'
import { testEnv } from '../../sdk/testing/index.ts'

/** Sleeps for a day, and is stuck then: it awaits what is no operation of ctx. */
const gone = workflow('gone', async (ctx) => {
  await ctx.sleep('day', '1d')
  await new Promise(() => {})
})
const broken = workflow('broken', async (ctx, { message, code }: { message: string; code?: string }) =>
  ctx.step(
    'pay',
    () => {
      throw Object.assign(new Error(message), code === undefined ? {} : { code })
    },
    { retry: { attempts: 1 } },
  ),
)

describe('incidents', () => {
  it('of stuck runs are of the time when they got stuck, not of their start', async () => {
    const env = await testEnv({ workflows: [gone] })
    await env.start(gone, undefined, { id: 'g' })
    await env.advance('2d')
    const { createdAt, stuckAt, status } = await env.client.get('g')
    expect([status, stuckAt! - createdAt >= 86_400_000]).toEqual(['stuck', true])
    const [incident] = (await env.client.incidents()).incidents
    expect(incident).toMatchObject({ firstAt: stuckAt, lastAt: stuckAt })
    expect((await env.client.list()).runs[0]).toMatchObject({ stuckAt })
    await env.client.retry('g')
    await env.advance('1h')
    expect((await env.client.get('g')).stuckAt).toBeGreaterThan(stuckAt!)
  })

  it('since a moment are those of runs that failed or got stuck from then on, whenever they began', async () => {
    const env = await testEnv({ workflows: [gone, broken] })
    await env.start(gone, undefined, { id: 'g' })
    await env.start(broken, { message: 'before' }, { id: 'b' })
    await env.advance('1h')
    const deployedAt = env.now().getTime()
    await env.advance('2d')
    await env.start(broken, { message: 'after' }, { id: 'a' })
    await env.settle()
    const since = async (at: number) =>
      (await env.client.incidents({ since: at })).incidents.flatMap(({ runs }) => runs).sort()
    expect(await since(0)).toEqual(['a', 'b', 'g'])
    expect(await since(deployedAt)).toEqual(['a', 'g'])
    expect(
      await env.client.wouldSteer({ action: 'retry', filter: { status: 'failed', since: deployedAt } }),
    ).toMatchObject({ runs: ['a'] })
  })

  it('with one code are one, whatever their messages say; other codes are others', async () => {
    const env = await testEnv({ workflows: [broken] })
    const words = ['insufficient funds', 'do not honour', 'lost card']
    for (const message of words) await env.start(broken, { message, code: 'card_declined' })
    await env.start(broken, { message: words[0]!, code: 'card_expired' })
    await env.settle()
    const { incidents } = await env.client.incidents()
    expect(incidents.map(({ code, count }) => [code, count])).toEqual([
      ['card_declined', 3],
      ['card_expired', 1],
    ])
  })

  it('that earlier versions stored by their messages are together with those of today, and are found by either id', async () => {
    const run = (runId: string, incident: object): RunSummary =>
      ({
        runId,
        workflow: 'w',
        status: 'failed',
        createdAt: 1,
        endedAt: 2,
        error: { name: 'Error', message: '', incident },
      }) as unknown as RunSummary
    const stored = { name: 'Error', code: 'declined', step: 'pay' }
    const runs = [
      run('one', { ...stored, id: 'earlier-1', says: 'no funds' }),
      run('two', { ...stored, id: 'earlier-2', says: 'lost card' }),
    ]
    const list = ({ status }: { status?: string }) => Promise.resolve({ runs: status === 'failed' ? runs : [] })
    const { incidents } = await incidentsOf({ list })
    expect(incidents).toMatchObject([{ count: 2, runs: ['one', 'two'] }])
  })
})
