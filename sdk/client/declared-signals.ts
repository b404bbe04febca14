import { MisfitError, UnknownSignalError } from '../base/errors.ts'
import type { Json } from '../base/json.ts'
import { validateIfNow } from '../base/schema.ts'
import { decode } from '../base/values.ts'
import type { RunState } from '../ports/run.ts'
import { isRequest, type Registry } from '../workflow.ts'

interface Sent {
  kind: 'signal' | 'request'
  name: string
  payload: Json | undefined
}

/**
 * Where the code says what it waits for, nothing else is taken, and nothing that does not fit. The code of
 * stored definitions, and what is not deployed here, does not say. A schema that needs time to look is asked
 * when the run takes it.
 */
export function refuseUndeclared(
  registry: Registry,
  { id, workflow, version }: RunState,
  { kind, name, payload }: Sent,
): void {
  const declared = registry.find(workflow, version)?.options.signals
  if (!declared) return
  const found = declared.find((each) => each.name === name)
  if (found && (kind === 'signal' || isRequest(found))) {
    const checked = validateIfNow(found.schema, decode(payload))
    if (checked?.ok === false)
      throw new MisfitError(
        `the payload of ${kind} '${name}' does not fit its schema; change what is listed here and try again`,
        checked.problems,
      )
    return
  }
  const known = declared.filter((each) => kind === 'signal' || isRequest(each)).map((each) => each.name)
  const why = found
    ? `takes '${name}' as a signal, to which there is no reply; send it with signal. Requests`
    : `does not wait for ${kind}s named '${name}'; known`
  throw new UnknownSignalError(`run '${id}' of workflow '${workflow}' ${why}: ${known.join(', ') || 'none'}`, known)
}
