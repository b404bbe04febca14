import type { Schema } from '../base/schema.ts'
import { signal } from '../workflow.ts'
import { nextTime, type Plan } from './plan.ts'

/** The messages to a schedule's run. Updates of 0.1.0 have no serial. */
export type Control = { action: 'pause' | 'resume' | 'trigger' } | { action: 'update'; plan: Plan; serial?: number }

/** Any client that may signal a run can send one of these; an invalid one must not reach a schedule. */
const schema: Schema<unknown, Control> = {
  '~standard': {
    version: 1,
    vendor: 'overwinter',
    validate: (value) =>
      isControl(value) ? { value } : { issues: [{ message: 'is no command that a schedule understands' }] },
  },
}

export const control = signal('schedule control', schema)

function isControl(value: unknown): value is Control {
  if (typeof value !== 'object' || value === null) return false
  const { action, plan, serial } = value as { action?: unknown; plan?: unknown; serial?: unknown }
  if (action === 'pause' || action === 'resume' || action === 'trigger') return true
  return action === 'update' && isPlan(plan) && (serial === undefined || Number.isInteger(serial))
}

function isPlan(value: unknown): value is Plan {
  if (typeof value !== 'object' || value === null) return false
  const { workflow, version, everyMs } = value as Partial<Plan>
  if (typeof workflow !== 'string' || !Number.isInteger(version)) return false
  if (everyMs !== undefined) return typeof everyMs === 'number' && everyMs > 0
  try {
    return nextTime(value as Plan, 0) !== undefined
  } catch {
    return false
  }
}
