import { FatalError } from '../base/errors.ts'
import { FORMAT } from '../base/names.ts'

/** A journal is loaded whole. One of more JSON than this would take its runner down. */
const MOST_JOURNAL_BYTES = 256 * 1_048_576

/** The run cannot be gone on with as it is stored. */
export class UnreadableRunError extends FatalError {
  override name = 'UnreadableRunError'
}

/** What to do about a run of which something is gone. To restore the table would set back every other run too. */
export const LOOK_FOR_WHAT_IS_GONE =
  'Find out who or what deleted it. To get it back, restore the table to a new one and copy the items ' +
  'of this run from there (docs/operate.md, "A way back"); ' +
  'or terminate the run and start it anew'

export function refuseTooLarge(runId: string, bytes: number): void {
  if (bytes <= MOST_JOURNAL_BYTES) return
  throw new UnreadableRunError(
    `the history of run '${runId}', with all its results, has ${Math.round(bytes / 1_048_576)} MB, and ` +
      `${MOST_JOURNAL_BYTES / 1_048_576} MB can be loaded. ` +
      'Keep large results elsewhere and return references to them, or begin a new history now and then ' +
      'with ctx.continueAsNew',
  )
}

export function refuseNewer(what: string, format: number): never {
  throw new UnreadableRunError(
    `${what} was written by a newer version of overwinter (format ${format}; this one reads up to ` +
      `${FORMAT}). Nothing was changed. Use that version, or a newer one`,
  )
}
