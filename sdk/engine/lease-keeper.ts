import type { RunRecord } from '../ports/run.ts'
import type { Lease } from '../ports/run-store.ts'
import type { World } from '../ports/world.ts'
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

  /** This process stood still: its lease may have run out, or something may have come to the run. */
  get mayHaveRunOut(): boolean {
    return this.isInDoubt || this.isOld
  }

  /** By the clock of another runner, which may be ahead, the lease has run out. */
  private get isOld(): boolean {
    return this.world.clock.now() >= this.renewedAt + this.lease.ms - Math.min(CLOCKS_APART_MS, this.lease.ms / 4)
  }

  /**
   * Before something is written: a process that stood still past its lease first makes sure that the run is its own.
   * Otherwise it would add a frame to a run that was erased meanwhile. Undefined while the lease is young.
   */
  confirm(): Promise<boolean> | undefined {
    return this.isOld ? this.renewUntilYoung() : undefined
  }

  /** False: another runner has the run. An answer that came late says nothing of now, so this asks again. */
  async renewUntilYoung(): Promise<boolean> {
    do await this.renew()
    while (this.isOld && !this.isLost)
    return !this.isLost
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
      this.world.log('warn', 'a sign of life of a step could not be stored; the next one tries again', {
        runId: this.run.id,
        error: String(error),
      })
    this.renew(heartbeat).catch(failed)
  }
}
