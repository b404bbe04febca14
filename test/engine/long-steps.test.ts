import { expect, it } from 'vitest'
import { Client } from '../../sdk/client/client.ts'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import { type AnyWorkflow, workflow } from '../../sdk/index.ts'
import { VirtualClock } from '../../sdk/testing/index.ts'
import { Registry } from '../../sdk/workflow.ts'
import { memoryWorld } from '../contract/memory/world.ts'

let clock: VirtualClock

/** Runners that have ten seconds each, one after the other, until the run has ended. */
async function inShortShifts(w: AnyWorkflow) {
  clock = new VirtualClock(Date.parse('2026-01-01T00:00:00Z'))
  const world = { ...memoryWorld(clock), log: () => {} }
  const registry = new Registry([w])
  const client = new Client(world, registry)
  await client.start(w, undefined, { id: 'r' })
  let shifts = 0
  for (; shifts < 50; shifts++) {
    const { status, wakeAt } = await client.get('r')
    if (status === 'completed' || status === 'failed') break
    clock.moveTo(Math.max(clock.now(), wakeAt ?? 0))
    let isOver = false
    const shift = runOnce(world, registry, 'r', {
      lease: { owner: 'a', ms: 30_000 },
      deadline: clock.now() + 10_000,
    }).then(() => (isOver = true))
    while (!isOver) {
      await new Promise((resolve) => setImmediate(resolve))
      const next = clock.next()
      if (!isOver && next !== undefined) clock.moveTo(next)
    }
    await shift
  }
  return { run: await client.get('r'), shifts }
}

it('a step that takes longer than any runner has fails after its attempts, and says what to do', async () => {
  const attempts: number[] = []
  const w = workflow('w', async (ctx) =>
    ctx.step('endless', ({ attempt }) => {
      attempts.push(attempt)
      return new Promise(() => {})
    }),
  )
  const { run } = await inShortShifts(w)
  expect(run.status).toBe('failed')
  expect(run.error!.message).toContain("step 'endless' was cut off: it takes longer than its runner has")
  expect(attempts).toEqual([1, 2, 3])
})

it('a step that saves checkpoints may take as many runners as it needs', async () => {
  const w = workflow('w', async (ctx) =>
    ctx.step('pages', async ({ lastCheckpoint, checkpoint, attempt }) => {
      const page = ((lastCheckpoint as number | undefined) ?? 0) + 1
      if (page > 8) return { pages: page - 1, attempt }
      await checkpoint(page)
      return new Promise<never>(() => {})
    }),
  )
  const { run } = await inShortShifts(w)
  expect(run).toMatchObject({ status: 'completed', output: { pages: 8, attempt: 1 } })
})

it('a detached child whose input does not fit is refused to its parent', async () => {
  const kid = workflow(
    'kid',
    {
      input: {
        '~standard': { version: 1, vendor: 'test', validate: () => ({ issues: [{ message: 'never right' }] }) },
      },
    },
    async () => 1,
  )
  const w = workflow('w', async (ctx) =>
    ctx.run(kid, {} as never, { detached: true }).then(
      ({ runId }) => runId,
      (error: Error) => error.message,
    ),
  )
  const { run } = await inShortShifts(w)
  expect(run.output).toContain("the input of child workflow 'kid' does not fit its schema")
})

it('a step that began late in a runner’s time is not held to have failed: the next runner has all of its time for it', async () => {
  const attempts: string[] = []
  const w = workflow('w', async (ctx) => {
    for (const name of ['first', 'second', 'third']) {
      const body = ({ attempt, signal }: { attempt: number; signal: AbortSignal }) =>
        new Promise((resolve) => {
          attempts.push(`${name} ${attempt}`)
          const stop = clock.at(clock.now() + 4_800, () => resolve(name))
          signal.addEventListener('abort', stop)
        })
      await ctx.step(name, body, { retry: { attempts: 1 } })
    }
    return 'done'
  })
  const { run } = await inShortShifts(w)
  expect(run).toMatchObject({ status: 'completed', output: 'done' })
  expect(attempts).toEqual(['first 1', 'second 1', 'second 1', 'third 1', 'third 1'])
})
