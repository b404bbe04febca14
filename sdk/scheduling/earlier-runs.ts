import { earlierScheduleRunId } from '../base/names.ts'
import type { RunRecord } from '../ports/run.ts'
import type { World } from '../ports/world.ts'
import { isAlive, SCHEDULE_WORKFLOW, stateOf } from './state.ts'

export const NO_LONGER = 'the code no longer has this schedule'
const UPKEEP = 'schedule upkeep'
const LOOKED_THROUGH = 'runs of 0.1.0'
const PAGE = 1_000

/** The runs of schedules that 0.1.0 started. It kept no records of them; they use its ids, and have no serial. */
export class EarlierRuns {
  private readonly world: World

  constructor(world: World) {
    this.world = world
  }

  /** The running run of this schedule. Two names may have shared an id, so the run's state names its schedule. */
  async find(name: string): Promise<RunRecord | undefined> {
    const run = await this.world.store.get(earlierScheduleRunId(name))
    return run && isAlive(run) && scheduleOf(run) === name ? run : undefined
  }

  /**
   * 0.1.0 found its schedules by listing all runs. This does so once more, for schedules that were dropped
   * from the code before there were records; the others have been taken over by now.
   */
  async endAllBut(wanted: ReadonlySet<string>): Promise<void> {
    const { store, documents, wakeups, clock } = this.world
    if (await documents.get(UPKEEP, LOOKED_THROUGH)) return
    let cursor: string | undefined
    do {
      const page = await store.list({
        workflow: SCHEDULE_WORKFLOW,
        isOpen: true,
        limit: PAGE,
        ...(cursor !== undefined && { cursor }),
      })
      for (const { runId } of page.runs) {
        const run = await store.get(runId)
        const name = run && scheduleOf(run)
        if (
          !run ||
          name === undefined ||
          wanted.has(name) ||
          stateOf(run).serial !== undefined ||
          run.id !== earlierScheduleRunId(name)
        )
          continue
        await wakeups.send((await store.terminate(run.id, NO_LONGER)).wakes)
      }
      cursor = page.cursor
    } while (cursor !== undefined)
    await documents.put(UPKEEP, LOOKED_THROUGH, { at: clock.now() })
  }
}

/** Any client may start a run of this workflow by hand, with any input. */
const scheduleOf = (run: RunRecord): string | undefined => stateOf(run)?.plan?.name
