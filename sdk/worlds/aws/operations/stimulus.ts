import { updateIf } from '../conditional.ts'
import type { Aws } from '../context.ts'
import { change, type Expression } from '../expressions.ts'
import { runKey } from '../keys.ts'
import type { RunItem } from '../run-item.ts'

/** One more thing has come from outside (I6). Counting it twice does no harm: the run looks once more. */
export const STIMULUS: Expression = { text: '#stimulus = #stimulus + :one', values: { ':one': 1 } }

export async function markStimulus(aws: Aws, runId: string, condition: Expression): Promise<boolean> {
  return (await updateIf<RunItem>(aws, runKey(runId), change({}, STIMULUS), condition)).ok
}
