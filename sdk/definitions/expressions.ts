import jsonata from 'jsonata'
import type { Context } from '../context.ts'
import { pathStep } from '../engine/json.ts'

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
  else if (typeof value === 'object' && value !== null) for (const [key, item] of Object.entries(value)) yield* templatesIn(item, `${where}${pathStep(key)}`)
}

const compiled = new Map<string, jsonata.Expression>()
const REMEMBERED = 10_000

/** JSONata's own clock and dice would give something else on every replay; the run's do not. */
export async function evaluate(expression: string, scope: Scope, ctx: Context): Promise<unknown> {
  let program = compiled.get(expression)
  if (!program) {
    program = jsonata(expression)
    if (compiled.size < REMEMBERED) compiled.set(expression, program)
  }
  const result: unknown = await program.evaluate(scope, { now: () => new Date(ctx.now()).toISOString(), millis: () => ctx.now(), random: () => ctx.random() })
  // JSONata marks its arrays; what comes out is to be plain data.
  return result === undefined ? undefined : (JSON.parse(JSON.stringify(result)) as unknown)
}

/** The config with every expression replaced by what it gives. */
export async function fillIn(value: unknown, scope: Scope, ctx: Context): Promise<unknown> {
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
