/** One slot of a limiter: who holds it. A slot that was released stays for an hour, without a holder. */
export interface SlotState {
  /** A run's id, or a permit of one of its steps; empty while the slot is free. */
  holder: string
  since: number
  /** The holder's fairness key. The process that releases the slot serves the next key. */
  lane?: string
  /** How long its holders have held it, lately. */
  heldMs?: number
}

/** A slot as it was read. `version` 0: there is no document. */
export interface Slot extends SlotState {
  index: number
  version: number
}

/** Slots of one partition. A limit of 1,000 has ten, so that no partition gets all of its writes. */
export const SLOTS_PER_BLOCK = 100
/** A free slot keeps its version for so long, so that a write that is late cannot be taken for a newer one. */
export const FREE_SLOT_KEPT_MS = 3_600_000

export const blockOf = (index: number): number => Math.floor(index / SLOTS_PER_BLOCK)
export const blocksOf = (concurrency: number): number => Math.ceil(concurrency / SLOTS_PER_BLOCK)
export const slotKey = (index: number): string => String(index).padStart(4, '0')

/** A number that is the same for the same text and spreads different ones. */
export function spread(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash >>> 0
}

/** What a slot says of how long it is held, after one more stay. */
export function averageHeld(before: number | undefined, since: number, now: number): number {
  const held = Math.max(0, now - since)
  return Math.round(before === undefined ? held : before * 0.8 + held * 0.2)
}
