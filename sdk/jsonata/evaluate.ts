import { FatalError } from '../engine/errors.ts'
import { type BoundedExpression, boundedJsonata } from './bounded-jsonata.ts'

/** What JSONata would otherwise take from the process: its own clock and dice give something else every time. */
export interface ClockAndDice {
  now(): number
  random(): number
}

const compiled = new Map<string, BoundedExpression>()
const REMEMBERED = 10_000
/** Of an expression, in the message about it. */
const MOST_SHOWN = 200

/** What an expression gives for this data, as plain JSON. */
export async function evaluate(expression: string, data: unknown, from: ClockAndDice): Promise<unknown> {
  try {
    const ours = { now: () => new Date(from.now()).toISOString(), millis: () => from.now(), random: () => from.random() }
    const result: unknown = await programOf(expression).evaluate(data, ours)
    // JSONata marks its arrays; what comes out is to be plain data.
    return result === undefined ? undefined : (JSON.parse(JSON.stringify(result)) as unknown)
  } catch (error) {
    throw new FatalError(`the expression '${shown(expression.trim())}' failed: ${messageOf(error)}`)
  }
}

/** Why an expression cannot be evaluated, whatever with; undefined when it can. */
export function syntaxProblem(expression: string): string | undefined {
  try {
    programOf(expression)
    return undefined
  } catch (error) {
    return `cannot be evaluated as JSONata: ${messageOf(error)}`
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
