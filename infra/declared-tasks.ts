import { writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { isWorkflow } from '../functions/registry-of.ts'

/**
 * Prints, on file descriptor 3, the types of tasks that the workflows of an entry file declare. It is a
 * process of its own, because a construct cannot await a module, and side effects of the module must not
 * happen in the CDK app.
 */

export interface DeclaredTasks {
  workflow: string
  tasks: readonly string[]
}

const [, , entry] = process.argv
const exports = (await import(pathToFileURL(entry!).href)) as Record<string, unknown>
const declared: DeclaredTasks[] = Object.values(exports)
  .filter(isWorkflow)
  .map(({ name, options }) => ({ workflow: name, tasks: options.tasks ?? [] }))
writeSync(3, JSON.stringify(declared))
// Handles that the module has opened must not keep the process alive.
process.exit(0)
