import type { CommitResult } from '../ports/commit.ts'
import type { RunRecord } from '../ports/run.ts'
import type { Claimed } from '../ports/run-store.ts'
import type { World } from '../ports/world.ts'
import { Closing } from './closing.ts'
import type { Permits } from './flow-port.ts'
import { FrameBuffer } from './frame-buffer.ts'
import { InboxCursor } from './inbox-cursor.ts'
import { Journal } from './journal.ts'
import { LeaseKeeper } from './lease-keeper.ts'
import { Replay } from './replay.ts'
import type { RunnerOptions } from './run-loop.ts'
import { Waker } from './waker.ts'

/** A commit that takes so long was held up, or this process was: much may have happened meanwhile. */
const LONG_MS = 1_000

/** One claim of a run, and all that its holder works with. */
export class Visit {
  readonly world: World
  readonly run: RunRecord
  readonly claimed: Claimed
  readonly options: RunnerOptions
  readonly journal: Journal
  readonly replay: Replay
  readonly buffer: FrameBuffer
  readonly waker: Waker
  readonly inbox: InboxCursor
  readonly lease: LeaseKeeper
  readonly permits: Permits
  readonly closing: Closing
  readonly begunAt: number
  private readonly unwatch: () => void

  /** `askedAt`: when the claim was asked for. Its lease counts from then on at the latest. */
  constructor(world: World, claimed: Claimed, options: RunnerOptions, askedAt = world.clock.now()) {
    const { run, frames, begunAt } = claimed
    this.world = world
    this.run = run
    this.claimed = claimed
    this.options = options
    this.begunAt = world.clock.now()
    this.waker = new Waker(world.clock)
    this.journal = new Journal(frames, run.baseSeq, begunAt ?? run.startedAt ?? run.createdAt)
    this.replay = new Replay(run, this.journal, () => this.waker.wake())
    this.inbox = new InboxCursor(world, run, () => this.waker.wake())
    this.lease = new LeaseKeeper(world, run, options.lease, askedAt, this.inbox, () => this.waker.wake())
    this.buffer = new FrameBuffer(world, run, this.journal.lastSeq, this.journal.lastAt, () => this.lease.confirm())
    this.permits = world.flow.permits(this)
    this.closing = new Closing(this)
    this.unwatch = world.store.watch(run.id, () => this.inbox.markStale(), run)
  }

  /** How long this runner may still hold the run. */
  timeLeft(): number {
    const { deadline } = this.options
    return deadline === undefined ? Number.POSITIVE_INFINITY : deadline - this.world.clock.now()
  }

  /** Notes what the commit says that has just been made. False: another runner has the run. */
  keeps(result: CommitResult): boolean {
    if (this.world.clock.now() - this.buffer.committedAt >= LONG_MS) this.lease.doubt()
    if (result.ok && result.permits) this.permits.granted(result.permits)
    return this.inbox.note(result)
  }

  close(): void {
    this.unwatch()
    this.replay.close(`run '${this.run.id}' ended or was suspended`)
    this.replay.letGo()
  }
}
