import { FatalError, InvalidInputError, recordError } from '../base/errors.ts'
import type { ErrorRecord } from '../base/events.ts'
import type { Json } from '../base/json.ts'
import { taskId } from '../base/names.ts'
import { encode } from '../base/values.ts'
import type { RunRecord } from '../ports/run.ts'
import type { TaskStore } from '../ports/tasks.ts'
import { MOST_PAYLOAD_BYTES, type NewTask } from '../tasks/task.ts'
import type { Request } from './operation.ts'

type TaskRequest = Extract<Request, { kind: 'task' }>

/** Why this cannot go to a worker. Nothing is written then. `declared`: by the workflow, if it does declare them. */
export function refusalOfTask(
  tasks: TaskStore,
  declared: readonly string[] | undefined,
  op: string,
  { type, input }: TaskRequest,
): ErrorRecord | undefined {
  try {
    if (declared && !declared.includes(type)) {
      throw new FatalError(
        `the workflow does not declare tasks of type '${type}'; add it to its \`tasks\`, which are: ${declared.join(', ') || 'none'}`,
      )
    }
    const size = Buffer.byteLength(JSON.stringify(encode(input, `the input of task '${op}'`)) ?? '')
    if (size > MOST_PAYLOAD_BYTES)
      throw new InvalidInputError(
        `the input of task '${op}' has ${size} bytes, and a task takes ${MOST_PAYLOAD_BYTES}; store it elsewhere and give a link to it`,
      )
    const refusal = tasks.refusal(type)
    if (refusal !== undefined) throw new FatalError(refusal)
  } catch (error) {
    return recordError(error)
  }
  return undefined
}

/** What a run hands out. `round`: how often an operator has let it go on. */
export function taskOf(
  run: RunRecord,
  op: string,
  { type, policy }: TaskRequest,
  input: Json | undefined,
  round: number,
  now: number,
  inside?: NewTask['inside'],
): NewTask {
  return {
    id: taskId(run, op),
    runId: run.id,
    life: run.createdAt,
    op,
    generation: run.generation,
    round,
    type,
    policy,
    dispatchedAt: now,
    ...(input !== undefined && { input }),
    ...(inside && { inside }),
  }
}
