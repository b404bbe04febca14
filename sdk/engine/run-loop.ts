/**
 * The run loop. What it keeps true, and what the tests cite:
 *
 * I1 Append-once. A run's journal is a log of frames; each slot is written once. Losing a slot means that somebody
 *    else moved the run on: stop.
 * I2 Deterministic replay. Code sees its input and journaled events, one per turn, in journal order. An operation is
 *    known by scope path and name, never by when it was called.
 * I3 Commit before effect. No step body, message, timer or child starts before everything the code has seen is durable.
 * I4 Effects at least once, results once. A body may run again after a crash, under the same key; its journaled result
 *    never changes.
 * I5 Nothing is lost between stores. What is to happen is in the store before anybody is told; telling is only a hint.
 * I6 No lost wake-up. Whatever comes from outside bumps a counter; suspending is refused unless the counter is the one
 *    this loop has seen.
 * I7 One runner at a time, by lease; correct without it.
 * I8 Nothing of an open run can expire. Whatever it may still read outlives every wait it may be in.
 * I9 What was accepted is consumed once, or visibly not: across failures, retries, generations and code changes.
 */
import { collectStarts } from '../flow/collect-starts.ts'
import { pausesOf, withGate } from '../flow/pauses.ts'
import type { Claimed, CommitResult, Lease, RunRecord, World } from '../ports.ts'
import type { AnyWorkflow, WorkflowSource } from '../workflow.ts'
import { Admittance } from './admittance.ts'
import type { AddCaller } from './call-sites.ts'
import { Closing, deadly, type RunOutcome } from './closing.ts'
import { outgoingAtCancel } from './ending.ts'
import { InvalidInputError, UnknownWorkflowError } from './errors.ts'
import type { Delivery } from './events.ts'
import { FrameBuffer } from './frame-buffer.ts'
import { inputOf } from './input-of.ts'
import { Journal } from './journal.ts'
import type { Json } from './json.ts'
import { isDetached, type Operation } from './operation.ts'
import { Passes } from './passes.ts'
import { Replay } from './replay.ts'
import { replayAwareLogger, type StepBody } from './run-context.ts'
import { running, watchStrays } from './running.ts'
import { Steps } from './steps.ts'
import { Waits } from './waits.ts'
import { type BodyState, runBody, runInfo } from './workflow-body.ts'

/** The next thing to tell the code; a promise where it has to be looked for. */
type Next = Delivery | undefined | Promise<Delivery | undefined>

export interface RunnerOptions {
  lease: Lease
  /** When this runner must have let go of the run, as epoch milliseconds. */
  deadline?: number
  /** How many runners in a row may die of the run, or run out of time, without taking it any further, before it is parked. Default 10. */
  mostDeaths?: number
  /** How long a run whose code is not here is left alone. Default: not at all, because others may look at once. */
  unknownDelayMs?: number
  /** Replaces the bodies of steps, by name; for tests. */
  stubs?: ReadonlyMap<string, StepBody>
  /** Makes the stacks of failed steps show the lines that called `ctx.step`. */
  traceCall?: () => AddCaller
}

/** No step is started in the last seconds before the deadline, and none is waited for in the very last. */
const STOP_STARTING_MS = 5_000
const LET_GO_MS = 1_000
const MOST_DEATHS = 10

/** Claims a run, takes it as far as it goes, and says how far that was. */
export async function runOnce(world: World, workflows: WorkflowSource, runId: string, options: RunnerOptions): Promise<RunOutcome> {
  const looking = pausesOf(world).look()
  const claimed = await world.store.claim(runId, options.lease)
  if (looking) await looking
  if (!claimed) return { status: 'skipped' }
  watchStrays()
  // A runner may itself have been called from a step's body; what it runs is not inside that step.
  const whose = { runId, workflow: claimed.run.workflow, log: world.log }
  const outcome = await running.run(whose, () => new RunLoop(world, claimed, options).go(workflows))
  if (outcome.status === 'superseded') await giveBack(world, claimed.run)
  return outcome
}

/** If only a slot was lost, to a runner that should have been dead, the run is still ours to hand on; else this does nothing. That runner may have died since, behind its frame. */
async function giveBack(world: World, { id, epoch }: RunRecord): Promise<void> {
  const result = await world.store.commit({ runId: id, epoch, next: { kind: 'release', fruitless: true } })
  if (result.ok) await world.wakeups.send(result.wakes)
}

class RunLoop {
  private readonly run: RunRecord
  private readonly world: World
  private readonly options: RunnerOptions
  private readonly claimed: Claimed
  private readonly journal: Journal
  private readonly replay: Replay
  private readonly buffer: FrameBuffer
  private readonly closing: Closing
  private readonly admittance: Admittance
  private waits!: Waits
  private passes: Passes | undefined
  private steps: Steps | undefined
  private workflow!: AnyWorkflow
  private body!: BodyState
  private seenStimulus: number
  private inboxIsStale = false
  /** The message up to which the inbox has been read. */
  private lastRead: number | undefined
  private leaseLost = false
  private wakeLoop: (() => void) | undefined
  private readonly begunAt: number
  private lastRenewal: number
  /** What the code is to be told of operations that were over as soon as they were opened. */
  private readonly settledAtOpening: Delivery[] = []

  constructor(world: World, claimed: Claimed, options: RunnerOptions) {
    this.world = world
    this.options = options
    this.claimed = claimed
    this.run = claimed.run
    const begunAt = claimed.begunAt ?? claimed.run.startedAt ?? claimed.run.createdAt
    this.journal = new Journal(claimed.frames, claimed.run.baseSeq, begunAt)
    this.replay = new Replay(this.run, this.journal, () => this.wakeLoop?.())
    this.admittance = new Admittance(world, claimed, this.journal, this.replay)
    this.buffer = new FrameBuffer(world, this.run, this.journal.lastSeq, this.journal.lastAt)
    this.closing = new Closing(world, claimed, this.replay, this.buffer)
    this.seenStimulus = this.run.stimulus
    this.begunAt = world.clock.now()
    this.lastRenewal = this.begunAt
  }

  async go(workflows: WorkflowSource): Promise<RunOutcome> {
    const changed = () => {
      this.inboxIsStale = true
      this.wakeLoop?.()
    }
    const unwatch = this.world.store.watch(this.run.id, changed, this.run)
    try {
      // A runner before this one may have died between the last frame and closing the run.
      if (this.claimed.recovered) this.closing.tellAgain(this.claimed.lastGoodEpoch)
      if (this.journal.terminal) return await this.closing.end(this.journal.terminal)
      const { deaths } = this.claimed
      if (deaths >= (this.options.mostDeaths ?? MOST_DEATHS)) return await this.closing.park(deadly(this.run, deaths))
      const cancelled = this.admittance.cancelledBeforeStart
      if (cancelled) return await this.closing.endWith({ type: 'run.cancelled', reason: cancelled.reason ?? 'cancelled before it started' })
      if (this.run.admission?.gathering) {
        const outcome = await this.collectStarts(workflows)
        if (outcome) return outcome
      }
      const { waitingFor } = this.run
      if (this.admittance.isInLine) return await this.closing.queue(waitingFor)
      if (this.run.admission) await this.admittance.attendToOthers()
      const { pause } = this.admittance
      if (pause) {
        this.closing.leaveLines()
        return await this.closing.queue(waitingFor, withGate(this.run, pause, !this.journal.isEmpty))
      }
      const found = find(workflows, this.run)
      const workflow = found instanceof Promise ? await found : found
      if (workflow instanceof Error) return await this.closing.leaveToOthers(workflow, this.options.unknownDelayMs)
      this.workflow = workflow
      const input = await inputOf(this.run, workflow)
      if (input.ok) return await this.takeAsFarAsItGoes(input.value, workflows)
      const why = `the input of run '${this.run.id}' no longer fits the schema of workflow '${workflow.name}'. The run is stuck, and nothing is lost: let the schema accept what it accepted before, deploy, and retry the run`
      return await this.closing.park(new InvalidInputError(why, input.problems))
    } finally {
      unwatch()
      this.steps?.abandon('the runner has let go of this run')
      this.replay.close(`run '${this.run.id}' ended or was suspended`)
      this.replay.letGo()
    }
  }

  private async takeAsFarAsItGoes(input: unknown, workflows: WorkflowSource): Promise<RunOutcome> {
    const passes = new Passes(this.world, this.replay, this.buffer, this.claimed.recovered)
    this.passes = passes
    this.waits = new Waits(this.world, this.replay, this.buffer, passes, {
      ...this.claimed,
      countsFrom: this.admittance.countsFrom,
      timeoutMs: this.workflow.timeoutMs,
      tasks: this.workflow.options.tasks,
      workflows,
    })
    const steps = new Steps(this.world, this.replay, this.buffer, this.waits, passes, {
      onReport: () => this.wakeLoop?.(),
      onHeartbeat: (heartbeat) => this.beat(heartbeat),
    })
    this.steps = steps
    this.body = await runBody(this.workflow, input, this.replay, {
      info: runInfo(this.run),
      log: replayAwareLogger(this.replay, this.world.log),
      compensations: [],
      setProgress: (value: Json) => this.buffer.setProgress(value),
      functions: this.world.functions,
      publicUrl: this.world.publicUrl,
      stubs: this.options.stubs,
      traceCall: this.options.traceCall,
    })
    this.waits.receive([...this.replay.takeReturned(), ...this.claimed.inbox])
    if (this.claimed.recovered) passes.leaveEnded()

    for (;;) {
      if (this.replay.violation) return this.closing.park(this.replay.violation)
      if (this.replay.end) {
        passes.leaveAll()
        return this.closing.finish(this.workflow, this.waits, this.body.compensated)
      }
      const looking = this.admittance.look()
      if (looking) await looking
      const { pause } = this.admittance
      if (pause && !steps.areRunning && !steps.haveReported) {
        const waitingFor = this.waits.describe()
        passes.leaveAll()
        return this.closing.queue(waitingFor, withGate(this.run, pause, true))
      }
      if (pause) passes.stepBack()
      // What runs ends; nothing new begins.
      const opening = pause ? undefined : this.openWhatTheCodeAskedFor(steps)
      if (opening) await opening
      if (this.waits.refusal) {
        // What has happened stands: parking alone would forget it, and steps would run again.
        if (this.buffer.isDirty && !this.continuesAfter(await this.buffer.commit({ kind: 'keep' }))) return { status: 'superseded' }
        return this.closing.park(this.waits.refusal)
      }
      const telling = this.tellTheCode(steps)
      if (telling && (await telling)) continue
      if (this.leaseLost) return { status: 'superseded' }
      if (this.replay.violation) continue
      if (this.replay.pending === 0) return this.closing.park(this.replay.foreignAwait())

      const mayStart = !pause && this.timeLeft() > STOP_STARTING_MS
      if (!pause) steps.queueDue()
      if (passes.areWanted && !pause) {
        if (this.buffer.isDirty && !this.continuesAfter(await this.buffer.commit({ kind: 'keep' }))) return { status: 'superseded' }
        await passes.obtain()
      }
      // In the very last seconds there is no time to wait for a timer either: others will.
      const staysHere = steps.areRunning || (!pause && this.timerIsClose() && this.timeLeft() > LET_GO_MS)
      if (mayStart) steps.announce()
      // I3: everything seen is durable before the first effect. And nothing seen is kept back while the loop waits.
      if (this.buffer.isDirty && (steps.areToStart || staysHere)) {
        if (!this.continuesAfter(await this.buffer.commit({ kind: 'keep' }))) return { status: 'superseded' }
      }
      if (mayStart) steps.startQueued()
      else if (this.timeLeft() <= STOP_STARTING_MS && (steps.areRunning ? this.timeLeft() <= LET_GO_MS : steps.areToStart)) return this.release(steps)

      if (steps.areRunning || staysHere) {
        // Most bodies have ended by then; the others are worth a timer.
        if (!steps.haveReported) await microtasksAreDone()
        if (!steps.haveReported && !this.replay.violation) await this.somethingHappens(pause ? undefined : this.waits.nextDue())
        if (this.leaseLost) return { status: 'superseded' }
        continue
      }
      const result = await this.suspend()
      if (!result.ok) return { status: 'superseded' }
      if (result.suspended) return { status: 'suspended' }
      this.continuesAfter(result)
    }
  }

  /** Hands the code everything that has happened, one turn each. True when the code has moved. */
  private tellTheCode(steps: Steps): false | Promise<boolean> {
    const first = this.nextDelivery(steps)
    return first !== undefined && this.tellAll(first, steps)
  }

  private async tellAll(first: Next, steps: Steps): Promise<boolean> {
    let hasMoved = false
    let next = first
    for (;;) {
      const delivery = next instanceof Promise ? await next : next
      if (!delivery) return hasMoved
      await this.replay.deliver(delivery, this.buffer.add(delivery))
      // Right behind what it was decided after: that is where a replay looks for it.
      if (this.closing.noteDecisions()) {
        steps.dropWithdrawn()
      }
      if (delivery.type === 'run.cancelRequested' || delivery.type === 'run.timedOut') this.stop(steps)
      if (this.replay.hasLimits) this.passes!.leaveSettled((operation) => steps.takeRest(operation))
      hasMoved = true
      if (this.replay.end || this.replay.violation) return true
      next = this.nextSettled(steps)
      // The code may now wait for a message that is older than those the open waits are for: open that wait first.
      if (!next && this.replay.hasFresh) return true
      next ??= this.nextDelivery(steps)
    }
  }

  /** At once where it can be: a promise for every step of every run is most of the garbage this loop makes. */
  private nextDelivery(steps: Steps): Next {
    const settled = this.nextSettled(steps)
    if (settled) return settled
    if (this.inboxIsStale) return this.readInbox().then(() => this.waits.next(this.world.clock.now()))
    return this.waits.next(this.world.clock.now())
  }

  private nextSettled(steps: Steps): Delivery | undefined {
    return this.settledAtOpening.shift() ?? steps.nextSettled()
  }

  private stop(steps: Steps): void {
    steps.stop(this.replay.stopRequested!)
    for (const message of outgoingAtCancel(this.run, this.replay.stopsRequested, this.closing.allEvents())) this.buffer.send(message)
  }

  private openWhatTheCodeAskedFor(steps: Steps): Promise<void> | undefined {
    this.closing.noteDecisions()
    const fresh = this.replay.takeFresh()
    if (fresh.length === 0) return undefined
    if (fresh.some(({ kind }) => kind !== 'step')) return this.openInOrder(fresh, steps)
    for (const operation of fresh) if (!operation.settled) steps.prepare(operation)
    return undefined
  }

  private async openInOrder(fresh: readonly Operation[], steps: Steps): Promise<void> {
    for (const operation of fresh) {
      if (operation.kind === 'step') {
        if (!operation.settled) steps.prepare(operation)
      } else if (!operation.settled || isDetached(operation)) {
        const delivery = await this.waits.open(operation)
        if (delivery) this.settledAtOpening.push(delivery)
      }
    }
  }

  private async suspend(): Promise<CommitResult> {
    const waitingFor = this.waits.describe()
    const onlyTimers = waitingFor.every(({ kind }) => kind === 'sleep' || kind === 'retry' || kind === 'pause' || kind === 'until')
    return this.buffer.commit({
      kind: 'suspend',
      status: onlyTimers ? 'sleeping' : 'waiting',
      wakeAt: this.waits.nextDue(),
      waitingFor,
      seen: this.seenStimulus,
    })
  }

  private async release(steps: Steps): Promise<RunOutcome> {
    steps.cutOff(this.world.clock.now() - this.begunAt)
    // One turn each, as ever: the first may be the end of the code, and then the others were never heard of.
    for (let settled = steps.nextSettled(); settled; settled = steps.nextSettled()) {
      await this.replay.deliver(settled, this.buffer.add(settled))
      if (this.replay.hasLimits) this.passes!.leaveSettled((operation) => steps.takeRest(operation))
      this.closing.noteDecisions()
      if (this.replay.violation) return this.closing.park(this.replay.violation)
      if (this.replay.end) {
        this.passes!.leaveAll()
        return this.closing.finish(this.workflow, this.waits, this.body.compensated)
      }
    }
    steps.abandon('the runner has to stop; the step will run again elsewhere')
    const isFruitless = !this.buffer.isDirty && this.buffer.nextSeq === this.journal.lastSeq + 1 && !steps.haveAsked
    const waitingFor = this.waits.rounds()
    const result = await this.buffer.commit({ kind: 'release', ...(waitingFor.length > 0 && { waitingFor }), ...(isFruitless && { fruitless: true }) })
    return { status: result.ok ? 'released' : 'superseded' }
  }

  /** Takes the starts that become this run. An outcome, if more may come. */
  private async collectStarts(workflows: WorkflowSource): Promise<RunOutcome | undefined> {
    const found = find(workflows, this.run)
    const workflow = found instanceof Promise ? await found : found
    if (workflow instanceof Error) return this.closing.leaveToOthers(workflow, this.options.unknownDelayMs)
    const collected = await collectStarts(this.world, workflow, this.run, (next) => this.buffer.commit(next))
    if ('status' in collected) return collected
    this.continuesAfter(collected)
    return undefined
  }

  private continuesAfter(result: CommitResult): boolean {
    if (!result.ok) return false
    if (result.stimulus !== undefined && result.stimulus !== this.seenStimulus) this.inboxIsStale = true
    return true
  }

  private async readInbox(): Promise<void> {
    this.inboxIsStale = false
    const { stimulus, epoch, messages, last } = await this.world.store.inbox(this.run.id, this.lastRead)
    this.lastRead = last
    // Ended from outside, or in other hands: nothing that begins now would count.
    if (epoch !== this.run.epoch) this.leaseLost = true
    this.seenStimulus = stimulus
    this.waits.receive(messages)
    this.passes?.askAgain()
  }

  private timerIsClose(): boolean {
    const due = this.waits.nextDue()
    return due !== undefined && due - this.world.clock.now() <= this.world.inlineWaitMs
  }

  private timeLeft(): number {
    return this.options.deadline === undefined ? Number.POSITIVE_INFINITY : this.options.deadline - this.world.clock.now()
  }

  /** Until a body reports, a timer is due, something comes from outside, or the lease wants renewing. */
  private async somethingHappens(due = Number.POSITIVE_INFINITY): Promise<void> {
    if (this.inboxIsStale) return
    const renewAt = this.lastRenewal + Math.ceil(this.options.lease.ms / 3)
    const { deadline } = this.options
    const until = Math.min(due, renewAt, deadline === undefined ? Number.POSITIVE_INFINITY : deadline - LET_GO_MS)
    await new Promise<void>((resolve) => {
      const stopTimer = this.world.clock.at(until, resolve)
      this.wakeLoop = () => {
        stopTimer()
        resolve()
      }
    })
    this.wakeLoop = undefined
    if (this.world.clock.now() >= renewAt) await this.renewLease()
  }

  private async renewLease(heartbeat?: RunRecord['heartbeat']): Promise<void> {
    this.lastRenewal = this.world.clock.now()
    const renewed = await this.world.store.renew(this.run.id, this.run.epoch, this.options.lease, heartbeat)
    if (!renewed) this.leaseLost = true
    else if (renewed.stimulus !== this.seenStimulus) this.inboxIsStale = true
    if (this.leaseLost || this.inboxIsStale) this.wakeLoop?.()
  }

  private beat(heartbeat: NonNullable<RunRecord['heartbeat']>): void {
    const failed = (error: unknown) =>
      this.world.log('warn', 'a sign of life of a step could not be stored; the next one tries again', { runId: this.run.id, error: String(error) })
    this.renewLease(heartbeat).catch(failed)
  }
}

const microtasksAreDone = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve))

function find(workflows: WorkflowSource, run: RunRecord): Found | Promise<Found> {
  try {
    const found = workflows.exact(run.workflow, run.version)
    return found instanceof Promise ? found.catch(ifUnknown) : found
  } catch (error) {
    return ifUnknown(error)
  }
}

type Found = AnyWorkflow | UnknownWorkflowError

/** A store that cannot answer says nothing about the workflow. */
function ifUnknown(error: unknown): UnknownWorkflowError {
  if (error instanceof UnknownWorkflowError) return error
  throw error
}
