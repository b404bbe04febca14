import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { LocalServer } from '../../functions/local/serve.ts'
import { OverwinterClient } from '../../sdk/http-client/index.ts'
import { workflow } from '../../sdk/index.ts'
import { Local } from '../../sdk/local.ts'
import { serveLocal } from '../http/by-the-document.ts'
import { Collector } from '../tracing/collector.ts'
import { readSpans } from '../tracing/otlp-reader.ts'
import { overwinter, Project } from './fixture.ts'

const greet = workflow('greet', async (ctx, name: string) => ctx.step('say', () => `CANARY for ${name}`))
const loop = workflow('loop', async (ctx, left: number): Promise<number> => {
  await ctx.step('count', () => left)
  return left > 0 ? ctx.continueAsNew(left - 1) : left
})
const CALLER = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

let traced: Collector
let local: Local
let server: LocalServer
beforeAll(async () => {
  traced = await Collector.open()
  local = await Local.open({
    path: ':memory:',
    workflows: [greet, loop],
    log: () => {},
    tracing: { endpoint: `${traced.url}/v1/traces` },
  })
  server = await serveLocal({ local, port: 0 })
  await new OverwinterClient({ url: server.url }).startAndSettle(greet, 'CANARY', {
    id: 'greet-1',
    traceparent: CALLER,
  })
  await local.startAndSettle(loop, 2, { id: 'loop-1' })
  await traced.until((spans) => spans.filter(({ name }) => name === 'run completed').length === 2)
})
afterAll(async () => {
  await server.close(10)
  await local.close(10)
  await traced[Symbol.asyncDispose]()
})

const cli = (...args: string[]) => overwinter(['trace', ...args, '--url', server.url])
const known = (traceId: string) => traced.spans.filter((span) => span.traceId === traceId)

describe('overwinter trace', () => {
  test("prints a run's spans as OTLP's JSON, without any payload, and says how many there are", async () => {
    const { code, stdout, stderr } = await cli('greet-1')
    expect(code).toBe(0)
    const { resourceSpans } = JSON.parse(stdout)
    const [root, step] = resourceSpans[0].scopeSpans[0].spans
    expect([root.name, root.links[0].traceId, step.name, step.parentSpanId]).toEqual([
      'greet',
      CALLER.slice(3, 35),
      'say',
      root.spanId,
    ])
    expect(stdout).not.toContain('CANARY')
    expect(stderr).toContain(`3 spans of run greet-1, trace ${root.traceId}`)
  })

  test('sends the very spans that left when the run ran, of the last generation where there are several', async () => {
    for (const runId of ['greet-1', 'loop-1']) {
      await using collector = await Collector.open()
      const { code, stdout } = await cli(runId, '--endpoint', collector.url)
      expect([code, stdout]).toEqual([
        0,
        expect.stringMatching(new RegExp(`^3 spans of run ${runId}, trace [0-9a-f]{32}, sent to http`)),
      ])
      expect(collector.requests[0]!.path).toBe('/v1/traces')
      expect(collector.spans).toEqual(known(collector.spans[0]!.traceId))
    }
  })

  test('writes them to a file, in the binary form if its name says so', async () => {
    using project = new Project({})
    const out = project.path('trace.pb')
    expect((await cli('greet-1', '--out', out, '--json')).stdout).toMatch(
      /^\{"runId":"greet-1","traceId":"[0-9a-f]{32}","spans":3\}\n$/,
    )
    expect(readSpans(readFileSync(out)).map(({ name }) => name)).toEqual(['greet', 'say', 'run completed'])
  })

  test('says what is wrong with the run, or with where the spans should go', async () => {
    expect(await cli('greet-2')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no run greet-2; 1 run starts with greet-'),
    })
    expect(await cli('greet-1', '--endpoint', 'collector')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("'collector' is not the URL of an OTLP endpoint"),
    })
    await using collector = await Collector.open()
    collector.status = 400
    expect(await cli('greet-1', '--endpoint', collector.url)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/could not be sent to .*answered 400.* 0 of 3 were taken/),
    })
  })
})
