import { type AnyWorkflow, type Workflow, workflow } from '../workflow.ts'
import { type DefinitionResult, type Handler, interpret, type TaskInput } from './interpret.ts'
import type { Definition } from './schema.ts'
import { parseDefinition } from './validate.ts'

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

export type DefinedWorkflow<I = unknown> = Workflow<I, DefinitionResult> & { readonly definition: Definition }

/** A definition as an ordinary workflow: the same engine, the same journal. Refused with every problem and its path. */
export function define<I = unknown>(json: unknown, { handlers = [], workflows = [] }: DefineOptions = {}): DefinedWorkflow<I> {
  const parts = {
    handlers: new Map(handlers.map(({ name, run }) => [name, run])),
    workflows: new Map(workflows.map((each) => [each.name, each])),
  }
  const definition = parseDefinition(json, { handlers: new Set(parts.handlers.keys()), workflows: new Set(parts.workflows.keys()) })
  const made = workflow(definition.name, { version: versionOf(definition) }, (ctx, input: I) => interpret(ctx, definition, input, parts))
  return { ...made, definition }
}

/** '1.0' and 1 are version 1 of the workflow: runs stay on it while version 2 lives beside it. */
function versionOf({ version = 1 }: Definition): number {
  const major = Math.trunc(Number.parseFloat(String(version)))
  return Number.isInteger(major) && major > 0 ? major : 1
}
