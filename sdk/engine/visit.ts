import type { CommitResult } from '../ports/commit.ts'
import type { RunRecord } from '../ports/run.ts'
import type { Claimed } from '../ports/run-store.ts'
import type { World } from '../ports/world.ts'
import type { AddCaller } from './call-sites.ts'
import { Closing } from './closing.ts'
import type { Permits } from './flow-port.ts'
import { FrameBuffer } from './frame-buffer.ts'
import { InboxCursor } from './inbox-cursor.ts'
import { Journal } from './journal.ts'
import { LeaseKeeper } from './lease-keeper.ts'
import { Replay } from './replay.ts'
import type { StepBody } from './run-context.ts'
import { Waker } from './waker.ts'

export interface RunnerOptions {
  lease: { owner: string; ms: number }
  /** When this runner must have released the run, as epoch milliseconds. */
  deadline?: number
  /**
   * The run is parked after so many runners in a row have died, or run out of time, without progress. Default 10.
   */
  mostDeaths?: number
  /** For so long other runners may take a run whose code this program does not have. Default 0. */
  unknownDelayMs?: number
  /** Replaces the bodies of steps, by name; for tests. */
  stubs?: ReadonlyMap<string, StepBody>
  /** Makes the stacks of failed steps show the lines that called `ctx.step`. */
  traceCall?: () => AddCaller
}

/** A commit that takes longer was held up, or this process stood still: its lease may have run out meanwhile. */
const LONG_COMMIT_MS = 1_000

/** One claim of a run by one runner, and the parts that the runner works with until it lets the run go. */
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

  /** Undefined where there is nothing to do: the run is not due, has ended, or another runner has its lease. */
  static async claim(world: World, runId: string, options: RunnerOptions): Promise<Visit | undefined> {
    const refreshing = world.flow.pauses(world).refresh()
    const askedAt = world.clock.now()
    const claimed = await world.store.claim(runId, options.lease)
    if (refreshing) await refreshing
    return claimed && new Visit(world, claimed, options, askedAt)
  }

  /** `askedAt`: when the runner asked for the claim, so that its lease runs from no later time. */
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

  /** Reads what a commit says of the inbox, and what it was granted. False: another runner has the run. */
  keeps(result: CommitResult): boolean {
    if (this.world.clock.now() - this.buffer.committedAt >= LONG_COMMIT_MS) this.lease.doubt()
    if (result.ok && result.permits) this.permits.granted(result.permits)
    return this.inbox.note(result)
  }

  close(): void {
    this.unwatch()
    this.replay.close(`run '${this.run.id}' ended or was suspended`)
    this.replay.free()
  }
}
