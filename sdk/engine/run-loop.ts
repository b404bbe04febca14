/**
 * The run loop. What it keeps true, and what the tests cite:
 *
 * I1 Append-once. A run's journal is a log of frames; each slot is written once. Losing a slot means that another runner
 *    moved the run on: stop.
 * I2 Deterministic replay. Code sees its input and journaled events, one per turn, in journal order. An operation is
 *    known by scope path and name, never by when it was called.
 * I3 Commit before effect. No step body, message, timer or child starts before everything the code has seen is durable.
 * I4 Effects at least once, results once. A body may run again after a crash, under the same key; its journaled result
 *    never changes.
 * I5 Nothing is lost between stores. The intent is stored before the message is sent; a message is only a hint.
 * I6 No lost wake-up. Whatever comes from outside bumps a counter; suspending is refused unless the counter is the one
 *    this loop has seen.
 * I7 One runner at a time, by lease; correct without it.
 * I8 Nothing of an open run can expire. Whatever it may still read outlives every wait it may be in.
 * I9 What was accepted is consumed once, or visibly not: across failures, retries, generations and code changes.
 * I10 Nothing stands still. Whatever waits for others is itself due at a stated time. The process that looks at it then
 *    repairs what a crash has left undone (`rules/limiters/repair.ts`).
 */

import { InvalidInputError } from '../base/errors.ts'
import type { CommitResult } from '../ports/commit.ts'
import type { World } from '../ports/world.ts'
import type { AnyWorkflow, WorkflowSource } from '../workflow.ts'
import type { AddCaller } from './call-sites.ts'
import { deadly, type RunOutcome } from './closing.ts'
import { Drain, type Stop } from './drain.ts'
import { findWorkflow } from './find-workflow.ts'
import { inputOf } from './input-of.ts'
import type { StepBody } from './run-context.ts'
import { running, watchStrays } from './running.ts'
import { Starts } from './starts.ts'
import { Steps } from './steps.ts'
import { Turns } from './turns.ts'
import { Visit } from './visit.ts'
import { Waits } from './waits.ts'
import { type BodyState, runBody, sharedWith } from './workflow-code.ts'

export interface RunnerOptions {
  lease: { owner: string; ms: number }
  /** When this runner must have released the run, as epoch milliseconds. */
  deadline?: number
  /** How many runners in a row may die of the run, or run out of time, without progress, before it is parked. Default 10. */
  mostDeaths?: number
  /** How long a run whose code is not here is left to other runners. Default 0. */
  unknownDelayMs?: number
  /** Replaces the bodies of steps, by name; for tests. */
  stubs?: ReadonlyMap<string, StepBody>
  /** Makes the stacks of failed steps show the lines that called `ctx.step`. */
  traceCall?: () => AddCaller
}

const MOST_DEATHS = 10
const SUPERSEDED: RunOutcome = { status: 'superseded' }

/** Claims a run, takes it as far as it goes, and says how far that was. */
export async function runOnce(
  world: World,
  workflows: WorkflowSource,
  runId: string,
  options: RunnerOptions,
): Promise<RunOutcome> {
  const looking = world.flow.pauses(world).look()
  const askedAt = world.clock.now()
  const claimed = await world.store.claim(runId, options.lease)
  if (looking) await looking
  if (!claimed) return { status: 'skipped' }
  watchStrays()
  // A runner may itself have been called from a step's body; what it runs is not inside that step.
  const whose = { runId, workflow: claimed.run.workflow, log: world.log }
  const visit = new Visit(world, claimed, options, askedAt)
  const outcome = await running.run(whose, () => go(visit, workflows)).finally(() => visit.close())
  if (outcome.status === 'superseded') await giveBack(visit)
  return outcome
}

/** A visit that lost only a slot, to a runner that should have been dead, still holds the lease: it hands the run on. */
async function giveBack({ world, run: { id, epoch } }: Visit): Promise<void> {
  const result = await world.store.commit({ runId: id, epoch, next: { kind: 'release', noProgress: true } })
  if (result.ok) await world.wakeups.send(result.wakes)
}

async function go(visit: Visit, workflows: WorkflowSource): Promise<RunOutcome> {
  const { world, run, claimed, closing, options } = visit
  // A runner before this one may have died between the last frame and closing the run.
  if (claimed.recovered) closing.resendLostEffects(claimed.lastGoodEpoch)
  if (visit.journal.terminal) return closing.end(visit.journal.terminal)
  const { deaths } = claimed
  if (deaths >= (options.mostDeaths ?? MOST_DEATHS)) return closing.park(deadly(run, deaths))
  const refused = await world.flow.admit(visit, workflows)
  if (refused) return refused
  const workflow = await findWorkflow(run, workflows)
  if (workflow instanceof Error) return closing.leaveToOthers(workflow, options.unknownDelayMs)
  const input = await inputOf(run, workflow)
  if (input.ok) return new RunLoop(visit, workflow, workflows).run(input.value)
  const why = `the input of run '${run.id}' no longer fits the schema of workflow '${workflow.name}'. The run is stuck, and nothing is lost: let the schema accept what it accepted before, deploy, and retry the run`
  return closing.park(new InvalidInputError(why, input.problems))
}

class RunLoop {
  private readonly visit: Visit
  private readonly workflow: AnyWorkflow
  private readonly waits: Waits
  private readonly starts: Starts
  private readonly steps: Steps
  private readonly turns: Turns
  private readonly drain: Drain
  private body!: BodyState

  constructor(visit: Visit, workflow: AnyWorkflow, workflows: WorkflowSource) {
    this.visit = visit
    this.workflow = workflow
    this.starts = new Starts(visit)
    this.waits = new Waits(visit, workflow, workflows)
    this.steps = new Steps(visit, this.waits, this.starts)
    this.turns = new Turns(visit, this.waits, this.steps, this.starts)
    this.drain = new Drain(visit, this.steps, this.starts)
  }

  async run(input: unknown): Promise<RunOutcome> {
    try {
      this.body = await runBody(this.workflow, input, this.visit.replay, sharedWith(this.visit))
      this.waits.receive([...this.visit.replay.takeReturned(), ...this.visit.claimed.inbox])
      return await this.loop()
    } finally {
      this.steps.abandon('the runner has let go of this run')
    }
  }

  private async loop(): Promise<RunOutcome> {
    const { visit, steps, starts, waits, drain } = this
    const { replay, closing, buffer, lease } = visit
    for (;;) {
      if (replay.violation) return closing.park(replay.violation)
      if (replay.end) return this.finish()
      const looking = drain.look()
      if (looking) await looking
      const stop = drain.check()
      if (stop?.isOver()) return this.handOver(stop)
      const opening = stop?.opensNothing ? undefined : this.turns.open()
      if (opening) await opening
      if (waits.refusal) return this.saveAndPark(waits.refusal)
      const delivering = this.turns.deliverAll()
      if (delivering && (await delivering)) continue
      if (lease.isLost) return SUPERSEDED
      if (replay.violation) continue
      if (replay.pending === 0) return closing.park(replay.foreignAwait())
      if (!stop?.opensNothing) steps.queueDue()
      if (stop?.isOver()) continue
      if (!stop) {
        if (starts.areToAsk && !(await starts.ask())) return SUPERSEDED
        steps.announce()
      }
      // In the very last seconds this runner does not wait for a timer either: another one will.
      const stays = steps.areRunning || drain.waitsFor(waits.nextDue(), stop)
      // I3: everything seen is durable before the first body begins. And nothing seen is kept back while the loop waits.
      if (buffer.isDirty && ((!stop && starts.any) || stays) && !visit.keeps(await buffer.save())) return SUPERSEDED
      if (!stop && starts.any) {
        // A process that stood still first makes sure that the run is still its own (I7).
        if (lease.mayHaveRunOut && !(await lease.renewUntilYoung())) return SUPERSEDED
        steps.begin()
      }
      if (!stop && starts.areToAsk) continue
      if (steps.areRunning || stays) {
        if (buffer.isDirty) continue
        // Most bodies have ended by then; the others are worth a timer.
        if (!steps.haveReported) await microtasksAreDone()
        if (!steps.haveReported) await this.nextEvent(stop)
        if (lease.isLost) return SUPERSEDED
        continue
      }
      const result = await this.suspend()
      if (!result.ok) return SUPERSEDED
      if (result.suspended) return { status: 'suspended' }
      visit.inbox.note(result)
    }
  }

  /** Until a body reports, a timer is due, something comes from outside, or the lease wants renewing. */
  private async nextEvent(stop: Stop | undefined): Promise<void> {
    const { inbox, lease, waker, replay } = this.visit
    if (replay.violation || inbox.isStale) return
    const due = stop?.opensNothing ? undefined : this.waits.nextDue()
    await waker.sleep(Math.min(due ?? Number.POSITIVE_INFINITY, lease.renewAt, this.drain.lastMoment))
    await lease.renewIfDue()
  }

  private async suspend(): Promise<CommitResult> {
    const waitingFor = this.waits.describe()
    const onlyTimers = waitingFor.every(
      ({ kind }) => kind === 'sleep' || kind === 'retry' || kind === 'pause' || kind === 'until',
    )
    const status = onlyTimers ? 'sleeping' : 'waiting'
    return this.visit.buffer.commit({
      kind: 'suspend',
      status,
      wakeAt: this.waits.nextDue(),
      waitingFor,
      seen: this.visit.inbox.seen,
    })
  }

  private finish(): Promise<RunOutcome> {
    return this.visit.closing.finish(this.workflow, this.waits, this.body.compensated)
  }

  /** What has happened stands: parking alone would forget it, and steps would run again. */
  private async saveAndPark(why: Error): Promise<RunOutcome> {
    if (this.visit.buffer.isDirty && !this.visit.keeps(await this.visit.buffer.save())) return SUPERSEDED
    return this.visit.closing.park(why)
  }

  private async handOver(stop: Stop): Promise<RunOutcome> {
    const { closing, replay, world, begunAt } = this.visit
    if (!this.drain.isLate) this.steps.cutOff(world.clock.now() - begunAt)
    // One turn each, as ever: the first may be the end of the code, and then the others were never heard of.
    await this.turns.deliverSettled()
    if (replay.violation) return closing.park(replay.violation)
    if (replay.end) return this.finish()
    if (stop.place) return closing.queue(this.waits.describe(), stop.place)
    this.steps.abandon('the runner has to stop; the step will run again elsewhere')
    return closing.release(this.waits.rounds(), this.steps.haveAsked)
  }
}

const microtasksAreDone = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve))
