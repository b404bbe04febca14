import type { Frame } from '../../base/events.ts'
import { refuseTooLarge } from '../../rules/limits.ts'
import type { Database } from './database.ts'
import { selectFrames } from './frames.ts'
import type { Row } from './rows.ts'

/** Shorter journals load faster than a cache would help, and there may be millions of them. */
const WORTH_IT = 64
const MOST_FRAMES = 100_000

/**
 * Parsed frames of long journals, so that a run that wakes for the thousandth time loads only what is new. Slots are
 * written once (I1), by whichever process, so what is here can be incomplete but never wrong.
 */
export class JournalCache {
  private readonly journals = new Map<number, { base: number; frames: Frame[]; bytes: number }>()
  private size = 0

  load(db: Database, row: Row): Frame[] {
    const { key, baseSeq } = row
    const known = this.journals.get(key)
    const isOfUse = known?.base === baseSeq
    let bytes = isOfUse ? known.bytes : 0
    const count = (more: number) => refuseTooLarge(row.id, (bytes += more))
    const newer = selectFrames(db, row, (isOfUse ? known.frames.at(-1)!.seq : baseSeq) + 1, undefined, count)
    if (known) this.forget(key)
    const frames = isOfUse ? known.frames.concat(newer) : newer
    if (frames.length >= WORTH_IT) this.remember(key, { base: baseSeq, frames, bytes })
    return frames
  }

  private remember(run: number, journal: { base: number; frames: Frame[]; bytes: number }): void {
    this.journals.set(run, journal)
    this.size += journal.frames.length
    // The least recently used is the first: `load` puts every journal it touches at the end.
    for (const oldest of this.journals.keys()) {
      if (this.size <= MOST_FRAMES) break
      this.forget(oldest)
    }
  }

  forget(run: number): void {
    this.size -= this.journals.get(run)?.frames.length ?? 0
    this.journals.delete(run)
  }
}
