import { Schedules } from '../../sdk/index.ts'
import type { Stage } from '../../workflows/suite/stage.ts'
import { PATIENCE_MS } from '../outside/patience.ts'
import { type Deployment, eventually, invoke } from './deployment.ts'

/** Real time, deployed by cdk and called over HTTP. */
export function deployedStage({ client, outputs }: Deployment): Stage {
  return {
    client,
    schedules: new Schedules(client),
    now: Date.now,
    takes: (_inRealLife, aMoment) => aMoment,
    latenessMs: 60_000,
    until: (what, probe) => eventually(what, probe, PATIENCE_MS),
    skipSleep: (runId) => client.wake(runId),
    // Between two waits there is no process here that could be killed; trouble.test.ts kills them within a step.
    restart: async () => {},
    async syncSchedules() {
      await invoke(outputs.SchedulesFunction)
    },
  }
}
