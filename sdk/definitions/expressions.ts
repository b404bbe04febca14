import type { Context } from '../context.ts'
import { FatalError } from '../engine/errors.ts'
import { pathStep } from '../engine/json.ts'
import { type BoundedExpression, boundedJsonata } from './bounded-jsonata.ts'

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

const compiled = new Map<string, BoundedExpression>()
const REMEMBERED = 10_000
/** Of an expression, in the message about it. */
const MOST_SHOWN = 200

export async function evaluate(expression: string, scope: Scope, ctx: Context): Promise<unknown> {
  try {
    const result = await programOf(expression).evaluate(scope, {
      now: () => new Date(ctx.now()).toISOString(),
      millis: () => ctx.now(),
      random: () => ctx.random(),
    })
    // JSONata marks its arrays; what comes out is to be plain data.
    return result === undefined ? undefined : (JSON.parse(JSON.stringify(result)) as unknown)
  } catch (error) {
    throw new FatalError(`the expression '${shown(expression.trim())}' failed: ${messageOf(error)}`)
  }
}

/** Why it cannot be evaluated, whatever with; undefined when it can. */
export function expressionProblem(expression: string): string | undefined {
  try {
    programOf(expression)
  } catch (error) {
    return messageOf(error)
  }
}

function programOf(expression: string): BoundedExpression {
  let program = compiled.get(expression)
  if (!program) {
    program = boundedJsonata(expression)
    if (compiled.size < REMEMBERED) compiled.set(expression, program)
  }
  return program
}

/** JSONata throws plain objects. */
const messageOf = (error: unknown): string => (error as { message?: string }).message ?? String(error)

const shown = (text: string): string => (text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text)

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
