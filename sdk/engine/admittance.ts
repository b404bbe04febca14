import { type Gate, isInLine } from '../flow/admission.ts'
import { isPause } from '../flow/pause-scope.ts'
import { type Pauses, pausesOf } from '../flow/pauses.ts'
import type { Claimed, Message, RunRecord, World } from '../ports.ts'
import { EVENT_ROLE } from './events.ts'
import type { Journal } from './journal.ts'
import type { Replay } from './replay.ts'

/** Whether a run that was claimed may go on now: its own turn, and pauses. */
export class Admittance {
  private readonly world: World
  private readonly claimed: Claimed
  private readonly run: RunRecord
  private readonly journal: Journal
  private readonly replay: Replay
  private readonly pauses: Pauses
  private readonly claimedAt: number

  constructor(world: World, claimed: Claimed, journal: Journal, replay: Replay) {
    this.world = world
    this.claimed = claimed
    this.run = claimed.run
    this.journal = journal
    this.replay = replay
    this.pauses = pausesOf(world)
    this.claimedAt = world.clock.now()
  }

  /** A run that is to stop does not stand in line for that. */
  get isInLine(): boolean {
    return isInLine(this.run) && !this.isToStop()
  }

  /** Looks whether something has been paused, unless it has of late. */
  look(): Promise<void> | undefined {
    return this.pauses.look()
  }

  /** The pause that it has come to. A run that is to stop may. */
  get pause(): Gate | undefined {
    const pause = this.pauses.over(this.run)
    return pause && !this.isToStop() ? pause : undefined
  }

  /** When its time began to run. Of one that had to wait for its turn, not before it had it. */
  get countsFrom(): number {
    const { startedAt, createdAt, admission, generation } = this.run
    if (!admission || generation > 0) return startedAt ?? createdAt
    return this.claimed.frames[0]?.at ?? this.claimedAt
  }

  /** Those behind it were told to wait until it starts: a rate lets in one after the other. */
  async attendToOthers(): Promise<void> {
    // Behind a rate that is the first visit; a pause may come at any time.
    const mayWait = (gate: Gate) => (isPause(gate.limit) ? this.pauses.mayHaveLine(gate) : this.journal.isEmpty)
    const rated = this.run.admission!.gates.filter((gate) => !gate.holds && mayWait(gate))
    if (rated.length > 0) await this.world.wakeups.send(await this.world.store.attend(rated))
  }

  get cancelledBeforeStart(): Extract<Message, { kind: 'cancel' }> | undefined {
    if (!this.journal.isEmpty || !(this.run.epoch === 1 || isInLine(this.run) || this.run.admission?.gathering)) return undefined
    return this.claimed.inbox.find((message) => message.kind === 'cancel')
  }

  private isToStop(): boolean {
    return (
      this.replay.stopRequested !== undefined ||
      this.claimed.inbox.some(({ kind }) => kind === 'cancel') ||
      this.journal.deliveries.some(({ type }) => EVENT_ROLE[type] === 'stops')
    )
  }
}
