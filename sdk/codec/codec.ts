import { InvalidInputError } from '../base/errors.ts'
import type { RunRecord } from '../ports/run.ts'

/** The run a payload belongs to: a codec may choose a key by it. */
export type PayloadOf = Pick<RunRecord, 'workflow' | 'tags'> & { runId: string }

/**
 * Transforms payloads before they are stored and back when they are read, for example to encrypt them.
 * Payloads are inputs, outputs, results, signals, errors and progress. Names, ids, tags, states and times, by
 * which runs are found and steered, stay as they are.
 */
export interface Codec {
  /** `json` is the payload as JSON. The result must contain all that `decode` needs, such as the name of a key. */
  encode(json: string, of: PayloadOf): string | Promise<string>
  /** Throws if the payload cannot be decoded, or can no longer be. */
  decode(encoded: string): string | Promise<string>
}

/** The codec that a module exports as default. A missing one is an error: it must not lead to plain payloads. */
export function codecOf(module: { default?: unknown }): Codec {
  const codec = module.default as Partial<Codec> | null | undefined
  if (typeof codec?.encode === 'function' && typeof codec.decode === 'function') return codec as Codec
  throw new InvalidInputError(
    'the module of the codec must have a codec as its default export: an object with the functions `encode` ' +
      'and `decode`',
  )
}

/** A payload that could not be decoded, as readers of a run see it. */
export class Unreadable {
  readonly '~unreadable': string

  constructor(reason: string) {
    this['~unreadable'] = reason
  }
}

/** Why a payload cannot be read, also where it came through the API; undefined for a readable one. */
export function unreadable(payload: unknown): string | undefined {
  const reason =
    typeof payload === 'object' && payload !== null ? (payload as Partial<Unreadable>)['~unreadable'] : undefined
  return typeof reason === 'string' && Object.keys(payload as object).length === 1 ? reason : undefined
}
