import type { FrameEvent, JournalEvent } from '../base/events.ts'
import { canonicalJson, type Json } from '../base/json.ts'
import type { Commit, CommitResult, Next, Outgoing } from '../ports/commit.ts'
import type { World } from '../ports/world.ts'
import { READ_AT_END } from './ending.ts'

/**
 * Events that the code has seen and the store has not. They become durable together, in one frame (group
 * commit), at the latest before the next effect starts (I3).
 */
export class FrameBuffer {
  private readonly world: World
  private readonly runId: string
  private readonly epoch: number
  private readonly confirmLease: (() => Promise<boolean> | undefined) | undefined
  private lastSlot: number
  private lastAt: number
  private frameAt = 0
  private events: FrameEvent[] = []
  /** Events that can wait for the next frame that there is a reason for. */
  private asides: JournalEvent[] = []
  private consumed: string[] = []
  private outgoing: Outgoing[] = []
  private onDurable: (() => void)[] = []
  private progress: Json | undefined
  private savedProgress: string
  /** When the last commit was begun. */
  committedAt = 0
  /** What this execution journaled about what it started elsewhere, for the end of the run. */
  readonly startedElsewhere: JournalEvent[] = []

  constructor(
    world: World,
    run: { id: string; epoch: number; progress?: Json },
    lastSeq: number,
    lastAt: number,
    confirmLease?: () => Promise<boolean> | undefined,
  ) {
    this.world = world
    this.confirmLease = confirmLease
    this.runId = run.id
    this.epoch = run.epoch
    this.lastSlot = lastSeq
    this.lastAt = lastAt
    this.savedProgress = canonicalJson(run.progress)
  }

  /** The slot that the next frame takes. */
  get nextSeq(): number {
    return this.lastSlot + 1
  }

  /** Returns the event's journal time, which never runs backwards, also when runners disagree about the clock. */
  add(event: JournalEvent, durable?: () => void): number {
    this.lastAt = Math.max(this.lastAt, this.world.clock.now())
    if (this.events.length === 0) this.frameAt = this.lastAt
    this.events.push(this.lastAt === this.frameAt ? event : { ...event, dt: this.lastAt - this.frameAt })
    if (READ_AT_END.has(event.type)) this.startedElsewhere.push(event)
    if (durable) this.onDurable.push(durable)
    return this.lastAt
  }

  /** For events that need no frame of their own: they go with the next one. */
  addAside(event: JournalEvent): void {
    this.asides.push(event)
  }

  consume(messageId: string): void {
    this.consumed.push(messageId)
  }

  send(outgoing: Outgoing): void {
    this.outgoing.push(outgoing)
  }

  /**
   * Drops what would begin with the same commit and sends this instead: otherwise the withdrawal might arrive first.
   * It may have begun with an earlier commit all the same.
   */
  sendInstead(outgoing: Outgoing): void {
    this.outgoing = this.outgoing.filter((other) => !begins(other, outgoing))
    this.outgoing.push(outgoing)
  }

  setProgress(value: Json): void {
    this.progress = value
  }

  get isDirty(): boolean {
    return this.events.length > 0 || this.outgoing.length > 0 || this.progressChanged()
  }

  /** Makes it durable and keeps the run. */
  save(): Promise<CommitResult> {
    return this.commit({ kind: 'keep' })
  }

  async commit(next: Next): Promise<CommitResult> {
    const confirming = this.confirmLease?.()
    if (confirming && !(await confirming)) return { ok: false }
    this.committedAt = this.world.clock.now()
    const commit: Commit = { runId: this.runId, epoch: this.epoch, next }
    const { savedProgress } = this
    const durable = this.onDurable
    if (this.events.length > 0) {
      commit.frame = {
        seq: this.nextSeq,
        at: this.frameAt,
        epoch: this.epoch,
        events: this.asides.length > 0 ? [...this.asides, ...this.events] : this.events,
      }
      this.asides = []
    }
    if (this.consumed.length > 0) commit.consumed = this.consumed
    if (this.outgoing.length > 0) commit.outgoing = this.outgoing
    if (this.progressChanged()) {
      commit.progress = this.progress!
      this.savedProgress = canonicalJson(this.progress)
    }
    this.events = []
    this.consumed = []
    this.outgoing = []
    this.onDurable = []
    const result = await this.world.store.commit(commit)
    if (!result.ok) return result
    if (commit.frame) this.lastSlot++
    // The frame stands, but the run itself was not written.
    if (next.kind === 'suspend' && !result.suspended) this.savedProgress = savedProgress
    for (const callback of durable) callback()
    if (result.wakes.length > 0) await this.world.wakeups.send(result.wakes)
    return result
  }

  private progressChanged(): boolean {
    return this.progress !== undefined && canonicalJson(this.progress) !== this.savedProgress
  }
}

/** Whether one begins what the other ends. */
function begins(one: Outgoing, other: Outgoing): boolean {
  if (one.kind === 'start')
    return (
      (other.kind === 'deliver' && other.to === one.run.id) || (other.kind === 'terminate' && other.run === one.run.id)
    )
  return one.kind === 'dispatch' && other.kind === 'withdraw' && other.task.id === one.task.id
}
