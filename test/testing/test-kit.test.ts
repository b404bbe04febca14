import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { replayUpTo } from '../../sdk/client/time-travel.ts'
import { eventToJson, eventWithoutPayloads } from '../../sdk/http-api/encode.ts'
import { type HistoryEvent, workflow } from '../../sdk/index.ts'
import { assertHistory, normaliseHistory, replayHistory, testEnv, toMatchHistory } from '../../sdk/testing/index.ts'

describe('the test kit', () => {
  it('really replays at every resume: memory is dropped at each suspension', async () => {
    let entered = 0
    const w = workflow('w', async (ctx) => {
      entered++
      for (let i = 0; i < 100; i++) await ctx.sleep('1h')
      return 'done'
    })
    const env = await testEnv({ workflows: [w] })
    expect(await (await env.start(w, undefined)).result()).toBe('done')
    expect(entered).toBe(101)
  })

  it('replaces steps by name', async () => {
    const w = workflow('w', async (ctx) => ctx.step('charge', () => 'real money'))
    const env = await testEnv({ workflows: [w] })
    env.stub('charge', () => 'play money')
    expect(await (await env.start(w, undefined)).result()).toBe('play money')
  })

  it('starts at the time it is told, and time moves only when asked', async () => {
    const w = workflow('w', async (ctx) => ctx.now())
    const env = await testEnv({ workflows: [w], startTime: '2030-06-01T12:00:00Z' })
    expect(await (await env.start(w, undefined)).result()).toBe(Date.parse('2030-06-01T12:00:00Z'))
    await env.advance('90m')
    expect(env.now()).toEqual(new Date('2030-06-01T13:30:00Z'))
  })

  it('is repeatable: the same seed gives the same history', async () => {
    const w = workflow('w', async (ctx) =>
      ctx.step('flaky', ({ attempt }) => (attempt < 3 ? Promise.reject(new Error('no')) : ctx.info.runId)),
    )
    const history = async () => {
      const env = await testEnv({ workflows: [w], seed: 7 })
      const run = await env.start(w, undefined)
      await run.result()
      return JSON.stringify((await run.history()).map(({ at, type }) => [type, at]))
    }
    expect(await history()).toBe(await history())
  })

  it('says what a test waits for when nothing will ever happen', async () => {
    const { signal } = await import('../../sdk/index.ts')
    const w = workflow('w', async (ctx) => ctx.waitFor(signal('never')))
    const env = await testEnv({ workflows: [w] })
    await expect((await env.start(w, undefined)).result()).rejects.toThrow(
      "nothing will ever wake what the test waits for: run 'run-1' is waiting (signal 'never')",
    )
  })
})

describe('golden histories', () => {
  const w = workflow('w', async (ctx) => {
    await ctx.step('a', () => 1)
    await ctx.sleep('nap', '1h')
    return ctx.step('b', () => 2)
  })
  const recorded = async () => {
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    await run.result()
    return run.history()
  }

  it('are recorded once and compared ever after', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'overwinter-golden-')), 'w.json')
    const ci = process.env.CI
    delete process.env.CI
    expect(toMatchHistory(await recorded(), file).pass).toBe(true)
    if (ci !== undefined) process.env.CI = ci
    expect(toMatchHistory(await recorded(), file).pass).toBe(true)
    writeFileSync(file, readFileSync(file, 'utf8').replace('"result":2', '"result":3'))
    const differs = toMatchHistory(await recorded(), file)
    expect(differs.pass).toBe(false)
    expect(differs.message()).toContain('"result":3')
  })

  it('tell whether today’s code can go on where yesterday’s stopped', async () => {
    const history = await recorded()
    expect(await replayHistory(w, history)).toEqual([])
    expect(await replayHistory(w, history, 2)).toEqual([{ id: 'nap', kind: 'sleep' }])
    const changed = workflow('w', async (ctx) => {
      await ctx.step('z', () => 1)
    })
    await expect(replayHistory(changed, history)).rejects.toThrow("its history goes on with step 'a'")
  })

  it('are compared without matchers too, for node:test', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'overwinter-golden-')), 'w.json')
    writeFileSync(file, JSON.stringify(normaliseHistory(await recorded())))
    assertHistory(await recorded(), file)
    writeFileSync(file, readFileSync(file, 'utf8').replace('"result":2', '"result":3'))
    const history = await recorded()
    expect(() => assertHistory(history, file)).toThrow(/the history differs from .* at event 4/)
  })

  it('are taken as the command line and the API print them', async () => {
    const exported = { events: (await recorded()).map((event) => eventToJson(event, true)), generation: 0 }
    expect(await replayHistory(w, exported, 2)).toEqual([{ id: 'nap', kind: 'sleep' }])
    const bare = { events: exported.events.map(eventWithoutPayloads) }
    await expect(replayHistory(w, bare)).rejects.toThrow(
      "this history lacks the payloads of 'step.completed', which a replay needs; ask for it with payloads",
    )
  })

  describe('of a workflow with a schema', () => {
    const seen: unknown[] = []
    const versioned = (schema: z.ZodType) =>
      workflow('v', { input: schema }, async (ctx, input) => {
        seen.push(input)
        await ctx.sleep('nap', '1h')
      })
    const record = async (schema: z.ZodType, input: unknown) => {
      const recorded = versioned(schema)
      const env = await testEnv({ workflows: [recorded] })
      const run = await env.start(recorded, input)
      await run.result()
      seen.length = 0
      return run.history()
    }

    it('give the code what the schema made of the input then, not what it makes of it today', async () => {
      const history = await record(z.object({ n: z.number().default(1) }), {})
      await replayHistory(versioned(z.object({ n: z.number().default(2) })), history)
      expect(seen).toEqual([{ n: 1 }])
    })

    it('are replayed by code whose schema has become stricter', async () => {
      const history = await record(z.object({ n: z.number() }), { n: 1 })
      await replayHistory(versioned(z.object({ n: z.number().min(2) })), history)
      expect(seen).toEqual([{ n: 1 }])
    })

    it('of a batch are replayed with the list of inputs', async () => {
      const batched = workflow(
        'b',
        { input: z.object({ n: z.number().default(7) }), batch: { size: 2, wait: '1m' } },
        async (ctx, inputs) => {
          seen.push(inputs)
          await ctx.sleep('nap', '1h')
        },
      )
      const env = await testEnv({ workflows: [batched] })
      const run = await env.start(batched, {})
      await env.start(batched, { n: 8 })
      await run.result()
      seen.length = 0
      const history = await run.history()
      await replayHistory(batched, history)
      const { parsed: _, ...started } = history[0] as HistoryEvent & { parsed?: unknown }
      await replayHistory(batched, [started as HistoryEvent, ...history.slice(1)])
      expect(seen).toEqual([
        [{ n: 7 }, { n: 8 }],
        [{ n: 7 }, { n: 8 }],
      ])
      expect(await replayUpTo(batched, await run.get(), history, history.at(-1)!.n)).not.toHaveProperty('changed')
    })
  })
})
