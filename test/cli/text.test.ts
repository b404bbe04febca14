import { stripVTControlCharacters } from 'node:util'
import * as v from 'valibot'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { exampleInput } from '../../cli/dev/example-input.ts'
import { Narrator } from '../../cli/dev/narrator.ts'
import { runHead, waitsFor } from '../../cli/run-text.ts'
import { timelineLine } from '../../cli/timeline.ts'
import type { Schema } from '../../sdk/base/schema.ts'
import { FatalError, type RunView, signal, workflow } from '../../sdk/index.ts'
import type { Commit } from '../../sdk/ports/commit.ts'
import type { RunStore } from '../../sdk/ports/run-store.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { clockTime, fromNow, span } from '../../sdk/views/moments.ts'

test('spans have the precision a reader wants', () => {
  const cases: [number, string][] = [
    [0, '0 ms'],
    [999, '999 ms'],
    [1_000, '1 s'],
    [4_230, '4.2 s'],
    [60_000, '1 min'],
    [61_500, '1 min 1 s'],
    [3_600_000, '1 h'],
    [28_799_000, '7 h 59 min'],
    [365 * 86_400_000, '365 d'],
    [90_000_000, '1 d 1 h'],
  ]
  for (const [ms, text] of cases) expect(span(ms)).toBe(text)
  expect([fromNow(1_000, 0), fromNow(0, 1_000)]).toEqual(['in 1 s', '1 s ago'])
  const noon = new Date(2026, 4, 1, 12, 0, 0).getTime()
  // Wherever this runs: the zone is that of the machine.
  expect(clockTime(noon, noon + 1)).toMatch(/^12:00:00 (UTC|[+-]\d\d:\d\d)$/)
  expect(clockTime(noon, noon + 86_400_000)).toMatch(/^2026-05-01 12:00:00 (UTC|[+-]\d\d:\d\d)$/)
})

test('an example input is made from the schema, where the schema can say what it wants', async () => {
  const example = (input: Schema) => exampleInput(workflow('w', { input }, async () => 1))
  expect(example(z.object({ name: z.string(), seconds: z.number() }))).toEqual({ name: 'Ada', seconds: 5 })
  const rich = z.object({
    size: z.enum(['s', 'm']),
    many: z.array(z.int().min(10)),
    few: z.int().max(3),
    yes: z.boolean(),
    maybe: z.string().optional(),
  })
  const made = example(rich)
  expect(made).toEqual({ size: 's', many: [10], few: 3, yes: true })
  expect(rich.safeParse(made).success).toBe(true)
  expect(example(z.date())).toBeUndefined()
  expect(example(v.object({ name: v.string() }))).toBeUndefined()
  expect(exampleInput(workflow('w', async () => 1))).toBeUndefined()
})

test('a run that a rate has promised its start is shown at its limit', () => {
  const run = {
    runId: 'm2',
    workflow: 'mail',
    version: 1,
    status: 'pending',
    generation: 0,
    attempt: 1,
    tags: [],
    createdAt: 0,
    wakeAt: 3_600_000,
  } as const
  const queue = { limit: 'mail:rate', place: { count: 1 }, expectedAt: 3_600_000, paused: false }
  expect(waitsFor({ ...run, tags: [], queue }, 0)).toBe(
    "its turn at limit 'mail:rate' (place 1, expected in about 1 h)",
  )
  expect(waitsFor({ ...run, tags: [] }, 0)).toMatch(/^its start at .* \(in 1 h\)$/)
})

test('a timeline tells retries, waits, children, undoing and failure', async () => {
  const child = workflow('child', async () => 'c')
  const go = signal('go')
  const w = workflow('w', async (ctx) => {
    ctx.compensate('undo', () => 'undone')
    await ctx.step('flaky', ({ attempt }) => (attempt === 1 ? Promise.reject(new Error('once')) : 'x'.repeat(200)), {
      retry: { jitter: false },
    })
    await ctx.run(child, undefined)
    await ctx.waitFor(go, { timeout: '1h' })
    throw new FatalError('enough')
  })
  const env = await testEnv({ workflows: [w, child] })
  const run = await env.start(w, undefined)
  await run.result().catch(() => {})
  const history = await run.history()
  const lines = history.map((event) => timelineLine(event, history[0]!.at).replaceAll(/\s+/g, ' ').trim())
  expect(
    lines.map((line) => line.replaceAll(/\d\d:\d\d:\d\d (UTC|[+-]\d\d:\d\d)/g, 'TIME').replaceAll('2026-01-01 ', '')),
  ).toEqual([
    '+0 ms ● started',
    '+0 ms ✗ flaky attempt 1 failed, Error: once; waits until TIME',
    expect.stringMatching(/^\+1 s ✓ flaky step.*, attempt 2 → "x{80,}…$/),
    '+1 s ◌ child child child, run run-1.child',
    '+1 s ✓ child child → "c"',
    "+1 s ◌ go waits for signal 'go' until TIME",
    '+1 h · go no signal in time',
    '+1 h ✓ compensate/undo step → "undone"',
    '+1 h ✗ failed FatalError: enough',
  ])
})

test('the input that dev suggests fits schemas of texts that have a form of their own', () => {
  const input = z.object({
    mail: z.email(),
    site: z.url(),
    id: z.uuid(),
    on: z.iso.date(),
    at: z.iso.datetime(),
    code: z.string().min(6),
    short: z.string().max(2),
  })
  expect(input.safeParse(exampleInput(workflow('w', { input }, async () => 1)))).toMatchObject({ success: true })
})

test('which generation a run is in stands apart from its title', () => {
  const run = {
    runId: 'r',
    workflow: 'w',
    version: 1,
    status: 'running',
    createdAt: 0,
    tags: [],
    generation: 3,
  } as unknown as RunView
  expect(stripVTControlCharacters(runHead(run, 0))).toMatch(/generation +3/)
})

test('dev tells an error once: of the step that failed, and then which step the run failed with', async () => {
  const said: string[] = []
  const narrator = new Narrator(
    (line) => void said.push(stripVTControlCharacters(line)),
    () => 0,
  )
  const error = { name: 'Error', message: 'no money' }
  const commit = async () => ({ ok: true, suspended: false, wakes: [] }) as const
  const failed = { name: 'StepError', message: "step 'pay: card' failed", step: 'pay~2 card', cause: error }
  const run = { runId: 'r', epoch: 1 }
  const claimed = narrator.around({
    claim: async () => ({ run: { workflow: 'w', generation: 0 }, frames: [] }),
    commit,
  } as unknown as RunStore)
  await claimed.claim('r', { owner: 'o', ms: 1 })
  await claimed.commit({
    ...run,
    frame: { seq: 1, at: 0, epoch: 1, events: [{ type: 'step.failed', id: 'pay~2 card', attempt: 1, error }] },
    next: { kind: 'end', event: { type: 'run.failed', error: failed } },
  } as unknown as Commit)
  expect(said.slice(1)).toEqual([
    "✗ w r step 'pay: card' failed for good, attempt 1: Error: no money",
    "✗ w r failed with step 'pay: card'",
  ])
})
