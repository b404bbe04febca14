import { Client } from '../../sdk/client/client.ts'
import type { HistoryEvent } from '../../sdk/client/history.ts'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import { hasEnded } from '../../sdk/ports/run.ts'
import type { Wake, World } from '../../sdk/ports/world.ts'
import type { VirtualClock } from '../../sdk/testing/virtual-clock.ts'
import { Registry, signal, workflow } from '../../sdk/workflow.ts'

export const approved = signal<{ by: string }>('approved')

const child = workflow('fault-child', async (ctx, input: { n: number }) => {
  const doubled = await ctx.step('double', async () => input.n * 2)
  return { doubled }
})

/** A little of everything that writes to AWS. */
export const parent = workflow('fault-parent', async (ctx, input: { n: number }) => {
  const first = await ctx.step('first', async () => input.n + 1)
  const [left, right] = await Promise.all([
    ctx.step('left', async () => first * 10),
    ctx.step('right', async () => first * 100),
  ])
  ctx.progress({ done: 3 })
  await ctx.sleep('nap', '1m')
  await ctx.sleep('winter', '1h')
  const approval = await ctx.waitFor(approved, { timeout: '2h' })
  const { doubled } = await ctx.run(child, { n: right })
  const last = await ctx.step('last', async () => left + doubled)
  return { last, by: approval?.by ?? null }
})

const registry = new Registry([parent, child])
const LEASE = { owner: 'test', ms: 30_000 }
/** Longer than the lease and the sweeper's grace. */
const SWEEP_MS = 121_000

/**
 * Takes the reference run to its end: by the wake-ups that really went out, and where they were lost by the sweeper's
 * query. A runner that throws counts as dead.
 */
export async function takeToItsEnd(
  world: World,
  observer: World,
  clock: VirtualClock,
  runId: string,
  /** How often each wake-up arrives, all at once. */
  copies = 1,
): Promise<{ deaths: unknown[]; rescues: number }> {
  const wakes: Wake[] = []
  const deaths: unknown[] = []
  let rescues = 0
  const recording: World = {
    ...pick(world),
    wakeups: {
      send: async (sent) => {
        await world.wakeups.send(sent)
        wakes.push(...sent)
      },
    },
  }
  const client = new Client(recording, registry)
  await untilItWorks(() => client.start(parent, { n: 1 }, { id: runId }), deaths)
  let isSignalled = false
  for (let turn = 0; turn < 200; turn++) {
    const run = await observer.store.get(runId)
    if (run && hasEnded(run.status)) return { deaths, rescues }
    if (!isSignalled && run?.waitingFor?.some(({ kind }) => kind === 'signal')) {
      await untilItWorks(() => client.signal(runId, approved, { by: 'ann' }, { idempotencyKey: 'once' }), deaths)
      isSignalled = true
    }
    wakes.sort((a, b) => a.at - b.at)
    const wake = wakes.shift()
    if (!wake) {
      clock.moveTo(clock.now() + SWEEP_MS)
      const overdue = await observer.store.overdue(clock.now(), 100)
      wakes.push(...overdue)
      rescues += overdue.length
      continue
    }
    clock.moveTo(wake.at)
    const runner = () =>
      runOnce(recording, registry, wake.runId, { lease: LEASE }).catch((error: unknown) => deaths.push(error))
    await Promise.all(Array.from({ length: copies }, runner))
  }
  throw new Error(`run '${runId}' did not end: ${JSON.stringify(await observer.store.get(runId))}`)
}

/** The journals of parent and child, without what may differ from one time to the next. */
export async function journals(
  observer: World,
  runId: string,
): Promise<{ output: unknown; parent: unknown[]; child: unknown[] }> {
  const client = new Client(observer, registry)
  const events = async (id: string) => (await client.history(id)).map((event) => withoutTimes(event, runId))
  const started = (await client.history(runId)).find((event) => event.type === 'child.started')
  const childId = started?.type === 'child.started' ? started.run : 'none'
  return { output: (await client.get(runId)).output, parent: await events(runId), child: await events(childId) }
}

function withoutTimes(event: HistoryEvent, runId: string): unknown {
  const { at: _at, n: _n, visit: _visit, ...rest } = event as Record<string, unknown> & { at: number }
  for (const timed of ['until', 'ms']) delete rest[timed]
  return JSON.parse(JSON.stringify(rest).replaceAll(runId, 'RUN'))
}

/** A caller who got an error and tries again. */
async function untilItWorks<T>(call: () => Promise<T>, deaths: unknown[]): Promise<T> {
  for (let attempt = 0; attempt < 5; attempt++) {
    try {
      return await call()
    } catch (error) {
      deaths.push(error)
    }
  }
  return call()
}

function pick({ store, documents, tasks, clock, ids, log, inlineWaitMs, flow }: World): Omit<World, 'wakeups'> {
  return { store, documents, tasks, clock, ids, log, inlineWaitMs, flow }
}
