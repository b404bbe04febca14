import { readFileSync } from 'node:fs'
import { Failure } from './failure.ts'

/** The JSON in a file. */
export function readDefinition(file: string): unknown {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new Failure(`cannot read ${file}: ${(error as Error).message}`)
  }
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw new Failure(`${file} is not JSON: ${(error as Error).message}`)
  }
}

export function nameOf(definition: unknown, file: string): string {
  const { name } = (definition ?? {}) as { name?: unknown }
  if (typeof name !== 'string') throw new Failure(`${file} has no name; give --name`)
  return name
}
