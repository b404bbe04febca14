import type { Schedule } from '../schedule.ts'
import { type AnyWorkflow, Registry, workflow } from '../workflow.ts'
import { Clockwork, type Find } from './clockwork.ts'
import { SCHEDULE_WORKFLOW, type ScheduleState } from './state.ts'

/** The workflows of a module that also has schedules: its own, and the workflow of all schedules' own runs. */
export function withSchedules(workflows: Iterable<AnyWorkflow>, schedules: readonly Schedule[]): AnyWorkflow[] {
  const all = new Set([...workflows, ...schedules.map((each) => each.workflow)])
  if (schedules.length === 0) return [...all]
  const registry = new Registry(all)
  return [...all, scheduleWorkflow((name, version) => registry.exact(name, version))]
}

/**
 * A schedule is a run like any other: it sleeps until it is due, which costs nothing, starts the workflow, and
 * continues as new. So it survives what every run survives, and needs nothing that runs do not have.
 *
 * Its journals outlive the code that wrote them, and it must never fail. So its next action depends on its
 * journal alone, and not on the workflows of the current code: see `cannotStart`.
 */
function scheduleWorkflow(find: Find): AnyWorkflow {
  return workflow(SCHEDULE_WORKFLOW, async (ctx, state: ScheduleState) =>
    new Clockwork(ctx, structuredClone(state), find).run(),
  )
}
