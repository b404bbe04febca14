import { checkName } from '../../../../sdk/base/names.ts'
import type { Checks } from '../../checks.ts'

/** What a request may have around it. */
export const ENVELOPE_BYTES = 16_384
export const MOST_TASKS = 100
const MOST_TYPES = 50

export function checkId(checks: Checks, path: string, value: unknown): void {
  checks.check(path, () => checkName('it', value))
}

export function checkTypes(checks: Checks, value: unknown): void {
  if (!Array.isArray(value) || value.length === 0 || value.length > MOST_TYPES) {
    checks.require('$.task_types', false, `must be a list of 1 to ${MOST_TYPES} types of tasks`)
    return
  }
  for (const [i, type] of value.entries()) checkId(checks, `$.task_types[${i}]`, type)
}

export function checkMost(checks: Checks, value: unknown): void {
  checks.require('$.max_tasks', isWhole(value, 1, MOST_TASKS), `must be a whole number from 1 to ${MOST_TASKS}`)
}

export function isWhole(value: unknown, from: number, to: number): value is number {
  return Number.isInteger(value) && (value as number) >= from && (value as number) <= to
}
