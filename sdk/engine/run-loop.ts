/**
 * The run loop. What it keeps true, and what the tests cite:
 *
 * I1 Append-once. A run's journal is a log of frames; each slot is written once. Losing a slot means that another
 *    runner moved the run on: stop.
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
 *    repairs what a crash has left unfinished (`rules/limiters/repair.ts`).
 */

import { InvalidInputError } from '../base/errors.ts'
import type { CommitResult } from '../ports/commit.ts'
import type { World } from '../ports/world.ts'
import type { AnyWorkflow, WorkflowSource } from '../workflow.ts'
import { deadly, type RunOutcome } from './closing.ts'
import { statusOf } from './described-waits.ts'
import { Drain, type Stop } from './drain.ts'
import { running, watchStrays } from './running.ts'
import { Starts } from './starts.ts'
import { Steps } from './steps.ts'
import { Turns } from './turns.ts'
import { type RunnerOptions, Visit } from './visit.ts'
import { Waits } from './waits.ts'
import { type CodeState, findWorkflow, inputOf, sharedWith, startCode } from './workflow-code.ts'

const MOST_DEATHS = 10
const SUPERSEDED: RunOutcome = { status: 'superseded' }

/** Claims a run, takes it as far as it goes, and says how far that was. */
export async function runOnce(
  world: World,
  workflows: WorkflowSource,
  runId: string,
  options: RunnerOptions,
): Promise<RunOutcome> {
  const visit = await Visit.claim(world, runId, options)
  if (!visit) return { status: 'skipped' }
  watchStrays()
  // This runner may itself have been called from a step's body. The run that it takes is not inside that step.
  const owner = { runId, workflow: visit.run.workflow, log: world.log }
  const outcome = await running.run(owner, () => beginVisit(visit, workflows)).finally(() => visit.close())
  if (outcome.status === 'superseded') await releaseLease(visit)
  return outcome
}

/**
 * A superseded runner may still hold the lease: a runner that should have been dead took its slot of the journal. It
 * releases the run. Where another runner has the run, the store refuses that.
 */
async function releaseLease({ world, run: { id, epoch } }: Visit): Promise<void> {
  const result = await world.store.commit({ runId: id, epoch, next: { kind: 'release', noProgress: true } })
  if (result.ok) await world.wakeups.send(result.wakes)
}

/** What comes before the workflow code: effects of a runner that died, admission, the code itself and its input. */
async function beginVisit(visit: Visit, workflows: WorkflowSource): Promise<RunOutcome> {
  const { world, run, claimed, closing, options } = visit
  // The runner before this one may have died between the last frame and closing the run.
  if (claimed.recovered) closing.resendLostEffects(claimed.lastGoodEpoch)
  if (visit.journal.terminal) return closing.end(visit.journal.terminal)
  const { deaths } = claimed
  if (deaths >= (options.mostDeaths ?? MOST_DEATHS)) return closing.park(deadly(run, deaths))
  const notAdmitted = await world.flow.admit(visit, workflows)
  if (notAdmitted) return notAdmitted
  const workflow = await findWorkflow(run, workflows)
  if (workflow instanceof Error) return closing.leaveToOthers(workflow, options.unknownDelayMs)
  const input = await inputOf(run, workflow)
  if (input.ok) return new RunLoop(visit, workflow, workflows).run(input.value)
  const why = `the input of run '${run.id}' no longer fits the schema of workflow '${workflow.name}'`
  const what = 'let the schema accept what it accepted before, deploy, and retry the run'
  return closing.park(new InvalidInputError(`${why}. The run is stuck, and nothing is lost: ${what}`, input.problems))
}

/** Runs the workflow code from turn to turn, until the run ends, waits, or has to leave this runner. */
class RunLoop {
  private readonly visit: Visit
  private readonly workflow: AnyWorkflow
  private readonly waits: Waits
  private readonly starts: Starts
  private readonly steps: Steps
  private readonly turns: Turns
  private readonly drain: Drain
  private code!: CodeState

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
    const { replay, claimed } = this.visit
    try {
      this.code = await startCode(this.workflow, input, replay, sharedWith(this.visit))
      this.waits.receive([...replay.takeReturned(), ...claimed.inbox])
      return await this.loop()
    } finally {
      this.steps.abandon('the runner has let go of this run')
    }
  }

  /** One time round: open what the code asks for, deliver what has happened, commit, begin step bodies, wait. */
  private async loop(): Promise<RunOutcome> {
    const { visit, steps, starts, waits, turns, drain } = this
    const { replay, closing, buffer, lease } = visit
    for (;;) {
      if (replay.violation) return closing.park(replay.violation)
      if (replay.end) return this.finish()
      const refreshing = drain.refresh()
      if (refreshing) await refreshing
      // `stop`: the run has to leave this runner soon. No body begins from then on; once all have ended, it is over.
      const stop = drain.check()
      if (stop?.isOver()) return this.handOver(stop)
      const mayOpen = stop?.mayOpen !== false
      const opening = mayOpen ? turns.open() : undefined
      if (opening) await opening
      if (waits.refusal) return this.saveAndPark(waits.refusal)
      const delivering = turns.deliverAll()
      if (delivering && (await delivering)) continue
      if (lease.isLost) return SUPERSEDED
      if (replay.violation) continue
      if (replay.pending === 0) return closing.park(replay.foreignAwait())
      if (mayOpen) steps.queueDue()
      if (stop?.isOver()) continue
      if (!stop) {
        // Some steps need a grant from the store before they begin. `sendRequests` asks for it.
        if (starts.hasRequests && !(await starts.sendRequests())) return SUPERSEDED
        steps.announce()
      }
      // Near the deadline this runner waits for no timer: the run suspends, and another runner wakes with it.
      const waitsHere = steps.areRunning || drain.waitsFor(waits.nextDue(), stop)
      // I3: all that the code has seen is durable before the first body begins, and while the loop waits.
      const mustSave = buffer.isDirty && ((!stop && starts.any) || waitsHere)
      if (mustSave && !visit.keeps(await buffer.save())) return SUPERSEDED
      if (!stop && starts.any) {
        // After standing still, this process first makes sure that the run is still its own (I7).
        if (lease.mayHaveRunOut && !(await lease.renewUntilYoung())) return SUPERSEDED
        steps.begin()
      }
      // `begin` has sent a step back to ask again, because this process began it too late. Asking takes a read or a
      // commit each time, and a step that is in time is not sent back: this cannot spin.
      if (!stop && starts.hasRequests) continue
      if (waitsHere || steps.areRunning) {
        if (buffer.isDirty) continue
        // Most bodies have ended when the microtasks have run. A timer is set for the others.
        if (!steps.haveReported) await microtasksAreDone()
        if (!steps.haveReported) await this.nextEvent(mayOpen)
        if (lease.isLost) return SUPERSEDED
        continue
      }
      const result = await this.suspend()
      if (!result.ok) return SUPERSEDED
      if (result.suspended) return { status: 'suspended' }
      visit.inbox.note(result)
    }
  }

  /** Waits until a body reports, a timer is due, a message comes, or the lease has to be renewed. */
  private async nextEvent(watchesTimers: boolean): Promise<void> {
    const { inbox, lease, waker, replay } = this.visit
    if (replay.violation || inbox.isStale) return
    const due = watchesTimers ? this.waits.nextDue() : undefined
    await waker.sleep(Math.min(due ?? Number.POSITIVE_INFINITY, lease.renewAt, this.drain.lastMoment))
    await lease.renewIfDue()
  }

  /** I6: the store refuses if something has come that this loop has not seen. */
  private async suspend(): Promise<CommitResult> {
    const waitingFor = this.waits.describe()
    const { buffer, inbox } = this.visit
    const status = statusOf(waitingFor)
    return buffer.commit({ kind: 'suspend', status, wakeAt: this.waits.nextDue(), waitingFor, seen: inbox.seen })
  }

  private finish(): Promise<RunOutcome> {
    return this.visit.closing.finish(this.workflow, this.waits, this.code.compensated)
  }

  /**
   * The code is right and only cannot go on, so what has happened is saved before the run is parked. (After a violation
   * nothing is: what was seen since the last commit may be wrong.)
   */
  private async saveAndPark(why: Error): Promise<RunOutcome> {
    const { buffer, closing } = this.visit
    if (buffer.isDirty && !this.visit.keeps(await buffer.save())) return SUPERSEDED
    return closing.park(why)
  }

  private async handOver(stop: Stop): Promise<RunOutcome> {
    const { closing, replay, world, begunAt } = this.visit
    if (!this.drain.isLate) this.steps.cutOff(world.clock.now() - begunAt)
    // Each report gets its own turn, as always. The first may be the end of the code; then the others do not count.
    await this.turns.deliverSettled()
    if (replay.violation) return closing.park(replay.violation)
    if (replay.end) return this.finish()
    if (stop.queueAt) return closing.queue(this.waits.describe(), stop.queueAt)
    this.steps.abandon('the runner has to stop; the step will run again elsewhere')
    return closing.release(this.waits.rounds(), this.steps.haveAsked)
  }
}

const microtasksAreDone = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve))
