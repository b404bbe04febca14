import type { Json } from '../../base/json.ts'
import { isSameSpec, type LimitSpec } from '../../flow/limiter/limit.ts'
import {
  isOver,
  LIMITS,
  type LimitRecord,
  recordsOf,
  rememberingSlots,
  specInForce,
} from '../../flow/limiter/limit-record.ts'
import type { LimiterId } from '../../flow/limiter/limiter.ts'
import { inWords } from '../../flow/limiter/readable.ts'
import type { Document } from '../../ports/documents.ts'
import { ask, type Procedure } from '../procedure.ts'
import type { Storage } from '../storage.ts'

/** A limit as it counts now. */
export interface InForce {
  spec: LimitSpec
  isPaused: boolean
  /** Of a pause: the version of its record, which is deleted once the queue is empty. */
  ends?: number
  /** Of a pause: how often it was paused again while it was resumed. */
  round?: number
  /** The cooldown of all keys. */
  cooldownUntil?: number
  /** Slots up to this number may be held. */
  widest: number
  /** The record cannot be read: nothing is granted. Says what is wrong. */
  unreadable?: string
}

export function* limitOf(storage: Storage, id: LimiterId): Procedure<InForce> {
  const found = yield* ask(storage.documents.get(recordsOf(id.limit), id.limit))
  const isRead = !found?.unreadable
  return isRead && isOver(id, found?.value as LimitRecord | undefined) ? NO_LIMIT : inForce(id.limit, found)
}

/** Puts the limit of the code on record, for processes without the code, and for people. */
export function* noteLimit(storage: Storage, id: LimiterId, code: LimitSpec): Procedure<InForce> {
  const found = yield* ask(storage.documents.get(LIMITS, id.limit))
  const record = found?.value as LimitRecord | undefined
  // A record that cannot be read is left to people: what an operator had set may be in it.
  if (record && (found!.unreadable || isSameSpec(record.code, code))) return inForce(id.limit, found)
  const noted = record ? rememberingSlots(record, { ...record, code }) : { code }
  const options = { ifVersion: found?.version ?? 0 }
  const written = yield* ask(storage.documents.put(LIMITS, id.limit, noted as unknown as Json, options))
  return written ? inForce(id.limit, written) : yield* limitOf(storage, id)
}

/** The service behind the limit asked for a cooldown: for so long nothing is granted, whatever the key. */
export function* coolDown(storage: Storage, limit: string, spec: LimitSpec, ms: number): Procedure<void> {
  yield* noteLimit(storage, { limit }, spec)
  for (;;) {
    const found = yield* ask(storage.documents.get(LIMITS, limit))
    const record = found?.value as LimitRecord | undefined
    const restUntil = storage.now() + ms
    if (!found || found.unreadable || (record!.restUntil ?? 0) >= restUntil) return
    const options = { ifVersion: found.version }
    if (yield* ask(storage.documents.put(LIMITS, limit, { ...record, restUntil } as unknown as Json, options))) return
  }
}

const NO_LIMIT: InForce = { spec: {}, isPaused: false, widest: 0 }

function inForce(limit: string, found: Document | undefined): InForce {
  const record = found?.value as LimitRecord | undefined
  const spec = specInForce(record)
  return {
    spec,
    isPaused: record?.paused === true,
    widest: Math.max(record?.widest ?? 0, spec.concurrency ?? 0),
    ...(found?.unreadable && { unreadable: inWords(recordsOf(limit), found) }),
    ...(found && record!.ends && { ends: found.version }),
    ...(record?.round !== undefined && { round: record.round }),
    ...(record?.restUntil !== undefined && { cooldownUntil: record.restUntil }),
  }
}
