import jsonata from 'jsonata'
import type { Context } from '../context.ts'
import { FatalError } from '../engine/errors.ts'
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
/** An expression that never ends would stop everything else; one that is cut off by the clock would end elsewhere in a replay. */
const MOST_CALLS_DEEP = 500
const MOST_EVALUATIONS = 200_000

/** JSONata's own clock and dice would give something else on every replay; the run's do not. */
export async function evaluate(expression: string, scope: Scope, ctx: Context): Promise<unknown> {
  try {
    const ours = { now: () => new Date(ctx.now()).toISOString(), millis: () => ctx.now(), random: () => ctx.random() }
    const result: unknown = await programOf(expression).evaluate(scope, ours)
    // JSONata marks its arrays; what comes out is to be plain data.
    return result === undefined ? undefined : (JSON.parse(JSON.stringify(result)) as unknown)
  } catch (error) {
    // JSONata throws plain objects.
    throw new FatalError(`the expression '${expression.trim()}' failed: ${(error as { message?: string }).message ?? error}`)
  }
}

function programOf(expression: string): jsonata.Expression {
  let program = compiled.get(expression)
  if (!program) {
    program = jsonata(expression, { stack: MOST_CALLS_DEEP })
    program.assign(Symbol.for('jsonata.__evaluate_entry') as unknown as string, countEvaluations())
    if (compiled.size < REMEMBERED) compiled.set(expression, program)
  }
  return program
}

/** Called for every node that is evaluated; the same program may be at work for several runs at once. */
function countEvaluations(): (node: unknown, input: unknown, environment: { base: object }) => void {
  const counts = new WeakMap<object, number>()
  return (_node, _input, { base }) => {
    const count = (counts.get(base) ?? 0) + 1
    if (count > MOST_EVALUATIONS) throw new Error(`it takes more than ${MOST_EVALUATIONS} steps`)
    counts.set(base, count)
  }
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
