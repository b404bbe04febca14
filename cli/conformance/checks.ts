import { isDeepStrictEqual } from 'node:util'
import { paint } from '../terminal.ts'

/** Checks by what they verify. A check throws when it fails. */
export type Checks = Record<string, () => Promise<void>>

export interface Outcome {
  name: string
  /** Why the check failed. */
  problem?: string
}

export async function tryOne(name: string, check: () => Promise<void>): Promise<Outcome> {
  try {
    await check()
    return { name }
  } catch (error) {
    return { name, problem: error instanceof Error ? error.message : String(error) }
  }
}

export function outcomeLine({ name, problem }: Outcome): string {
  return problem === undefined ? `${paint('green', '✓')} ${name}` : `${paint('red', '✗')} ${name}: ${problem}`
}

export function mustBe(what: string, actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected))
    throw new Error(`${what} should be ${JSON.stringify(expected)}, and is ${JSON.stringify(actual)}`)
}

export function must(what: string, isSo: boolean): void {
  if (!isSo) throw new Error(what)
}

/** Repeats a probe, for a minute at most. */
export async function eventually(what: string, probe: () => Promise<boolean>, withinMs = 60_000): Promise<void> {
  for (const until = Date.now() + withinMs; Date.now() < until; ) {
    if (await probe()) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`not after ${withinMs / 1000} s: ${what}`)
}
