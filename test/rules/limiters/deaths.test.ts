import { afterEach, describe, expect, it } from 'vitest'
import { runOnce } from '../../../sdk/engine/run-loop.ts'
import { limit, workflow } from '../../../sdk/index.ts'
import { hasEnded } from '../../../sdk/ports/run.ts'
import type { World } from '../../../sdk/ports/world.ts'
import { Registry } from '../../../sdk/workflow.ts'
import { LEASE, LIMIT, LimiterWorld, ProcessDied, settled } from './limiter-world.ts'

/**
 * A process that dies, or is held up, behind any of its calls: whatever it has left undone is done by others, nobody is
 * over the limit meanwhile, and nobody is lost.
 */

const SLOTS = 2
/** How long somebody is inside: those in the queue have waited for longer than anything takes to be made. */
const HOLD_MS = 180_000
const spec = { concurrency: SLOTS }

/** Which runs hold a slot, and the most there ever were. */
const inside = new Set<string>()
let most = 0
let clockOf: LimiterWorld
function enter(who: string): void {
  inside.add(who)
  most = Math.max(most, inside.size)
}
afterEach(() => {
  inside.clear()
  most = 0
})

/** A run that is under the limit as a whole. */
const held = workflow('held', async (ctx) => {
  await ctx.step('in', () => enter(ctx.info.runId))
  await ctx.sleep('3m')
  await ctx.step('out', () => void inside.delete(ctx.info.runId))
})
/** One whose step is. A body that a dead process has left behind does no work: it does not count. */
const asking = workflow('asking', async (ctx) => {
  const api = limit('api', spec)
  await ctx.step(
    'ask',
    async ({ signal }) => {
      enter(ctx.info.runId)
      await new Promise<void>((resolve) => clockOf.clock.at(clockOf.now() + HOLD_MS, resolve))
      if (!signal.aborted) inside.delete(ctx.info.runId)
    },
    { limit: api },
  )
})
const workflows = [held, asking]

interface Scenario {
  /** Runs that are there before. The first ones hold slots. */
  runs: readonly string[]
  kind: 'held' | 'asking'
  /** What the process does that dies or is held up. */
  act: (world: World, at: LimiterWorld) => Promise<unknown>
  /** Others that come later on. */
  later?: readonly string[]
}

async function prepared({ runs, kind }: Scenario): Promise<LimiterWorld> {
  inside.clear()
  most = 0
  const world = new LimiterWorld()
  clockOf = world
  world.setLimit(spec)
  for (const [i, id] of runs.entries()) await add(world, kind, id, i)
  await begin(world)
  await pass(world, 120_000)
  return world
}
const add = (world: LimiterWorld, kind: Scenario['kind'], id: string, i = 0) =>
  world.create(id, kind === 'held' ? world.admission(spec, world.now() + i) : undefined, kind)

/** Time goes by for those that are under way. */
async function pass(at: LimiterWorld, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 10_000) {
    at.clock.moveTo(at.now() + 10_000)
    await settled()
  }
}

/** Everybody who may begin has begun, and those behind them wait. */
async function begin(world: LimiterWorld): Promise<void> {
  for (const { runId } of await world.world.store.overdue(world.now(), 100)) {
    runOnce(world.world, new Registry(workflows), runId, { lease: LEASE }).catch(() => {})
    await settled()
  }
}

/** A runner goes on while time does. */
async function through(at: LimiterWorld, going: Promise<unknown>): Promise<void> {
  let isOver = false
  const ended = going.finally(() => {
    isOver = true
  })
  // Heard of below.
  ended.catch(() => {})
  for (let i = 0; i < 40 && !isOver; i++) {
    await settled()
    at.clock.moveTo(at.now() + 5_000)
  }
  await settled()
  if (isOver) await ended
}

const visit = (id: string) => (world: World) => runOnce(world, new Registry(workflows), id, { lease: LEASE })

const scenarios: Record<string, Scenario> = {
  'starts a run while there is room': {
    kind: 'held',
    runs: ['a'],
    act: (world, at) => world.store.create(at.newRun('b', at.admission(spec, at.now() + 5))),
    later: ['b', 'c'],
  },
  'starts a run that has to queue': {
    kind: 'held',
    runs: ['a', 'b', 'c'],
    act: (world, at) => world.store.create(at.newRun('d', at.admission(spec, at.now() + 5))),
    later: ['d'],
  },
  'ends a run that others wait for': {
    kind: 'held',
    runs: ['a', 'b', 'c', 'd'],
    act: async (world, at) => {
      await pass(at, 60_000)
      await visit('a')(world)
    },
  },
  'terminates a run that others wait for': {
    kind: 'held',
    runs: ['a', 'b', 'c', 'd'],
    act: async (world) => {
      // Its code does not hear of it.
      inside.delete('a')
      await world.store.terminate('a', 'enough')
    },
  },
  'terminates a run in the queue': {
    kind: 'held',
    runs: ['a', 'b', 'c', 'd'],
    act: (world) => world.store.terminate('c', 'enough'),
  },
  'checks a limiter': {
    kind: 'held',
    runs: ['a', 'b', 'c', 'd'],
    act: (world, at) => world.store.checkLimiters(at.now() + 3_600_000, 10),
  },
  'takes up a run whose step asks': {
    kind: 'asking',
    runs: ['a'],
    act: async (world, at) => {
      await add(at, 'asking', 'b')
      await through(at, visit('b')(world))
    },
    later: ['c'],
  },
  'takes up a run whose step has to queue': {
    kind: 'asking',
    runs: ['a', 'b'],
    act: async (world, at) => {
      await add(at, 'asking', 'c')
      await through(at, visit('c')(world))
    },
  },
  'takes up a run whose step was granted its permit in the queue': {
    kind: 'asking',
    runs: ['a', 'b', 'c', 'd'],
    act: async (world, at) => {
      await pass(at, 60_000)
      await through(at, visit('c')(world))
    },
  },
}

/** Every run has ended, the limit was never exceeded, and nothing is left of any run. */
async function allIsWell(at: LimiterWorld, { kind, runs, later = [] }: Scenario, which: string): Promise<void> {
  for (const id of later) await add(at, kind, id, 50)
  const ids = [...new Set([...runs, ...later, ...['b', 'c', 'd'].filter((id) => at.status(id))])]
  await at.goOn(workflows, { ids })
  const open = ids.filter((id) => !hasEnded(at.status(id) ?? 'pending'))
  expect({ which, open, most: Math.min(most, SLOTS) }).toEqual({ which, open: [], most })
  // A later check finds what no process came for.
  at.clock.moveTo(at.now() + 2 * 3_600_000)
  await at.world.store.checkLimiters(at.now(), 10)
  expect({ which, queue: at.queue(), slots: at.slots() }).toEqual({ which, queue: [], slots: {} })
}

describe.each(Object.entries(scenarios))('a process that %s', (_, scenario) => {
  it('may die behind any of its calls', async () => {
    for (let nth = 1; nth < 1_000; nth++) {
      const at = await prepared(scenario)
      const { world, calls } = at.process(nth, async () => {
        throw new ProcessDied()
      })
      const before = new Set(inside)
      const died = await scenario.act(world, at).then(
        () => false,
        (error: unknown) => error instanceof ProcessDied,
      )
      // What ran in a process that has died does no work any more.
      if (died) for (const id of inside) if (!before.has(id)) inside.delete(id)
      await allIsWell(at, scenario, `call ${nth}`)
      if (calls() < nth) return
    }
  })

  it.each([
    ['and those who may begin do', true],
    ['and nobody begins', false],
  ])('may be held up behind any of its calls while others come and go, %s', async (_how, areToBegin) => {
    for (let nth = 1; nth < 1_000; nth++) {
      const at = await prepared(scenario)
      const { world, calls } = at.process(nth, async () => {
        await add(at, scenario.kind, 'meanwhile', 20)
        if (areToBegin) await begin(at)
        await at.world.store.terminate('a', 'meanwhile')
        inside.delete('a')
        await at.world.store.dispatch([LIMIT])
        await at.world.store.checkLimiters(at.now() + 3_600_000, 10)
      })
      await scenario.act(world, at).catch(() => {})
      const runs = [...scenario.runs, ...(calls() >= nth ? ['meanwhile'] : [])]
      await allIsWell(at, { ...scenario, runs }, `call ${nth}`)
      if (calls() < nth) return
    }
  })
})
