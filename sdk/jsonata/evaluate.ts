import { FatalError } from '../base/errors.ts'
import { boundedJsonata } from './bounded-jsonata.ts'
import { RecentPrograms } from './recent-programs.ts'

/** Replaces the process's clock and random numbers, which would differ on every replay. */
export interface ClockAndDice {
  now(): number
  random(): number
}

const recent = new RecentPrograms(boundedJsonata)
/** How much of an expression its error message shows. */
const MOST_SHOWN = 200

/** The value of an expression for this data, as plain JSON. */
export async function evaluate(expression: string, data: unknown, from: ClockAndDice): Promise<unknown> {
  try {
    const ours = {
      now: () => new Date(from.now()).toISOString(),
      millis: () => from.now(),
      random: () => from.random(),
    }
    const result: unknown = await recent.programOf(expression).evaluate(data, ours)
    // JSONata marks its arrays; the result must be plain data.
    return result === undefined ? undefined : (JSON.parse(JSON.stringify(result)) as unknown)
  } catch (error) {
    throw new FatalError(`the expression '${shown(expression.trim())}' failed: ${messageOf(error)}`)
  }
}

/** The syntax error of an expression; undefined if it has none. The parsed program is not cached. */
export function syntaxProblem(expression: string): string | undefined {
  try {
    boundedJsonata(expression)
    return undefined
  } catch (error) {
    return `cannot be evaluated as JSONata: ${messageOf(error)}`
  }
}

/** JSONata throws plain objects. */
const messageOf = (error: unknown): string => (error as { message?: string }).message ?? String(error)

const shown = (text: string): string => (text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text)
