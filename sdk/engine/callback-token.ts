import { createHmac, timingSafeEqual } from 'node:crypto'
import { InvalidInputError } from '../base/errors.ts'
import { isRunId } from '../base/names.ts'
import type { RunRecord } from '../ports/run.ts'

/**
 * A token names a run and an operation, and proves that this run issued it. It is derived from the run's secret, so
 * it needs no item of its own and is the same on every replay. Its expiry is not in it but in the journal, with the
 * operation's timeout: an operator who retries a failed run sets a new one, and tokens that were issued stay valid.
 */
export function callbackToken(run: Pick<RunRecord, 'id' | 'generation' | 'secret'>, opId: string): string {
  const address = Buffer.from(JSON.stringify([run.id, run.generation, opId])).toString('base64url')
  return `${address}.${proof(run.secret, address)}`
}

/** Where it can be settled over HTTP: the path alone where no address is known. */
export function callbackUrl(address: string | undefined, token: string): string {
  return `${address ?? ''}/callbacks/${token}`
}

export interface CallbackAddress {
  runId: string
  generation: number
  opId: string
  /** Whether this run, in whatever generation, handed it out. */
  isFrom(run: RunRecord): boolean
}

export function readCallbackToken(token: unknown): CallbackAddress {
  if (typeof token !== 'string') throw malformed()
  const [address, given] = token.split('.')
  if (!address || !given) throw malformed()
  let parts: unknown
  try {
    parts = JSON.parse(Buffer.from(address, 'base64url').toString())
  } catch {
    throw malformed()
  }
  if (!Array.isArray(parts)) throw malformed()
  const [runId, generation, opId] = parts as unknown[]
  if (!isRunId(runId) || typeof generation !== 'number' || typeof opId !== 'string') throw malformed()
  return {
    runId,
    generation,
    opId,
    isFrom: (run) => {
      const expected = Buffer.from(proof(run.secret, address))
      const actual = Buffer.from(given)
      return expected.length === actual.length && timingSafeEqual(expected, actual)
    },
  }
}

function proof(secret: string, address: string): string {
  return createHmac('sha256', secret).update(address).digest('base64url')
}

function malformed(): InvalidInputError {
  return new InvalidInputError('this is not a callback token; pass the token that ctx.callback returned, unchanged')
}
