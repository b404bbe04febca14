import { recordError } from '../base/error-records.ts'
import { FatalError, InvalidInputError, type UnknownWorkflowError } from '../base/errors.ts'
import type { EventOf, Frame, JournalEvent, TerminalEvent } from '../base/events.ts'
import type { Json } from '../base/json.ts'
import type { QueuePlace } from '../ports/permits.ts'
import type { EndStatus, RunRecord, Waiting } from '../ports/run.ts'
import type { World } from '../ports/world.ts'
import type { AnyWorkflow } from '../workflow.ts'
import {
  END_STATUS,
  outgoingAtEnd,
  outgoingToStarted,
  outgoingToWithdrawn,
  rootError,
  terminalEvent,
} from './ending.ts'
import { FrameBuffer } from './frame-buffer.ts'
import type { Journal } from './journal.ts'
import { isDetached, isElsewhere } from './operation.ts'
import type { Replay } from './replay.ts'
import { outgoingReply } from './requests.ts'
import { retryDelay } from './retry.ts'
import type { Visit } from './visit.ts'
import type { Waits } from './waits.ts'

/** What became of the run in the hands of this runner. */
export type RunOutcome =
  | { status: EndStatus | 'suspended' | 'continued' | 'released' | 'queued' | 'stuck' }
  /** Another runner has it now. */
  | { status: 'superseded' }
  /** There was nothing to do: not due, leased, ended or missing. */
  | { status: 'skipped' }
  /** This program does not have the code for it; another one may. */
  | { status: 'unknown' }

/** Old and new code live side by side for a while. A run whose code no runner has known for so long is parked. */
const UNKNOWN_FOR_MS = 600_000

/** The ways out: how a run leaves the hands of a runner other than by waiting. */
export class Closing {
  private readonly visit: Visit
  private readonly world: World
  private readonly run: RunRecord
  private readonly journal: Journal
  private readonly frames: readonly Frame[]
  private readonly replay: Replay
  private readonly buffer: FrameBuffer
  /** Until the code has come as far as the journal, effects of a runner that died are still to be resent. */
  private readonly effects: { effectsPending?: true }

  constructor(visit: Visit) {
    this.visit = visit
    this.world = visit.world
    this.run = visit.run
    this.journal = visit.journal
    this.replay = visit.replay
    this.buffer = visit.buffer
    this.frames = visit.claimed.frames
    this.effects = visit.claimed.recovered ? { effectsPending: true } : {}
  }

  async finish(workflow: AnyWorkflow, waits: Waits, hasCompensated: boolean): Promise<RunOutcome> {
    const end = this.replay.end!
    // Patches decided and children started in the last turn count, also if the code did not wait for them.
    this.noteDecisions()
    await this.openDetached(waits)
    if (end.kind === 'continued') return this.continueAsNew(workflow, end.input)
    const event = await terminalEvent(workflow, end, this.replay.stopRequested)
    const retry = workflow.options.retry
    if (event.type === 'run.failed' && retry && end.kind === 'threw') {
      const delay = retryDelay(
        retry,
        this.run.attempt,
        rootError(end.error),
        () => this.world.ids.random(),
        `workflow '${workflow.name}'`,
      )
      if (delay !== undefined) {
        const until = this.world.clock.now() + delay
        const { input, parsed, reparse } = this.run
        return this.nextGeneration({ input, parsed, reparse }, this.run.attempt + 1, until, {
          type: 'run.retrying',
          error: event.error,
          attempt: this.run.attempt,
          until,
        })
      }
    }
    if (event.type === 'run.failed') {
      const because = end.kind === 'threw' ? this.replay.origins.behind(end.error) : []
      if (because.length > 0) event.because = because
      if (hasCompensated) event.compensated = true
    }
    this.noteAbandoned(event)
    return this.endWith(event)
  }

  /** A workflow may end while operations are pending (the losers of a race, say). They are dropped, on record. */
  private noteAbandoned(event: TerminalEvent): void {
    if (event.type === 'run.terminated') return
    const abandoned = [...this.replay.operations.values()].filter((operation) => !operation.settled)
    if (abandoned.length === 0) return
    event.abandoned = abandoned.map(({ id }) => id)
    const steps = abandoned.filter(({ kind }) => kind === 'step').map(({ id }) => id)
    if (steps.length > 0) {
      const named = steps.map((id) => `'${id}'`).join(', ')
      const why =
        `workflow '${this.run.workflow}' ended without waiting for ` +
        `${steps.length === 1 ? 'step' : 'steps'} ${named}`
      const what = `Steps that had begun were aborted, the others will never run, and no result is kept`
      this.world.log('warn', `${why}. ${what}. If that was not meant, an await is missing: await ctx.step(…)`, {
        runId: this.run.id,
        steps,
      })
    }
  }

  private async openDetached(waits: Waits): Promise<void> {
    for (const operation of this.replay.takeFresh()) {
      const delivery = isDetached(operation) ? await waits.open(operation) : undefined
      if (delivery?.type !== 'child.failed') continue
      const why =
        `workflow '${this.run.workflow}' ended without awaiting the start of detached child ` +
        `'${delivery.id}', which was refused: ${delivery.error.message}`
      this.world.log('error', why, { runId: this.run.id })
    }
  }

  /** The next generation's input is parsed here and now, and never again. */
  private async continueAsNew(workflow: AnyWorkflow, given: unknown): Promise<RunOutcome> {
    try {
      const what = `the input of ctx.continueAsNew in workflow '${this.run.workflow}'`
      const accepted = await this.world.flow.nextInput(workflow, given, what)
      return await this.nextGeneration(accepted, 1, this.world.clock.now(), {
        type: 'run.continued',
        input: accepted.input,
      })
    } catch (error) {
      if (error instanceof InvalidInputError) return this.park(error)
      throw error
    }
  }

  async end(event: TerminalEvent): Promise<RunOutcome> {
    const isJournaled = this.journal.terminal !== undefined
    const seq = isJournaled ? this.journal.lastSeq : this.buffer.nextSeq
    for (const message of outgoingAtEnd(this.run, event, seq, this.allEvents())) this.buffer.send(message)
    for (const release of this.world.flow.releasesOf(this.run)) this.buffer.send(release)
    this.visit.permits.releaseAll(this.buffer)
    const result = await this.buffer.commit({ kind: 'end', event })
    return { status: result.ok ? END_STATUS[event.type] : 'superseded' }
  }

  private async nextGeneration(
    { input, parsed, reparse }: { input: Json | undefined; parsed?: Json | undefined; reparse?: true | undefined },
    attempt: number,
    wakeAt: number,
    event: EventOf<'run.continued' | 'run.retrying'>,
  ): Promise<RunOutcome> {
    this.buffer.add(event)
    for (const message of outgoingToStarted(this.run, 'continued as new', this.allEvents())) this.buffer.send(message)
    for (const refusal of this.replay.requests.refuseOpen()) this.buffer.send(refusal)
    this.visit.permits.releaseAll(this.buffer)
    const result = await this.buffer.commit({
      kind: 'continue',
      input,
      ...(parsed !== undefined && { parsed }),
      ...(reparse && { reparse }),
      attempt,
      wakeAt,
    })
    return { status: result.ok ? 'continued' : 'superseded' }
  }

  /**
   * Journals what the code has decided by itself. A patch or a race is durable before what follows from it; other
   * notes go with the next frame. True when a race has taken operations back.
   */
  noteDecisions(): boolean {
    let hasWithdrawn = false
    for (const event of this.replay.takeNotes()) {
      if (event.type === 'map') this.buffer.addAside(event)
      else this.buffer.add(event)
      if (event.type === 'request.replied' || event.type === 'request.refused') this.buffer.send(outgoingReply(event))
      if (event.type !== 'decided' || !event.withdrawn) continue
      hasWithdrawn = true
      if (event.withdrawn.some((id) => isElsewhere(this.replay.operations.get(id)))) this.takeBack(event)
    }
    return hasWithdrawn
  }

  /** Children and tasks that a race went on without. */
  takeBack(decided: EventOf<'decided'>): void {
    for (const outgoing of outgoingToWithdrawn(this.run, decided, this.allEvents())) this.buffer.sendInstead(outgoing)
  }

  /**
   * Effects of frames that a runner wrote before it died: withdrawals, replies. `lastGoodEpoch`: the claim of the
   * last runner that did not die.
   */
  resendLostEffects(lastGoodEpoch: number): void {
    for (const { event, by } of this.journal.replied.values())
      if (by > lastGoodEpoch) this.buffer.send(outgoingReply(event))
    for (const { event, by } of this.journal.decided.values())
      if (by > lastGoodEpoch && event.withdrawn) this.takeBack(event)
  }

  /**
   * The run has to queue. `waitingFor`: what else it waits for, and waits for again afterwards. The permits of its
   * steps are released for other runs meanwhile.
   */
  async queue(waitingFor: readonly Waiting[] | undefined, place?: QueuePlace): Promise<RunOutcome> {
    this.visit.permits.releaseAll(this.buffer, 'begun elsewhere')
    const result = await this.buffer.commit({
      kind: 'queue',
      ...place,
      ...(waitingFor && { waitingFor: [...waitingFor] }),
      ...this.effects,
    })
    return { status: result.ok ? 'queued' : 'superseded' }
  }

  /** Hands the run on to another runner. A runner that got nowhere says so: that must not go on for ever. */
  async release(waitingFor: Waiting[], hasWorked: boolean): Promise<RunOutcome> {
    const isIdle = !hasWorked && !this.buffer.isDirty && this.buffer.nextSeq === this.journal.lastSeq + 1
    const result = await this.buffer.commit({
      kind: 'release',
      ...(waitingFor.length > 0 && { waitingFor }),
      ...(isIdle && { noProgress: true }),
    })
    return { status: result.ok ? 'released' : 'superseded' }
  }

  /** Another program may have this code. Only if none has it for long is the run parked, for people to look at. */
  async leaveToOthers(why: UnknownWorkflowError, delayMs = 0): Promise<RunOutcome> {
    const now = this.world.clock.now()
    const { workflow, version, waitingFor } = this.run
    const since = waitingFor?.find(({ kind }) => kind === 'code')?.since ?? now
    if (now - since >= UNKNOWN_FOR_MS) return this.park(why)
    // The limit that it queues at, and how far an `until` has got, is on record nowhere else.
    const kept = waitingFor?.filter(({ kind }) => kind === 'limit' || kind === 'until') ?? []
    const waiting = [{ kind: 'code' as const, id: workflow, on: String(version), since }, ...kept]
    const wakeAt = now + delayMs
    const result = await this.buffer.commit({ kind: 'release', wakeAt, waitingFor: waiting, ...this.effects })
    return { status: result.ok ? 'unknown' : 'superseded' }
  }

  /** The run waits for people, not for time: its journal is left exactly as it was. */
  async park(error: Error): Promise<RunOutcome> {
    this.world.log('error', error.message, { runId: this.run.id, workflow: this.run.workflow })
    const parked = new FrameBuffer(this.world, this.run, this.journal.lastSeq, this.journal.lastAt)
    this.visit.permits.releaseAll(parked, 'begun elsewhere')
    const result = await parked.commit({ kind: 'park', error: recordError(error), ...this.effects })
    return { status: result.ok ? 'stuck' : 'superseded' }
  }

  /** Journals the end and closes the run. */
  endWith(event: TerminalEvent): Promise<RunOutcome> {
    this.buffer.add(event)
    return this.end(event)
  }

  /** Enough of the journal, committed or not, to know what the run has started elsewhere. */
  allEvents(): JournalEvent[] {
    return [...this.frames.flatMap((frame) => frame.events), ...this.buffer.startedElsewhere]
  }
}

export function deadly({ id }: RunRecord, deaths: number): FatalError {
  return new FatalError(
    `${deaths} times in a row the process that took up run '${id}' died, or had no time left for its ` +
      'next step, without getting any further: out of memory, killed, ended ' +
      "by the run's own code, or busy for too long with a long history. The run is stuck, so that it takes " +
      "no more processes along. See the runner's log, fix the cause and retry the run",
  )
}
