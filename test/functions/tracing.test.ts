import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { counted } from '../../functions/counting.ts'
import { METRIC, metrics } from '../../functions/metrics.ts'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import { Client, Registry, workflow } from '../../sdk/index.ts'
import { LocalWorld } from '../../sdk/local.ts'
import type { AwsWorld } from '../../sdk/worlds/aws/world.ts'
import { Collector } from '../tracing/collector.ts'

const greet = workflow('greet', async (ctx, name: string) => ctx.step('say', () => `hello ${name}`))
const registry = new Registry([greet])

let collector: Collector
beforeEach(async () => {
  collector = await Collector.open()
  vi.stubEnv('AWS_REGION', 'eu-north-1')
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKID')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret')
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await collector[Symbol.asyncDispose]()
})

const published = (): Record<string, unknown>[] => {
  const lines: string[] = []
  metrics.publish((line) => void lines.push(line))
  return lines.map((line) => JSON.parse(line))
}

/** One visit, as the runner makes it: the world behind it is another, which spans know nothing of. */
async function visit(traced: (world: AwsWorld) => { world: AwsWorld; flush?: () => Promise<void> }, log = () => {}) {
  const local = new LocalWorld({ path: ':memory:', log })
  const { world, flush } = traced(local as unknown as AwsWorld)
  const { runId } = await new Client(local, registry).start(greet, 'Ada')
  const outcome = await runOnce(world, registry, runId, { lease: { owner: 'me', ms: 10_000 } })
  await flush?.()
  local.close()
  return { outcome, runId }
}

it('spans for CloudWatch are signed for X-Ray', async () => {
  vi.stubEnv('AWS_ENDPOINT_URL_XRAY', collector.url)
  const { traced } = await import('../../functions/cloudwatch-tracing.ts')
  expect((await visit(traced)).outcome).toEqual({ status: 'completed' })
  expect(collector.requests).toHaveLength(1)
  const [{ path, headers }] = collector.requests as [(typeof collector.requests)[0]]
  expect(path).toBe('/v1/traces')
  expect(headers['content-type']).toBe('application/x-protobuf')
  expect(headers.authorization).toMatch(
    /^AWS4-HMAC-SHA256 Credential=AKID\/\d{8}\/eu-north-1\/xray\/aws4_request, SignedHeaders=\S*content-type/,
  )
  expect(collector.spans.map(({ name }) => name)).toEqual(['greet', 'say', 'run completed'])
  expect(published()).toEqual([])
})

it('spans that CloudWatch refuses are counted, and the run has completed all the same', async () => {
  vi.stubEnv('AWS_ENDPOINT_URL_XRAY', collector.url)
  collector.status = 503
  const { traced } = await import('../../functions/cloudwatch-tracing.ts')
  expect((await visit(traced)).outcome).toEqual({ status: 'completed' })
  expect(collector.requests).toHaveLength(1)
  expect(published()).toMatchObject([{ [METRIC.droppedSpans]: 3 }])
})

it('an endpoint that is none is said once, and runs go on', async () => {
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', 'collector')
  const said = vi.fn()
  const { traced } = await import('../../functions/otlp-tracing.ts')
  expect((await visit(traced, said)).outcome).toEqual({ status: 'completed' })
  expect(said).toHaveBeenCalledExactlyOnceWith(
    'error',
    expect.stringMatching(/^there will be no traces: OTEL_EXPORTER_OTLP_ENDPOINT is 'collector'/),
    {},
  )
})

it('a visit counts what it replayed, and the steps that failed or are tried again', async () => {
  let attempts = 0
  const shaky = workflow('shaky', async (ctx) => {
    await ctx.step('first', () => 1)
    const once = { retry: { attempts: 3, initial: '1h' } } as const
    await ctx.step('second', () => (++attempts < 2 ? Promise.reject(new Error('CANARY')) : 2), once)
    await ctx.step('third', () => Promise.reject(new Error('CANARY')), { retry: { attempts: 1 } }).catch(() => {})
  })
  let now = Date.UTC(2026, 0, 1)
  const clock = { now: () => now, at: () => () => {} }
  const local = new LocalWorld({ path: ':memory:', log: () => {}, clock })
  const { world, take } = counted(local)
  const known = new Registry([shaky])
  const { runId } = await new Client(local, known).start(shaky)
  const options = { lease: { owner: 'me', ms: 10_000 } }
  await runOnce(world, known, runId, options)
  expect(take(runId)).toEqual({ workflow: 'shaky', replayed: 0, retries: 1, failures: 0 })
  now += 3 * 3_600_000
  await runOnce(world, known, runId, options)
  expect(take(runId)).toEqual({ workflow: 'shaky', replayed: 2, retries: 0, failures: 1 })
  expect(take(runId)).toBeUndefined()
  local.close()
})
