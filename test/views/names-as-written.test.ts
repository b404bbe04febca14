import { describe, expect, it, test } from 'vitest'
import { limitTable } from '../../cli/limit-text.ts'
import { runTable } from '../../cli/run-text.ts'
import { timelineLine } from '../../cli/timeline.ts'
import { workflow } from '../../sdk/index.ts'
import type { RunSummary } from '../../sdk/ports/run-lists.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { asWritten, meantRunId, runIdAsWritten } from '../../sdk/views/as-written.ts'
import { awaited } from '../../sdk/views/awaited.ts'
import { timeline } from '../../sdk/views/timeline.ts'

const agent = workflow('agent', async (ctx) => {
  await ctx.step('before', () => 1)
  await ctx.step('tool: search/docs', () => 2)
  await ctx.sleep('rest ~ a bit: 1d', '1d')
})

describe('names with characters that identities escape', () => {
  it('are shown as they were written, and a rerun takes them in either form', async () => {
    const env = await testEnv({ workflows: [agent] })
    const run = await env.start(agent, undefined, { id: 'a' })
    await env.settle()
    const lines = (await run.history()).map((event) => timelineLine(event, 0)).join('\n')
    expect(lines).toContain('tool: search/docs')
    expect(lines).not.toMatch(/~[012]/)
    const { waitingFor, ...view } = await env.client.get('a')
    expect(awaited(waitingFor![0]!)).toBe("the sleep 'rest ~ a bit: 1d'")
    expect((await env.client.why('a')).reason).toBe("waits for the sleep 'rest ~ a bit: 1d'")
    expect(view.status).toBe('sleeping')
    for (const from of ['tool: search/docs', 'tool~2 search~1docs'])
      expect((await env.client.rerun('a', { from })).created).toBe(true)
  })

  it('of the escape sign itself come back as they were', () => {
    expect(asWritten('a~02b')).toBe('a~2b')
  })
})

test('the ids of schedules’ runs show the names of the schedules, and are understood in that form', () => {
  const id = 'schedule.weekly~20totals.2026-01-01T00:00:00.000Z'
  expect(runIdAsWritten(id)).toBe('schedule.weekly totals.2026-01-01T00:00:00.000Z')
  expect([meantRunId(runIdAsWritten(id)), meantRunId(id), meantRunId('order-7')]).toEqual([id, id, 'order-7'])
  expect(runIdAsWritten('order~20')).toBe('order~20')
  const run = { runId: id, workflow: 'w', status: 'completed', createdAt: 0, attempt: 1 } as unknown as RunSummary
  expect(runTable([run], 0)).toContain('schedule.weekly totals.2026')
})

test('a limit with keys says that its numbers are for each of them, and how many are inside of all', () => {
  const gate = (key: string) => ({ key, inside: 3, holders: [], waiting: { count: 0 }, next: [] })
  const limit = {
    name: 'gpu',
    code: { concurrency: 3 },
    inForce: { concurrency: 3 },
    isSet: false,
    paused: false,
    gates: ['a', 'b', 'c'].map(gate),
  }
  expect(limitTable([limit])).toMatch(/3 at once for each key +9 for 3 keys/)
})

test('a map of which 10 of 500 items failed is a bar that is failed to 2 %', () => {
  const failed = (i: number) => i < 10
  const events = Array.from({ length: 500 }, (_, i) => ({
    ...{
      type: failed(i) ? 'step.failed' : 'step.completed',
      id: `orders/${i}/charge`,
      at: 100 + i,
      ms: 50,
      n: `${i + 2}.0`,
    },
    ...(failed(i) && { attempt: 1, error: { name: 'Error', message: 'no' } }),
  }))
  const map = { type: 'map', id: 'orders/', at: 0, n: '1.0', count: 500, digest: 'x' }
  const { rows } = timeline([{ type: 'run.started', at: 0, n: '0.0' }, map, ...events] as never)
  expect(rows[0]!.bars).toMatchObject([{ outcome: 'done', share: { failed: 10, of: 500 } }])
})
