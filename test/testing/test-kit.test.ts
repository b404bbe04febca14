import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { workflow } from '../../sdk/index.ts'
import { replayHistory, testEnv, toMatchHistory } from '../../sdk/testing/index.ts'

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
    const w = workflow('w', async (ctx) => ctx.step('flaky', ({ attempt }) => (attempt < 3 ? Promise.reject(new Error('no')) : ctx.info.runId)))
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
})
