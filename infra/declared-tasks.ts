import { writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { isWorkflow } from '../functions/registry-of.ts'

/**
 * A process of its own, because a construct cannot wait for a module to load, and what the module does besides must not happen in the CDK app. Says on file
 * descriptor 3 which types of tasks the workflows of an entry file hand out.
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
// Whatever the module has opened must not keep it.
process.exit(0)
