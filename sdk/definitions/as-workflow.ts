import { type Workflow, workflow } from '../workflow.ts'
import { type DefinitionResult, interpret, type Parts } from './interpret.ts'
import type { Definition } from './schema.ts'

export type DefinedWorkflow<I = unknown> = Workflow<I, DefinitionResult> & { readonly definition: Definition }

/** A definition that was checked, as an ordinary workflow: the same engine, the same journal. */
export function asWorkflow<I = unknown>(definition: Definition, version: number, parts: Parts): DefinedWorkflow<I> {
  const made = workflow(definition.name, { version, tasks: workersOf(definition) }, (ctx, input: I) =>
    interpret(ctx, definition, input, parts),
  )
  return { ...made, definition }
}

const workersOf = ({ steps }: Definition): string[] =>
  steps.flatMap((step) => (step.type === 'task' && step.worker !== undefined ? [step.worker] : []))
