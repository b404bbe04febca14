import { AsyncLocalStorage } from 'node:async_hooks'
import { type Context, context, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { signal, workflow } from '../../sdk/index.ts'
import { Local, type LocalOptions } from '../../sdk/local.ts'
import { spansOf } from '../../sdk/views/spans.ts'
import { shroud } from '../codec/shroud.ts'
import { Collector } from './collector.ts'

const hello = workflow('hello', async (ctx, name: string) => {
  const text = await ctx.step('greet', () => `hello ${name}`)
  return text
})

let collector: Collector
let dropped: number
beforeEach(async () => {
  collector = await Collector.open()
  dropped = 0
})
afterEach(() => collector[Symbol.asyncDispose]())

const open = (options: Pick<LocalOptions, 'workflows'> & Partial<LocalOptions>) =>
  Local.open({
    path: ':memory:',
    log: () => {},
    tracing: { endpoint: `${collector.url}/v1/traces`, onDropped: (count) => (dropped += count) },
    ...options,
  })
const names = () => collector.spans.map(({ name }) => name)
const spanNamed = (name: string) => collector.spans.find((span) => span.name === name)!

describe('tracing', () => {
  it('sends what a visit has committed, when it is over', async () => {
    await using local = await open({ workflows: [hello] })
    const run = await local.start(hello, 'Ada')
    await run.result()
    await local.close()
    expect(names()).toEqual(['hello', 'greet', 'run completed'])
    expect(collector.requests[0]).toMatchObject({
      path: '/v1/traces',
      headers: { 'content-type': 'application/x-protobuf' },
    })
  })

  it('has the spans that can be worked out from the history afterwards', async () => {
    await using local = await open({ workflows: [hello] })
    const { runId } = await local.start(hello, 'Ada')
    await local.result(runId)
    const run = (await local.world.store.get(runId))!
    const later = spansOf({ ...run, runId, begunAt: run.startedAt! }, await local.world.store.frames(runId))
    await local.close()
    const [told, worked] = [collector.spans, later].map((spans) =>
      spans.map(({ traceId, spanId, name, startMs }) => ({ traceId, spanId, name, startMs })),
    )
    expect(told).toEqual(worked)
  })

  it('tells of runs by the environment, as OpenTelemetry has it, and only if it names an endpoint', async () => {
    const before = { ...process.env }
    try {
      process.env.OTEL_EXPORTER_OTLP_ENDPOINT = `${collector.url}/base/`
      process.env.OTEL_EXPORTER_OTLP_HEADERS = 'x-key=a%20b,broken, x-other = 2'
      const local = await open({ workflows: [hello], tracing: true })
      await (await local.start(hello, 'Ada')).result()
      await local.close()
      expect(collector.requests[0]).toMatchObject({
        path: '/base/v1/traces',
        headers: { 'x-key': 'a b', 'x-other': '2' },
      })
      delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT
      const quiet = await open({ workflows: [hello], tracing: true })
      await (await quiet.start(hello, 'Ada')).result()
      await quiet.close()
      expect(collector.requests).toHaveLength(1)
      process.env.OTEL_EXPORTER_OTLP_ENDPOINT = 'collector'
      await expect(open({ workflows: [hello], tracing: true })).rejects.toThrow(
        /OTEL_EXPORTER_OTLP_ENDPOINT is 'collector', which is not the URL of an OTLP endpoint\. Set it/,
      )
    } finally {
      process.env = before
    }
  })

  it('links a generation to the one before it, and a child to its parent', async () => {
    const child = workflow('child', async () => 1)
    const loop = workflow('loop', async (ctx, left: number): Promise<string> => {
      if (left > 0) return ctx.continueAsNew(left - 1)
      await ctx.run(child, undefined)
      return 'over'
    })
    const local = await open({ workflows: [loop, child] })
    await (await local.start(loop, 2)).result()
    await local.close()
    const roots = collector.spans.filter(({ name }) => name === 'loop')
    const ends = collector.spans.filter(({ name }) => name === 'run continued')
    expect(new Set(roots.map(({ traceId }) => traceId)).size).toBe(3)
    expect(roots.map(({ links }) => links)).toEqual([[], ...ends.map(({ traceId, spanId }) => [{ traceId, spanId }])])
    expect(ends.map(({ links }) => links)).toEqual(roots.slice(1).map(({ traceId, spanId }) => [{ traceId, spanId }]))
    const began = spanNamed('child child begins')
    expect(spanNamed('child').links).toEqual([{ traceId: began.traceId, spanId: began.spanId }])
  })

  it('has nothing of what runs work with in any span, also of what signals and errors bring', async () => {
    const answer = signal<string>('answer')
    const ask = workflow('ask', async (ctx, input: string) => {
      await ctx.waitFor(answer)
      await ctx.step('fail', () => Promise.reject(new Error(`'${input}' is not there`)), { retry: { attempts: 1 } })
    })
    const local = await open({ workflows: [ask] })
    const run = await local.start(ask, 'CANARY')
    await local.signal(run.runId, answer, 'CANARY')
    await run.result().catch(() => {})
    await local.close()
    expect(names()).toContain('run failed')
    for (const { body } of collector.requests) expect(body.includes('CANARY')).toBe(false)
  })

  it('has of errors only what is stored where a codec hides them', async () => {
    const fail = workflow('fail', (ctx) =>
      ctx.step('fail', () => Promise.reject(new Error('CANARY is not there')), { retry: { attempts: 1 } }),
    )
    const local = await open({ workflows: [fail], codec: shroud().codec })
    await (await local.start(fail)).result().catch(() => {})
    await local.close()
    expect(names()).toContain('run failed')
    for (const { body } of collector.requests) expect(body.includes('CANARY')).toBe(false)
  })

  it.each([
    ['is down', async () => collector[Symbol.asyncDispose]()],
    ['refuses', async () => void (collector.status = 400)],
    ['never answers', async () => void (collector.status = undefined)],
  ])('drops and counts spans when the endpoint %s, and says so; no run fails or waits for it', async (_, break_) => {
    const said: string[] = []
    await break_()
    const local = await open({ workflows: [hello], log: (_level, message) => said.push(message) })
    expect(await (await local.start(hello, 'Ada')).result()).toBe('hello Ada')
    await local.close()
    expect(dropped).toBe(3)
    expect(said).toEqual([expect.stringMatching(/^3 spans were dropped, and no run was held up by it: /)])
  })
})

describe('the body of a step', () => {
  const current = new AsyncLocalStorage<Context>()
  beforeEach(() => {
    context.setGlobalContextManager({
      active: () => current.getStore() ?? ROOT_CONTEXT,
      with: (active, fn, thisArg, ...args) => current.run(active, () => fn.call(thisArg!, ...args)),
      bind: (_active, target) => target,
      enable: () => context as never,
      disable: () => context as never,
    })
  })
  afterEach(() => context.disable())

  it('runs in the context of its span, each attempt in its own, also behind an await', async () => {
    const seen: (string | undefined)[] = []
    const look = workflow('look', async (ctx) => {
      await ctx.step(
        'look',
        async ({ attempt }) => {
          await new Promise((resolve) => setImmediate(resolve))
          const active = trace.getActiveSpan()?.spanContext()
          seen.push(active && `${active.traceId} ${active.spanId}`)
          if (attempt === 1) throw new Error('once more')
        },
        { retry: { initial: 1 } },
      )
    })
    const local = await open({ workflows: [look] })
    await (await local.start(look)).result()
    await local.close()
    const told = collector.spans
      .filter(({ name, parentSpanId }) => name === 'look' && parentSpanId)
      .map(({ traceId, spanId }) => `${traceId} ${spanId}`)
    expect(told).toHaveLength(2)
    expect(seen).toEqual(told)
  })
})

describe('the log', () => {
  it('says where a line comes from: run, step, attempt, and the ids of its span', async () => {
    const lines: Record<string, unknown>[] = []
    const talk = workflow('talk', async (ctx) => {
      ctx.log.info('before')
      await ctx.step('speak', () => ctx.log.info('inside', { extra: 1 }))
    })
    const local = await open({
      workflows: [talk],
      log: (_level, message, fields) => lines.push({ message, ...fields }),
    })
    const { runId } = await local.start(talk)
    await local.result(runId)
    await local.close()
    const [root, speak] = [collector.spans[0]!, spanNamed('speak')]
    expect(lines).toEqual([
      { message: 'before', runId, workflow: 'talk', traceId: root.traceId, spanId: root.spanId },
      {
        message: 'inside',
        runId,
        workflow: 'talk',
        step: 'speak',
        attempt: 1,
        extra: 1,
        traceId: root.traceId,
        spanId: speak.spanId,
      },
    ])
  })
})
