import { UnknownWorkflowError } from '../base/errors.ts'
import type { RunRecord } from '../ports/run.ts'
import type { AnyWorkflow, WorkflowSource } from '../workflow.ts'

/** The code of a run. A store that cannot answer says nothing about the workflow. */
export async function findWorkflow(
  run: RunRecord,
  workflows: WorkflowSource,
): Promise<AnyWorkflow | UnknownWorkflowError> {
  try {
    return await workflows.exact(run.workflow, run.version)
  } catch (error) {
    if (error instanceof UnknownWorkflowError) return error
    throw error
  }
}
