import { styleText } from 'node:util'
import type { Problem } from '../sdk/engine/errors.ts'

const COLOURS = { problem: 'red', warning: 'yellow' } as const

/** One line each: where, and what is the matter. */
export function problemLines(problems: readonly Problem[], kind: keyof typeof COLOURS): string[] {
  return problems.map(({ path, message }) => `${styleText(COLOURS[kind], kind)}  ${path}  ${message}`)
}
