import { type AnyWorkflow, Registry, type Schedule } from '../sdk/index.ts'
import { withSchedules } from '../sdk/schedule.ts'

/** The workflows among the exports of an entry file, those of its schedules included; what else it exports is its own business. */
export function registryOf(exports: Record<string, unknown>): Registry {
  const workflows = new Set(Object.values(exports).filter(isWorkflow))
  const schedules = schedulesOf(exports)
  if (workflows.size + schedules.length === 0) throw new Error('the entry file exports no workflow; export what `workflow(…)` returns')
  return new Registry(withSchedules(workflows, schedules))
}

export function schedulesOf(exports: Record<string, unknown>): Schedule[] {
  return [...new Set(Object.values(exports).filter(isSchedule))]
}

/** By shape, not by class: the entry file may have loaded a copy of the library of its own. */
export function isWorkflow(value: unknown): value is AnyWorkflow {
  if (typeof value !== 'object' || value === null) return false
  const { name, version, body } = value as Partial<AnyWorkflow>
  return typeof name === 'string' && typeof version === 'number' && typeof body === 'function'
}

export function isSchedule(value: unknown): value is Schedule {
  if (typeof value !== 'object' || value === null) return false
  const { name, workflow, plan } = value as Partial<Schedule>
  return typeof name === 'string' && isWorkflow(workflow) && typeof plan === 'object'
}
