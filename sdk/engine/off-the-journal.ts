import { mismatch, NonDeterminismError } from '../base/errors.ts'
import { type Delivery, describeDelivery } from '../base/events.ts'
import { topFrame } from '../base/stacks.ts'
import type { RunRecord } from '../ports/run.ts'
import type { Operation } from './operation.ts'
import type { CodeEnd } from './replay.ts'

/** What the code should have come to: something that happened, or an operation that was opened. */
export type Journaled = Delivery | { id: string; kind: string }

interface Code {
  end: CodeEnd | undefined
  failure: Error | undefined
  operations: ReadonlyMap<string, Operation>
}

/** Why the code did not come to what its journal goes on with: it threw, it ended, or it waits for something else. */
export function offTheJournal(run: RunRecord, journaled: Journaled, code: Code, where: string): NonDeterminismError {
  const next = 'type' in journaled ? describeDelivery(journaled) : `${journaled.kind} '${journaled.id}'`
  const expected = `its history goes on with ${next}`
  const thrown = code.end?.kind === 'threw' ? code.end.error : code.failure
  if (thrown) return threw(run, expected, thrown, where)
  return mismatch(run, expected, whatItDoes(code), where)
}

/** The thrown error is the cause. */
function threw(run: RunRecord, expected: string, thrown: Error, where: string): NonDeterminismError {
  return new NonDeterminismError(
    `the code of workflow '${run.workflow}' (version ${run.version}) does not fit the history of run '${run.id}': ` +
      `after ${where}, ${expected}, but the code ${describeThrow(thrown)}. When the run came here first, it did not. ` +
      'The run is stuck, and nothing is lost. Results from before a change may lack what the new code reads: ' +
      'let the code take them too, deploy, and retry the run',
    { cause: thrown },
  )
}

function whatItDoes({ end, operations }: Code): string {
  if (end) return 'the code had already ended'
  const waiting = [...operations.values()].filter(({ settled }) => !settled)
  const names = waiting.slice(0, 5).map(({ kind, id }) => `${kind} '${id}'`)
  return `the code waits for ${names.join(', ') || 'nothing'}`
}

/** "threw TypeError: x is undefined at order.ts:62" */
function describeThrow({ name, message, stack }: Error): string {
  const [, line] = /([^/\\]+:\d+):\d+$/.exec(topFrame(stack) ?? '') ?? []
  return `threw ${name || 'Error'}: ${message}${line === undefined ? '' : ` at ${line}`}`
}
