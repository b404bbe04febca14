import { InvalidInputError } from '../base/errors.ts'
import type { RunRecord } from '../ports/run.ts'

/** Whose payload it is: what a codec may choose a key by. */
export type PayloadOf = Pick<RunRecord, 'workflow' | 'tags'> & { runId: string }

/**
 * Makes something else of payloads before they are stored, and payloads of that again: inputs, outputs, results, signals, errors, progress.
 * To encrypt them, for example. What runs are found and steered by stays as it is: names, ids, tags, states, times.
 */
export interface Codec {
  /** `json` is the payload as JSON. What comes out has to say everything that `decode` needs, the name of a key for instance. */
  encode(json: string, of: PayloadOf): string | Promise<string>
  /** Throws where that is not possible, or not any more. */
  decode(encoded: string): string | Promise<string>
}

/** The codec that a module has as its default export. One that has none is a mistake, which must not end in plain payloads. */
export function codecOf(module: { default?: unknown }): Codec {
  const codec = module.default as Partial<Codec> | null | undefined
  if (typeof codec?.encode === 'function' && typeof codec.decode === 'function') return codec as Codec
  throw new InvalidInputError(
    'the module of the codec must have a codec as its default export: an object with the functions `encode` and `decode`',
  )
}

/** A payload that could not be decoded, as readers of a run see it. */
export class Unreadable {
  readonly '~unreadable': string

  constructor(reason: string) {
    this['~unreadable'] = reason
  }
}

/** Why a payload cannot be read, also where it came by the API; undefined for one that can. */
export function unreadable(payload: unknown): string | undefined {
  const reason =
    typeof payload === 'object' && payload !== null ? (payload as Partial<Unreadable>)['~unreadable'] : undefined
  return typeof reason === 'string' && Object.keys(payload as object).length === 1 ? reason : undefined
}
