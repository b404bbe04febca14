import { describe, expect, test } from 'vitest'
import type { Client } from '../../sdk/client/client.ts'
import { Registry, workflow } from '../../sdk/index.ts'
import { slowCloud } from '../outside/slow-cloud.ts'

const LEASE_MS = 31_000
/** More than a runner makes here. */
const MOST_CALLS = 12

const child = workflow('child', async () => 'grown')
const parent = workflow('parent', async (ctx) => {
  await ctx.step('before', () => 1)
  return ctx.run(child, undefined)
})

/** What may happen to a run between the runner that died and the one that could make up for it. */
const between: Record<string, (it: ReturnType<typeof slowCloud>, client: Client, runId: string) => Promise<unknown>> = {
  'one that does not have its code': async ({ take }, client, runId) =>
    take(client, runId, { workflows: new Registry([child]) }),
  'three that die before they get anywhere': async ({ open, take, wait }, _, runId) => {
    for (let i = 0; i < 3; i++) {
      await Promise.race([
        take(
          open((nth) => nth === 1),
          runId,
        ),
        wait(1_000),
      ])
      await wait(LEASE_MS)
    }
  },
  'one that parks it, and somebody who retries it': async ({ take }, client, runId) => {
    if ((await take(client, runId, { mostDeaths: 0 })).status === 'stuck') await client.retry(runId)
  },
  'one that finds its workflow paused': async ({ take, wait }, client, runId) => {
    await client.pause({ workflow: 'parent' })
    await take(client, runId)
    await client.resume({ workflow: 'parent' })
    await wait(60_000)
  },
}

describe.each(Object.keys(between))('a runner dies after a call, and then comes %s', (name) => {
  test('whatever the journal says was started is started', async () => {
    for (let last = 1; last <= MOST_CALLS; last++) {
      const it = slowCloud([parent, child], `dies after ${last}`)
      const client = it.open()
      const { runId } = await client.start(parent)
      await Promise.race([
        it.take(
          it.open((nth) => nth === last),
          runId,
        ),
        it.wait(10_000),
      ])
      await it.wait(LEASE_MS)
      await between[name]!(it, client, runId)
      for (let visits = 0; visits < 6; visits++) {
        await it.wait(LEASE_MS)
        await it.take(client, runId)
        for (const { runId: id } of (await client.list({ workflow: 'child' })).runs) await it.take(client, id)
      }
      const run = await client.get(runId)
      it.stop()
      expect(run, `died after call ${last}`).toMatchObject({ status: 'completed', output: 'grown' })
    }
  })
})
