import type { CommitResult } from '../ports/commit.ts'
import type { Message, RunRecord } from '../ports/run.ts'
import type { World } from '../ports/world.ts'

/** How far this visit has read the run's inbox (I6): suspending is refused unless the counter is the one seen here. */
export class InboxCursor {
  private readonly world: World
  private readonly run: RunRecord
  private readonly onStale: () => void
  /** The stimulus counter as of the last read. */
  seen: number
  /** The message up to which the inbox has been read. */
  private lastRead: number | undefined
  /** Something may have come since. */
  isStale = false
  /** The run was ended from outside, or has another holder. */
  isLost = false

  constructor(world: World, run: RunRecord, onStale: () => void) {
    this.world = world
    this.run = run
    this.seen = run.stimulus
    this.onStale = onStale
  }

  markStale(): void {
    this.isStale = true
    this.onStale()
  }

  /** What a commit says of the counter; false when the run is no longer ours. */
  note(result: CommitResult): boolean {
    if (!result.ok) return false
    if (result.stimulus !== undefined && result.stimulus !== this.seen) this.isStale = true
    return true
  }

  async read(): Promise<Message[]> {
    this.isStale = false
    const { stimulus, epoch, messages, last } = await this.world.store.inbox(this.run.id, this.lastRead)
    this.lastRead = last
    if (epoch !== this.run.epoch) this.isLost = true
    this.seen = stimulus
    return messages
  }
}
