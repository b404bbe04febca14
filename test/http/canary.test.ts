import { expect, test } from 'vitest'
import { localRoutes } from '../../functions/local/routes.ts'
import { RetryableError, signal, workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'
import { Collector } from '../tracing/collector.ts'
import { createApp } from './by-the-document.ts'

const CANARY = 'canary-4711'

/** Passes it around in every way there is, but for its errors, which say what their authors have them say. */
const leaky = workflow('leaky', async (ctx, input: { secret: string }) => {
  let tries = 0
  const seen = await ctx.step(
    'look',
    async ({ checkpoint, heartbeat }) => {
      await checkpoint({ half: input.secret })
      await heartbeat({ at: input.secret })
      if (tries++ === 0) throw new RetryableError('not yet', { after: 1 })
      return { found: input.secret }
    },
    { retry: { attempts: 3 } },
  )
  ctx.progress({ seen })
  ctx.log.info('looked')
  await ctx.map('each', [input.secret], (each, item) => each.step('work', () => item))
  const word = await ctx.waitFor(signal<{ word: string }>('go'))
  await ctx.run(child, word)
  return word
})
const child = workflow('child', async (_ctx, word: unknown) => word)

test('what users pass around is in no list, line of the log, metric or span', async () => {
  await using collector = await Collector.open()
  const lines: unknown[] = []
  const local = await Local.open({
    ...{ path: ':memory:', workflows: [leaky, child], log: (...line) => void lines.push(line) },
    tracing: { endpoint: `${collector.url}/v1/traces` },
  })
  const app = createApp({
    client: local,
    local: { routes: localRoutes(local), mappings: [] },
    exposeStacks: true,
    log: (...line) => void lines.push(line),
  })
  await local.start(leaky, { secret: CANARY }, { id: 'r' })
  const read = async (path: string) => `${path} ${await (await app.request(path)).text()}`
  const told = [await read('/runs'), await read('/runs/r/why')]
  await local.signal('r', 'go', { word: CANARY })
  expect(await local.result('r')).toEqual({ word: CANARY })
  const paths = [
    '/runs',
    '/runs?status=completed',
    '/counts',
    '/incidents',
    '/metrics',
    '/workflows',
    '/workflows/leaky',
    '/schedules',
  ]
  for (const path of [...paths, '/runs/r/why', '/runs/r?payloads=omit', '/runs/r/history?payloads=omit'])
    told.push(await read(path))
  await local.close()
  for (const text of told) expect(text).not.toContain(CANARY)
  expect(JSON.stringify(lines)).toContain('looked')
  expect(JSON.stringify(lines)).not.toContain(CANARY)
  expect(collector.spans.length).toBeGreaterThan(5)
  for (const { body } of collector.requests) expect(body.includes(CANARY)).toBe(false)
})
