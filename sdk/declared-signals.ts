import { UnknownSignalError } from './engine/errors.ts'
import type { RunState } from './ports.ts'
import { isRequest, type Registry } from './workflow.ts'

/** Where the code says what it waits for, nothing else is taken. The code of stored definitions, and what is not deployed here, does not say. */
export function refuseUndeclared(registry: Registry, { id, workflow, version }: RunState, name: string, kind: 'signal' | 'request'): void {
  const declared = registry.find(workflow, version)?.options.signals
  if (!declared) return
  const found = declared.find((each) => each.name === name)
  if (found && (kind === 'signal' || isRequest(found))) return
  const known = declared.filter((each) => kind === 'signal' || isRequest(each)).map((each) => each.name)
  const why = found
    ? `takes '${name}' as a signal, to which there is no reply; send it with signal. Requests`
    : `does not wait for ${kind}s named '${name}'; known`
  throw new UnknownSignalError(`run '${id}' of workflow '${workflow}' ${why}: ${known.join(', ') || 'none'}`, known)
}
