import { expect, it, vi } from 'vitest'
import { counted } from '../../functions/counting.ts'
import { metrics } from '../../functions/metrics.ts'
import { countVisit } from '../../functions/outcome-metrics.ts'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import { Client, FatalError, Registry, RetryableError, signal, workflow } from '../../sdk/index.ts'
import { LocalWorld } from '../../sdk/worlds/local/world.ts'
import { PATIENCE_MS } from '../outside/patience.ts'

const CANARY = 'canary-4711'

/** Passes it around in every way there is, errors included. */
const leaky = workflow('leaky', async (ctx, input: { secret: string }) => {
  const { word } = await ctx.waitFor(signal<{ word: string }>('go'))
  ctx.progress({ word })
  let tries = 0
  await ctx.step(
    'look',
    () => {
      if (tries++ === 0) throw new RetryableError(`not yet, ${word}`, { after: 1 })
      return input.secret
    },
    { retry: { attempts: 2 } },
  )
  await ctx.step(`charge ${word}`, () => {
    throw new FatalError(`declined: ${word}`)
  })
})

it('what users pass around is in no metric', async () => {
  const local = new LocalWorld({ path: ':memory:', log: () => {} })
  const { world, take } = counted(local)
  const registry = new Registry([leaky])
  const client = new Client(world, registry)
  await client.start(leaky, { secret: CANARY }, { id: CANARY, tags: [CANARY] })
  const visit = async () => {
    const outcome = await runOnce(world, registry, CANARY, { lease: { owner: CANARY, ms: 30_000 } })
    countVisit(outcome, 5, take(CANARY))
  }
  await visit()
  await client.signal(CANARY, 'go', { word: CANARY })
  const failed = async () => {
    await visit()
    expect((await client.get(CANARY)).status).toBe('failed')
  }
  await vi.waitFor(failed, PATIENCE_MS)
  let lines = ''
  metrics.publish((line) => (lines += line))
  for (const name of ['StepRetries', 'StepFailures', 'ReplayLength', 'failed']) expect(lines).toContain(name)
  expect(lines).not.toContain(CANARY)
  local.close()
})
