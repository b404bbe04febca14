import { pathStep } from '../base/json.ts'
import { type ClockAndDice, evaluate } from '../jsonata/evaluate.ts'

/** What expressions see. */
export interface Scope {
  input: unknown
  /** Outputs by step name. */
  steps: Record<string, unknown>
}

const TEMPLATE = /^\{\{([\s\S]*)\}\}$/

/** The expressions in a config, each with its path. */
export function* templatesIn(value: unknown, where = ''): Generator<{ where: string; expression: string }> {
  if (typeof value === 'string') {
    const expression = TEMPLATE.exec(value)?.[1]
    if (expression !== undefined) yield { where, expression }
  } else if (Array.isArray(value)) for (const [i, item] of value.entries()) yield* templatesIn(item, `${where}[${i}]`)
  else if (typeof value === 'object' && value !== null)
    for (const [key, item] of Object.entries(value)) yield* templatesIn(item, `${where}${pathStep(key)}`)
}

/** The config with every expression replaced by what it gives. */
export async function fillIn(value: unknown, scope: Scope, ctx: ClockAndDice): Promise<unknown> {
  if (typeof value === 'string') {
    const expression = TEMPLATE.exec(value)?.[1]
    return expression === undefined ? value : evaluate(expression, scope, ctx)
  }
  if (Array.isArray(value)) {
    const items: unknown[] = []
    for (const item of value) items.push((await fillIn(item, scope, ctx)) ?? null)
    return items
  }
  if (typeof value !== 'object' || value === null) return value
  const filled: Record<string, unknown> = {}
  for (const [key, item] of Object.entries(value)) filled[key] = await fillIn(item, scope, ctx)
  return filled
}
