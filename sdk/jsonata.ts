import jsonata from 'jsonata'
import { FatalError } from './engine/errors.ts'

/** What JSONata would otherwise take from the process: its own clock and dice give something else every time. */
export interface ClockAndDice {
  now(): number
  random(): number
}

const compiled = new Map<string, jsonata.Expression>()
const REMEMBERED = 10_000
/** An expression that never ends would stop everything else; one that is cut off by the clock would end elsewhere in a replay. */
const MOST_CALLS_DEEP = 500
const MOST_EVALUATIONS = 200_000

/** What an expression gives for this data, as plain JSON. */
export async function evaluate(expression: string, data: unknown, from: ClockAndDice): Promise<unknown> {
  try {
    const ours = { now: () => new Date(from.now()).toISOString(), millis: () => from.now(), random: () => from.random() }
    const result: unknown = await programOf(expression).evaluate(data, ours)
    // JSONata marks its arrays; what comes out is to be plain data.
    return result === undefined ? undefined : (JSON.parse(JSON.stringify(result)) as unknown)
  } catch (error) {
    // JSONata throws plain objects.
    throw new FatalError(`the expression '${expression.trim()}' failed: ${(error as { message?: string }).message ?? error}`)
  }
}

/** What is wrong with how an expression is written; undefined for one that can be evaluated. */
export function syntaxProblem(expression: string): string | undefined {
  try {
    jsonata(expression)
    return undefined
  } catch (error) {
    return `is not JSONata: ${(error as { message: string }).message}`
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

/** Called for every node that is evaluated; the same program may be at work several times at once. */
function countEvaluations(): (node: unknown, input: unknown, environment: { base: object }) => void {
  const counts = new WeakMap<object, number>()
  return (_node, _input, { base }) => {
    const count = (counts.get(base) ?? 0) + 1
    if (count > MOST_EVALUATIONS) throw new Error(`it takes more than ${MOST_EVALUATIONS} steps`)
    counts.set(base, count)
  }
}
