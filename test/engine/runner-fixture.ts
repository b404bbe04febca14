import { FORMAT } from '../../sdk/base/names.ts'
import { runOnce } from '../../sdk/engine/run-loop.ts'
import type { RunnerOptions } from '../../sdk/engine/visit.ts'
import { type AnyWorkflow, Registry, workflow } from '../../sdk/index.ts'
import type { NewRun } from '../../sdk/ports/run.ts'
import type { Wake, World } from '../../sdk/ports/world.ts'
import { VirtualClock } from '../../sdk/testing/virtual-clock.ts'
import { memoryWorld } from '../contract/memory/world.ts'

export const START = Date.parse('2026-01-01T00:00:00Z')
export const lease = { owner: 'runner', ms: 30_000 }
export const turns = async (count = 20) => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** One run of a workflow in maps, and a runner for it. */
export async function runner(
  of: AnyWorkflow,
  changes: Partial<NewRun> = {},
  others: Partial<World> = {},
  children: AnyWorkflow[] = [],
) {
  const clock = new VirtualClock(START)
  const sent: Wake[] = []
  const world: World = {
    ...memoryWorld(clock),
    log: () => {},
    wakeups: { send: async (wakes) => void sent.push(...wakes) },
    ...others,
  }
  const { store } = world
  const record = {
    id: 'run',
    workflow: of.name,
    version: 1,
    format: FORMAT,
    input: undefined,
    secret: 's',
    createdAt: START,
    wakeAt: START,
    tags: [],
  }
  await store.create({ ...record, ...changes })
  const run = (options: Partial<RunnerOptions> = {}) =>
    runOnce(world, new Registry([of, ...children]), 'run', { lease, ...options })
  const events = async () => (await store.frames('run')).flatMap((frame) => frame.events.map(({ type }) => type))
  return { clock, world, store, sent, run, events }
}
export const quick = workflow('w', async () => 7)

/** Nothing tells this runner that something has changed: a world may be late with that, or never say it. */
export function deaf({ store }: World): void {
  store.watch = () => () => {}
}

/** How often the store was asked for something. */
export function counted(world: World, name: 'inbox' | 'renew' | 'commit'): () => number {
  const { store } = world
  const asked = store[name].bind(store) as (...args: unknown[]) => Promise<unknown>
  let count = 0
  Object.assign(store, {
    [name]: (...args: unknown[]) => {
      count++
      return asked(...args)
    },
  })
  return () => count
}
