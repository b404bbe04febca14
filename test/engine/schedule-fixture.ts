import type { Duration } from '../../sdk/base/duration.ts'
import { Client, Registry, Schedules, schedule, workflow } from '../../sdk/index.ts'
import type { World } from '../../sdk/ports/world.ts'
import { withSchedules } from '../../sdk/schedule.ts'
import { SCHEDULE_WORKFLOW } from '../../sdk/scheduling/state.ts'
import { type TestEnv, testEnv } from '../../sdk/testing/index.ts'

export const report = workflow('report', async () => 'done')
export const hourly = schedule('tick', { every: '1h' }, report, undefined)
export const often = schedule('tick', { every: '10m' }, report, undefined)
export const other = schedule('other', { every: '1h' }, report, undefined)

/** The code of a deployment that has schedules, whichever they are: nothing is synced yet. */
export const CODE = withSchedules([report], [hourly])
export const deployed = () => testEnv({ workflows: CODE })

export async function started(env: TestEnv, duration: Duration): Promise<number> {
  const count = async () => (await env.client.list({ workflow: 'report', limit: 1000 })).runs.length
  await env.settle()
  const before = await count()
  await env.advance(duration)
  return (await count()) - before
}

export async function ownRuns(env: TestEnv) {
  const { runs } = await env.client.list({ workflow: SCHEDULE_WORKFLOW, limit: 1000 })
  return runs.filter(({ endedAt }) => endedAt === undefined).map(({ runId }) => runId)
}

export const IS_WRITE = /^(store\.(create|deliver|terminate|revive)|documents\.(put|delete))$/

/** Schedules of another process on the same store, which asks `meanwhile` before every call. */
export function withFaults(env: TestEnv, meanwhile: (call: string) => unknown): Schedules {
  const { world } = env.client
  const asking = <T extends object>(port: 'store' | 'documents', target: T): T =>
    new Proxy(target, {
      get(_, method) {
        const value = Reflect.get(target, method) as unknown
        if (typeof value !== 'function') return value
        return async (...args: unknown[]) => {
          await meanwhile(`${port}.${String(method)}`)
          return Reflect.apply(value, target, args)
        }
      },
    })
  const faulty: World = {
    ...world,
    store: asking('store', world.store),
    documents: asking('documents', world.documents),
  }
  return new Schedules(new Client(faulty, new Registry(withSchedules([report], [hourly]))))
}
