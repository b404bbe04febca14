import type { Json } from '../../base/json.ts'
import {
  type Coalesced,
  type NewStart,
  REPEATS,
  REPEATS_KEPT_MS,
  type Repeat,
  refuseOtherInput,
  type Series,
  slotId,
} from '../../flow/coalescing/coalescing.ts'
import { findLogged } from '../../flow/coalescing/logged-starts.ts'
import type { Document } from '../../ports/documents.ts'
import { hasEnded } from '../../ports/run.ts'
import { ask, type Procedure } from '../procedure.ts'
import type { Storage } from '../storage.ts'
import type { Reserved } from './coalesce.ts'
import { startsOf } from './series.ts'

/**
 * Before the slot is filled: if this sender dies before it fills the slot, the sender that repeats the start does.
 */
export function* noteKey(storage: Storage, { repeat }: NewStart, reserved: Reserved): Procedure<boolean> {
  const { runId, first, slot, keyVersion } = reserved
  const at = storage.now()
  const value: Repeat = { run: runId, input: repeat!.input, slot, first, at }
  const options = { ifVersion: keyVersion, expiresAt: at + REPEATS_KEPT_MS }
  const noted = yield* ask(storage.documents.put(REPEATS, repeat!.key, value as unknown as Json, options))
  if (noted) reserved.isNoted = true
  return noted !== undefined
}

/** Undefined where the start has to be counted anew: its first sender died, or its slot was closed. */
export function* answerRepeat(
  storage: Storage,
  start: NewStart,
  found: Document,
): Procedure<Coalesced | Reserved | undefined> {
  const known = found.value as unknown as Repeat
  refuseOtherInput(start.repeat!.input, known.input, known.run)
  const run = yield* ask(storage.find(known.run))
  const answer: Coalesced = { runId: known.run, status: run?.status ?? 'completed', created: false, wakes: [] }
  const { slot, first, at } = known
  if (slot === undefined || first === undefined) return answer
  // A run that its retention may have removed was there; one that is missing before that was never created.
  const { retentionMs } = start.run
  if (!run) return retentionMs !== undefined && storage.now() - at! > retentionMs ? answer : undefined
  const starts = startsOf(run)
  const there = yield* ask(storage.findMessage(run, slotId(slot)))
  if (there?.kind === 'start' && there.sender !== start.sender) return undefined
  if (starts?.series !== undefined && !hasEnded(run.status)) {
    const series: Series = { run: starts.series, ...(starts.size !== undefined && { size: starts.size }) }
    return { runId: known.run, first, slot, series, isThere: true, run, keyVersion: found.version, isNoted: true }
  }
  return answer
}

/** A start that 0.1 has written into the log of a run that has not begun yet. */
export function* answerLogged(storage: Storage, { run, key, repeat }: NewStart): Procedure<Coalesced | undefined> {
  const logged = yield* findLogged(storage.documents, run.workflow, key, repeat!.key)
  if (!logged) return undefined
  refuseOtherInput(repeat!.input, logged.input, logged.run)
  const there = yield* ask(storage.find(logged.run))
  return there && { runId: there.id, status: there.status, created: false, wakes: [] }
}
