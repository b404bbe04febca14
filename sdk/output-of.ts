import type { RunView } from './client.ts'
import { unreadable } from './codec/codec.ts'
import { GoneError, RunFailedError, reviveError, TimeoutError } from './engine/errors.ts'
import { decode } from './engine/values.ts'
import { hasEnded } from './ports.ts'

/** What `result` gives for a run as it stands, whichever client asked for it. */
export function outputOf<O>({ id, status, output, error }: RunView): O {
  const reason = unreadable(output)
  if (reason !== undefined) throw new GoneError(`the output of run '${id}' cannot be read: ${reason}`)
  if (status === 'completed') return decode(output) as O
  if (hasEnded(status) || status === 'stuck') throw new RunFailedError(id, status, error && reviveError(error))
  throw new TimeoutError(`run '${id}' is still ${status}; it goes on, ask again later`)
}
