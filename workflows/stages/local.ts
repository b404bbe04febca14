import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Local } from 'overwinter/local'

import type { Stage } from '../suite/stage.ts'
import { byAsking } from './by-asking.ts'
import { schedules, workflows } from './cast.ts'

/** Real time, in a SQLite file. */
export async function localStage(): Promise<Stage & AsyncDisposable> {
  const folder = mkdtempSync(join(tmpdir(), 'overwinter-examples-'))
  const open = () => Local.open({ path: join(folder, 'runs.db'), workflows, log: () => {} })
  let local = await open()
  return {
    get client() {
      return local
    },
    get schedules() {
      return local.schedules
    },
    now: Date.now,
    takes: (_inRealLife, aMoment) => aMoment,
    latenessMs: 60_000,
    until: byAsking({ everyMs: 10, withinMs: 240_000 }),
    skipSleep: (runId) => local.wake(runId),
    async restart() {
      await local.close()
      local = await open()
    },
    syncSchedules: () => local.schedules.sync(schedules),
    async [Symbol.asyncDispose]() {
      await local.close(0)
      rmSync(folder, { recursive: true })
    },
  }
}
