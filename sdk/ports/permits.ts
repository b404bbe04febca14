import type { Admission } from '../flow/admission.ts'
import type { LimiterId } from '../flow/limiter/limiter.ts'
import type { QueueEntry } from '../flow/limiter/queue.ts'
import type { Wake } from './world.ts'

/** What runs, the store and limiters say to each other of permits. */

/**
 * What is known of a permit that is released. `queued`: it, or its entry, may be in the queue, and it may have a
 * slot. `reserved`: a rate has a time for it, for which others may wait. `held`: it may have a slot. `used`: it
 * took its part of a rate, so there is nothing to return.
 */
export type ReleasedState = 'queued' | 'reserved' | 'held' | 'used'

/** A permit that is released, as part of a commit. */
export interface ReleaseOfPermit {
  kind: 'release'
  limiter: LimiterId
  holder: string
  lane: string
  order: number
  state: ReleasedState
  /** The slot that it has, where its holder knows. */
  slot?: number
  /** The service behind the limit asked for a cooldown: for so long nothing is granted. */
  cooldownMs?: number
}

/** Where a run is to queue: before which limiters, and how many of them it has passed. */
export interface QueuePlace {
  admission: Admission
  passed: number
}

/** What a commit got from limiters. */
export interface GrantedPermit {
  holder: string
  at: number
  /** Until when it may begin; later it has to ask again. */
  until?: number
  slot?: number
  /** It was granted in the queue: its entry is there until its owner confirms it. */
  isQueued?: true
}

/** What is left of the permits of a run that is about to begin. Limiters are counted as in its admission. */
export interface ConfirmedRun {
  /** The limiter at which it has to queue again. */
  lost?: number
  /** Where it was late for a rate: the limiter, and when it may begin instead. */
  renewed?: { limiter: number; at: number; until: number }
}

/** What else is done to a limiter whose limit has changed. */
export interface Revoking {
  endsCooldown: boolean
  /** What is stored of it and cannot be read is dropped. */
  dropsUnreadable?: boolean
}

export interface LimitersChecked {
  wakes: Wake[]
  isMore: boolean
  checked: number
  failures: { limiter: LimiterId; error: unknown }[]
}

/** A request of which its run wants to know where it stands. */
export interface PendingRequest {
  entry: QueueEntry
  /** A runner that died may have got a slot for it without queueing. */
  mayHaveSlot: boolean
}

/** `unknown`: it has to be requested again. */
export type Standing = { permit: Omit<GrantedPermit, 'holder'> } | 'queued' | 'unknown'
