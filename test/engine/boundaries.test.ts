import { deepStrictEqual } from 'node:assert'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { callbackToken } from '../../sdk/engine/callback-token.ts'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import { Client, type Context, Registry, signal, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { amount } from '../outside/amount.ts'
import { openAwsInMemory } from '../sim/aws/open-world.ts'
import { anyValue } from './arbitrary-values.ts'

/** Deeply equal, classes and all; vitest's own takes a property named `constructor` for a class. */
const same = (what: string, is: unknown, was: unknown) => deepStrictEqual(is, was, `${what} is not as it was`)

const given = signal<unknown>('given')
const echo = workflow('echo', async (_ctx, value: unknown) => value)

/** Takes a value across every boundary there is, and compares it on the other side. */
const traveller = (values: readonly unknown[]) =>
  workflow('traveller', async (ctx: Context, { round, value }: { round: number; value: unknown }) => {
    same('the input', value, values[round])
    same('the result of a step', await ctx.step('step', () => values[round]), values[round])
    same('a signal', await ctx.waitFor(given), values[round])
    same('the answer of a callback', await ctx.callback('ask').promise, values[round])
    same('the result of a child', await ctx.run(echo, values[round]), values[round])
    ctx.progress(values[round])
    if (round + 1 < values.length) return ctx.continueAsNew({ round: round + 1, value: values[round + 1] })
    return values[round]
  })

const BATCHES = amount({ few: 2, many: 20 })
const VALUES_EACH = 250

/** 2 worlds × 2 or 20 runs × 250 values, each across seven boundaries. */
const batches = fc.sample(fc.array(anyValue(), { minLength: VALUES_EACH, maxLength: VALUES_EACH }), {
  numRuns: BATCHES,
  seed: 7,
})

describe('every value goes through every boundary unchanged', () => {
  it('in the local world', async () => {
    for (const values of batches) {
      // One value of many, so that a run has few generations.
      const rounds = [values.slice(0, 125), new Map([[values.slice(125), new Set(values)]])]
      const travels = traveller(rounds)
      const env = await testEnv({ workflows: [travels, echo] })
      const run = await env.start(travels, { round: 0, value: rounds[0] })
      for (const [i, value] of rounds.entries()) {
        await run.signal(given, value)
        await env.settle()
        const created = (await run.history()).filter(({ type }) => type === 'callback.created')
        expect(created.length, `round ${i}: ${JSON.stringify((await run.get()).error)}`).toBeGreaterThan(0)
        await env.client.completeCallback(await tokenOf(env.client, run.runId), value)
        await env.settle()
        if (i === 0) await env.restart()
      }
      same('the output', await run.result(), rounds[1])
    }
  })

  it('on AWS', async () => {
    for (const values of batches) {
      const rounds = [values]
      const travels = traveller(rounds)
      const { world, clock } = openAwsInMemory({ seed: 'values' })
      const registry = new Registry([travels, echo])
      const client = new Client(world, registry)
      const { runId } = await client.start(travels, { round: 0, value: values })
      const turn = async () => {
        for (const { runId: id, endedAt } of (await client.list()).runs)
          if (endedAt === undefined) await runOnce(world, registry, id, { lease: { owner: 'o', ms: 500 } })
        clock.moveTo(clock.now() + 1_000)
      }
      await client.signal(runId, given, values)
      await turn()
      await client.completeCallback(await tokenOf(client, runId), values)
      for (let i = 0; i < 4; i++) await turn()
      same('the output', await client.result(runId), values)
    }
  })
})

/** As the receiver of the run's message has it. */
async function tokenOf(client: Client, runId: string, name = 'ask'): Promise<string> {
  const run = (await client.world.store.get(runId))!
  return callbackToken(run, name)
}

it('a worker in TypeScript gets and gives values as they are, and so do its checkpoints', async () => {
  const value = { at: new Date(7), set: new Set([1n]) }
  const hands = workflow('hands', async (ctx) => ctx.task('fold', value))
  const env = await testEnv({ workflows: [hands] })
  const seen: unknown[] = []
  env.worker('fold', async (task) => {
    seen.push(task.input, task.lastCheckpoint)
    return seen.length === 2 ? task.pause('rest', '1m', value) : value
  })
  expect(await (await env.start(hands, undefined)).result()).toEqual(value)
  expect(seen).toEqual([value, undefined, value, value])
})

describe('what a schema makes of a value', () => {
  const when = z.object({ at: z.coerce.date() })

  it('is what code gets of signals and callbacks, as of input, now and after a restart', async () => {
    const due = signal('due', when)
    const w = workflow('w', { input: when }, async (ctx, input) => {
      const heard = await ctx.waitFor(due)
      const answered = await ctx.callback('when', { schema: when }).promise
      await ctx.sleep('rest', '1h')
      return [input, heard, answered].map(({ at }) => at)
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, { at: '2026-01-01' })
    await run.signal(due, { at: '2026-01-02' })
    await env.settle()
    await env.client.completeCallback(await tokenOf(env.client, run.runId, 'when'), { at: '2026-01-03' })
    await env.settle()
    await env.restart()
    expect(await run.result()).toEqual([new Date('2026-01-01'), new Date('2026-01-02'), new Date('2026-01-03')])
  })
})
