import { type Validated, validate, validateEach } from '../base/schema.ts'
import { decode } from '../base/values.ts'
import type { RunRecord } from '../ports/run.ts'
import type { AnyWorkflow } from '../workflow.ts'

/** Parsed when it was accepted, and so the same at every wake. Format 1 did it every time. */
export async function inputOf(
  { format, reparse, input, parsed }: RunRecord,
  { options }: AnyWorkflow,
): Promise<Validated<unknown>> {
  if (reparse && options.batch) return validateEach(options.input, decode(input) as unknown[])
  if (format === 1 || reparse) return validate(options.input, decode(input))
  return { ok: true, value: decode(parsed ?? input) }
}
