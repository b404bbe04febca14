import type { Problem } from '../sdk/base/errors.ts'
import { paint } from './terminal.ts'

const COLOURS = { problem: 'red', warning: 'yellow' } as const

/** One line each: the path and the problem. */
export function problemLines(problems: readonly Problem[], kind: keyof typeof COLOURS): string[] {
  return problems.map(({ path, message }) => `${paint(COLOURS[kind], kind)}  ${path}  ${message}`)
}
