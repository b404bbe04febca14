import type { AnyWorkflow } from '../workflow.ts'
import { asWorkflow, type DefinedWorkflow } from './as-workflow.ts'
import type { Handler, TaskInput } from './interpret.ts'
import type { Definition } from './schema.ts'
import { parseDefinition } from './validate.ts'

export type { DefinedWorkflow } from './as-workflow.ts'

export interface NamedHandler {
  readonly name: string
  readonly run: Handler
}

/** A function that definitions may call by name. */
export function handler(name: string, run: (task: TaskInput) => unknown): NamedHandler {
  return { name, run }
}

export interface DefineOptions {
  handlers?: readonly NamedHandler[]
  /** Workflows that `workflow` steps may run. */
  workflows?: readonly AnyWorkflow[]
}

/**
 * A definition as an ordinary workflow: the same engine, the same journal. Throws all problems, each with its
 * path.
 */
export function define<I = unknown>(
  json: unknown,
  { handlers = [], workflows = [] }: DefineOptions = {},
): DefinedWorkflow<I> {
  const parts = {
    handlers: new Map(handlers.map(({ name, run }) => [name, run])),
    workflows: new Map(workflows.map((each) => [each.name, each])),
  }
  const definition = parseDefinition(json, {
    handlers: new Set(parts.handlers.keys()),
    workflows: new Set(parts.workflows.keys()),
  })
  return asWorkflow(definition, versionOf(definition), parts)
}

/** '1.0' and 1 are version 1 of the workflow: runs stay on it while version 2 lives beside it. */
function versionOf({ version = 1 }: Definition): number {
  const major = Math.trunc(Number.parseFloat(String(version)))
  return Number.isInteger(major) && major > 0 ? major : 1
}
