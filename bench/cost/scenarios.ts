import type { Duration } from '../../sdk/base/duration.ts'
import type { Context } from '../../sdk/context.ts'
import { type AnyWorkflow, workflow } from '../../sdk/workflow.ts'
import type { Elsewhere } from './prices.ts'

export interface Scenario {
  name: string
  workflow: AnyWorkflow
  elsewhere: Elsewhere
  /** Somebody wants its result: asked for once it has ended, or in the request that starts it. */
  result?: 'asked for' | 'waited for'
}

const RESULT_BYTES = 100

async function tenSteps(ctx: Context, sleep?: Duration): Promise<void> {
  for (let i = 0; i < 10; i++) {
    await ctx.step(`step-${i}`, async () => result(i))
    if (i === 4 && sleep !== undefined) await ctx.sleep('pause', sleep)
  }
}

async function threeSteps(ctx: Context): Promise<void> {
  for (let i = 0; i < 3; i++) await ctx.step(`step-${i}`, async () => result(i))
}

/** 100 bytes that differ from step to step, as real results do. */
function result(i: number): string {
  return `${i}: ${Array.from({ length: 24 }, (_, k) => ((i * 7919 + k * 104_729) % 46_656).toString(36)).join(' ')}`
    .slice(0, RESULT_BYTES)
    .padEnd(RESULT_BYTES, '.')
}

export const SCENARIOS: Scenario[] = [
  {
    name: '10 steps',
    workflow: workflow('ten', (ctx) => tenSteps(ctx)),
    elsewhere: { durableOperations: 10 + 1, bytesWritten: 10 * RESULT_BYTES, transitions: 10 + 1 },
  },
  {
    name: '10 steps, sleep of 1 min',
    workflow: workflow('ten-minute', (ctx) => tenSteps(ctx, '1m')),
    elsewhere: { durableOperations: 10 + 1 + 1, bytesWritten: 10 * RESULT_BYTES, transitions: 10 + 1 + 1 },
  },
  {
    name: '10 steps, sleep of 1 h',
    workflow: workflow('ten-hour', (ctx) => tenSteps(ctx, '1h')),
    elsewhere: { durableOperations: 10 + 1 + 1, bytesWritten: 10 * RESULT_BYTES, transitions: 10 + 1 + 1 },
  },
  {
    name: '3 steps, result asked for',
    workflow: workflow('three', threeSteps),
    elsewhere: { durableOperations: 3 + 1, bytesWritten: 3 * RESULT_BYTES, transitions: 3 + 1 },
    result: 'asked for',
  },
  {
    name: '3 steps, ?wait',
    workflow: workflow('three-waited-for', threeSteps),
    elsewhere: { durableOperations: 3 + 1, bytesWritten: 3 * RESULT_BYTES, transitions: 3 + 1 },
    result: 'waited for',
  },
  {
    name: '100 parallel steps of 100 bytes',
    workflow: workflow('hundred', async (ctx) => {
      await Promise.all(Array.from({ length: 100 }, (_, i) => ctx.step(`step-${i}`, async () => result(i))))
    }),
    // One more for the parallel block itself.
    elsewhere: { durableOperations: 100 + 1 + 1, bytesWritten: 100 * RESULT_BYTES, transitions: 100 + 1 + 1 },
  },
  {
    name: 'start and sleep',
    workflow: workflow('sleeper', (ctx) => ctx.sleep('nap', '1m')),
    elsewhere: { durableOperations: 1 + 1, bytesWritten: 0, transitions: 1 + 1 },
  },
]
