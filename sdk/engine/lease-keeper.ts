import type { Lease, RunRecord, World } from '../ports.ts'
import type { InboxCursor } from './inbox-cursor.ts'

const CLOCKS_APART_MS = 2_000

/** Renews the lease of this visit (I7) at a third of its time. */
export class LeaseKeeper {
  private readonly world: World
  private readonly run: RunRecord
  private readonly lease: Lease
  private readonly inbox: InboxCursor
  private readonly onNews: () => void
  private renewedAt: number
  private wasRefused = false
  private isInDoubt = false

  constructor(world: World, run: RunRecord, lease: Lease, askedAt: number, inbox: InboxCursor, onNews: () => void) {
    this.world = world
    this.run = run
    this.lease = lease
    this.inbox = inbox
    this.onNews = onNews
    this.renewedAt = askedAt
  }

  get isLost(): boolean {
    return this.wasRefused || this.inbox.isLost
  }

  get renewAt(): number {
    return this.renewedAt + Math.ceil(this.lease.ms / 3)
  }

  /** A process that stood still may hold a lease that has run out, by the clock of another runner, which may be ahead. */
  get mayHaveRunOut(): boolean {
    return this.isInDoubt || this.world.clock.now() >= this.renewedAt + this.lease.ms - Math.min(CLOCKS_APART_MS, this.lease.ms / 4)
  }

  /** Before the next body begins, this process makes sure that the run is still its own. */
  doubt(): void {
    this.isInDoubt = true
  }

  async renewIfDue(): Promise<void> {
    if (this.world.clock.now() >= this.renewAt) await this.renew()
  }

  async renew(heartbeat?: RunRecord['heartbeat']): Promise<void> {
    this.renewedAt = this.world.clock.now()
    this.isInDoubt = false
    const renewed = await this.world.store.renew(this.run.id, this.run.epoch, this.lease, heartbeat)
    if (!renewed) this.wasRefused = true
    else if (renewed.stimulus !== this.inbox.seen) this.inbox.isStale = true
    if (this.isLost || this.inbox.isStale) this.onNews()
  }

  /** A sign of life of a step goes along with a renewal. */
  beat(heartbeat: NonNullable<RunRecord['heartbeat']>): void {
    const failed = (error: unknown) =>
      this.world.log('warn', 'a sign of life of a step could not be stored; the next one tries again', { runId: this.run.id, error: String(error) })
    this.renew(heartbeat).catch(failed)
  }
}
