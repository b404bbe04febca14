import type { NamedHandler } from '../sdk/definitions/define.ts'
import { type AnyWorkflow, type LocalFunction, Registry, type Schedule } from '../sdk/index.ts'
import { withSchedules } from '../sdk/schedule.ts'

/** The workflows among the exports of an entry file, with those of its schedules; other exports are ignored. */
export function registryOf(exports: Record<string, unknown>): Registry {
  const workflows = new Set(Object.values(exports).filter(isWorkflow))
  const schedules = schedulesOf(exports)
  if (workflows.size + schedules.length + handlersOf(exports).length === 0) {
    throw new Error('the entry file exports no workflow; export what `workflow(…)` returns')
  }
  return new Registry(withSchedules(workflows, schedules))
}

export function schedulesOf(exports: Record<string, unknown>): Schedule[] {
  return [...new Set(Object.values(exports).filter(isSchedule))]
}

/** The handlers that stored definitions may call by name. */
export function handlersOf(exports: Record<string, unknown>): NamedHandler[] {
  return eachWithItsName('handlers', Object.values(exports).filter(isHandler))
}

export function eachWithItsName<T extends { name: string }>(what: string, exported: T[]): T[] {
  const all = [...new Set(exported)]
  const names = all.map(({ name }) => name)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) throw new Error(`two ${what} are named '${twice}'; give one of them another name`)
  return all
}

/** The functions that `ctx.invoke` calls where there is no Lambda. */
export function localFunctionsOf(exports: Record<string, unknown>): LocalFunction[] {
  return [...new Set(Object.values(exports).filter(isLocalFunction))]
}

/** Checked by shape, not by class: the entry file may have loaded its own copy of the library. */
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

export function isHandler(value: unknown): value is NamedHandler {
  if (typeof value !== 'object' || value === null) return false
  const { name, run } = value as Partial<NamedHandler>
  return typeof name === 'string' && typeof run === 'function'
}

export function isLocalFunction(value: unknown): value is LocalFunction {
  if (typeof value !== 'object' || value === null) return false
  const { functionName, invoked } = value as Partial<LocalFunction>
  return typeof functionName === 'string' && typeof invoked === 'function'
}
