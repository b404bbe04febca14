import * as entry from 'overwinter-workflows'
import { type AnyWorkflow, Registry } from '../sdk/index.ts'

/** The workflows among the exports of the user's entry file; what else it exports is its own business. */
export const registry = registryOf(entry)

export function registryOf(exports: Record<string, unknown>): Registry {
  const workflows = new Set(Object.values(exports).filter(isWorkflow))
  if (workflows.size === 0) throw new Error('the entry file exports no workflow; export what `workflow(…)` returns')
  return new Registry(workflows)
}

function isWorkflow(value: unknown): value is AnyWorkflow {
  if (typeof value !== 'object' || value === null) return false
  const { name, version, body } = value as Partial<AnyWorkflow>
  return typeof name === 'string' && typeof version === 'number' && typeof body === 'function'
}
