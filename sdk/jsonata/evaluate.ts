import { FatalError } from '../base/errors.ts'
import { boundedJsonata } from './bounded-jsonata.ts'
import { RecentPrograms } from './recent-programs.ts'

/** What JSONata would otherwise take from the process: its own clock and dice give something else every time. */
export interface ClockAndDice {
  now(): number
  random(): number
}

const recent = new RecentPrograms(boundedJsonata)
/** Of an expression, in the message about it. */
const MOST_SHOWN = 200

/** What an expression gives for this data, as plain JSON. */
export async function evaluate(expression: string, data: unknown, from: ClockAndDice): Promise<unknown> {
  try {
    const ours = {
      now: () => new Date(from.now()).toISOString(),
      millis: () => from.now(),
      random: () => from.random(),
    }
    const result: unknown = await recent.programOf(expression).evaluate(data, ours)
    // JSONata marks its arrays; what comes out is to be plain data.
    return result === undefined ? undefined : (JSON.parse(JSON.stringify(result)) as unknown)
  } catch (error) {
    throw new FatalError(`the expression '${shown(expression.trim())}' failed: ${messageOf(error)}`)
  }
}

/** Why an expression cannot be evaluated, whatever with; undefined when it can. What is only checked is not kept. */
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
