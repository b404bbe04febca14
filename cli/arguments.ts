import { readFileSync } from 'node:fs'
import { InvalidArgumentError } from 'commander'

/** JSON as given, `@file` for the content of a file, `-` for standard input. */
export function jsonArgument(text: string): unknown {
  const source =
    text === '-' ? readText(0, 'standard input') : text.startsWith('@') ? readText(text.slice(1), text.slice(1)) : text
  try {
    return JSON.parse(source) as unknown
  } catch (error) {
    const hint = text === source ? ` A string needs its quotes: '"text"'. For a file, write @file.` : ''
    throw new InvalidArgumentError(`It is not JSON: ${(error as Error).message}.${hint}`)
  }
}

function readText(file: string | number, name: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new InvalidArgumentError(`Cannot read ${name}: ${(error as Error).message}`)
  }
}

export const listArgument = (text: string, before: string[] = []): string[] => [...before, text]

export function countArgument(text: string): number {
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1 || count > 1_000)
    throw new InvalidArgumentError('It must be a whole number from 1 to 1000.')
  return count
}

export function wholeArgument(text: string): number {
  const whole = Number(text)
  if (!Number.isInteger(whole) || whole < 1) throw new InvalidArgumentError('It must be a whole number from 1.')
  return whole
}

export function portArgument(text: string): number {
  const port = Number(text)
  if (text === '' || !Number.isInteger(port) || port < 0 || port > 65_535)
    throw new InvalidArgumentError(`a port is a whole number from 0 to 65535, got '${text}'`)
  return port
}
