import { type Client, type Schedule, Schedules, schedule } from '../../sdk/index.ts'
import type { AnyWorkflow } from '../../sdk/workflow.ts'
import type { Cloud } from './cloud.ts'

const MINUTE = 60_000

/** A schedule that deployments add, remove, add again and change. */
export interface Timetable {
  /** From when on the code has it, after the start, until when, and how often it is to run. */
  periods: { from: number; to: number; everyMs: number }[]
}

export const TICK = 'tick'

export function aTimetable(int: (below: number) => number): Timetable {
  const periods: Timetable['periods'] = []
  let from = int(5) * MINUTE
  for (let i = 0; i < 3; i++) {
    const to = from + (40 + int(20)) * MINUTE
    periods.push({ from, to, everyMs: (3 + int(4)) * MINUTE })
    // Some plans follow each other without a gap: that is a change.
    from = to + (int(2) === 0 ? 0 : (5 + int(20)) * MINUTE)
  }
  return { periods }
}

/** What the code of that time has. */
function schedulesAt({ periods }: Timetable, after: number, tick: AnyWorkflow): Schedule[] {
  const period = periods.find(({ from, to }) => from <= after && after < to)
  return period ? [schedule('ticking', { every: period.everyMs }, tick, undefined)] : []
}

/** Every few minutes the code of the day is brought in line with the store, as functions/schedules.ts does. */
export function syncTimes({ periods }: Timetable): number[] {
  return periods.flatMap(({ from, to }) => [from, from + 10 * MINUTE, to, to + MINUTE])
}

export async function sync(client: Client, timetable: Timetable, after: number): Promise<void> {
  const tick = client.registry.latest(TICK)
  await new Schedules(client).sync(schedulesAt(timetable, after, tick))
}

/** Each plan that the code had for long has started something in its time. */
export async function checkTimetable(
  { periods }: Timetable,
  begin: number,
  cloud: Cloud,
  failures: string[],
): Promise<void> {
  const { store } = cloud.observer()
  const ticks = (await Promise.all(cloud.runIds('all').map((id) => store.get(id)))).filter(
    (run) => run?.workflow === TICK,
  )
  for (const { from, to } of periods) {
    const isIn = ticks.some((run) => run!.createdAt >= begin + from && run!.createdAt < begin + to + 10 * MINUTE)
    if (!isIn) failures.push(`the schedule that the code had from minute ${from / MINUTE} to ${to / MINUTE} never ran`)
  }
}
