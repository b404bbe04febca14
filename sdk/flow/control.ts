import { EVENT_ROLE } from '../base/events.ts'
import { accept } from '../base/schema.ts'
import type { RunOutcome } from '../engine/closing.ts'
import type { FlowControl, KnownPauses } from '../engine/flow-port.ts'
import type { Visit } from '../engine/visit.ts'
import { findWorkflow } from '../engine/workflow-code.ts'
import type { Message, RunRecord } from '../ports/run.ts'
import type { World } from '../ports/world.ts'
import type { WorkflowSource } from '../workflow.ts'
import { admissionFor, hasLimiterToPass, type LimiterToPass } from './admission.ts'
import { acceptBatch, soleStart } from './coalescing/coalescing.ts'
import { collectStarts } from './coalescing/collect-starts.ts'
import { limiterOf, TRUSTED_MS } from './limiter/limiter.ts'
import { isPause } from './limiter/pause-scope.ts'
import { AHEAD_MS } from './limiter/rate.ts'
import { releasesOfRun } from './limiter/releases.ts'
import { pausesOf, withLimiterToPass } from './pauses.ts'
import { latestStart, StepPermits } from './step-permits.ts'

/** Flow control as the engine sees it. */
export const flowControl: FlowControl = {
  pauses,
  admit,
  permits: (visit) => new StepPermits(visit),
  releasesOf: (run) => releasesOfRun(run),
  countsFrom: ({ run: { startedAt, createdAt, admission, generation }, claimed, begunAt }) =>
    !admission || generation > 0 ? (startedAt ?? createdAt) : (claimed.frames[0]?.at ?? begunAt),
  childOf: async (workflow, accepted, now) => ({
    ...soleStart(workflow, accepted),
    ...(await admissionFor(workflow, accepted, now)),
  }),
  nextInput: (workflow, given, what) =>
    workflow.options.batch ? acceptBatch(workflow, given, what) : accept(workflow.options.input, given, what),
}

/** Debounce and batch windows, the run's own queue, its permits, and pauses: before any workflow code. */
async function admit(visit: Visit, workflows: WorkflowSource): Promise<RunOutcome | undefined> {
  const { run, closing } = visit
  const { admission } = run
  const cancelled = cancelledBeforeStart(visit)
  if (cancelled)
    return closing.endWith({ type: 'run.cancelled', reason: cancelled.reason ?? 'cancelled before it started' })
  if (admission?.gathering) {
    const outcome = await collect(visit, workflows)
    if (outcome) return outcome
  }
  if (hasLimiterToPass(run) && !isToStop(visit)) return closing.queue(run.waitingFor)
  const pause = pauseOf(visit)
  if (pause) return closing.queue(run.waitingFor, withLimiterToPass(run, pause, !visit.journal.isEmpty))
  const startsAt = latestGrant(run)
  if (startsAt > visit.world.clock.now() && visit.journal.isEmpty && !isToStop(visit)) {
    const outcome = await waitForGrant(visit, startsAt)
    if (outcome) return outcome
  }
  // Last: what it takes of a rate is for now.
  const lost = run.admission && !isToStop(visit) ? await lostPermit(visit) : undefined
  if (lost !== undefined) return requeue(visit, lost)
  if (run.admission) dispatchNext(visit)
  return undefined
}

const latestGrant = ({ admission }: RunRecord): number =>
  Math.max(0, ...(admission?.gates.map(({ grant }) => grant?.at ?? 0) ?? []))

/**
 * The run is visited before the time that a rate has granted it for: its runner waits for a moment that is near, and
 * otherwise releases the run until then.
 */
async function waitForGrant({ buffer, world, waker }: Visit, at: number): Promise<RunOutcome | undefined> {
  if (at - world.clock.now() > AHEAD_MS) {
    const result = await buffer.commit({ kind: 'release', wakeAt: at })
    return { status: result.ok ? 'released' : 'superseded' }
  }
  while (at > world.clock.now()) await waker.sleep(at)
  return undefined
}

/** Takes the starts that become this run. An outcome, if more may come. */
async function collect(
  { world, run, closing, buffer, inbox, options }: Visit,
  workflows: WorkflowSource,
): Promise<RunOutcome | undefined> {
  const workflow = await findWorkflow(run, workflows)
  if (workflow instanceof Error) return closing.leaveToOthers(workflow, options.unknownDelayMs)
  const collected = await collectStarts(world, workflow, run, (next) => buffer.commit(next))
  if ('status' in collected) return collected
  inbox.note(collected)
  return undefined
}

/**
 * The limiter whose permit the run has lost before it began: its slot went to another run, or its part of a rate
 * was for another time.
 */
async function lostPermit(visit: Visit): Promise<number | undefined> {
  const { run, journal, world, claimed, waker } = visit
  if (!journal.isEmpty || run.generation > 0) return undefined
  const now = world.clock.now()
  const isDoubtful = ({ grant, limit }: LimiterToPass) =>
    grant !== undefined &&
    !isPause(limit) &&
    ((grant.until ?? now) < now || (grant.slot !== undefined && now - grant.by > TRUSTED_MS))
  if (!run.admission!.gates.some(isDoubtful)) return undefined
  const { lost, renewed } = await world.store.confirmPermits(run, claimed.recovered, latestStart(visit))
  if (!renewed) return lost
  while (renewed.at > world.clock.now()) await waker.sleep(renewed.at)
  return world.clock.now() > renewed.until ? renewed.limiter : undefined
}

/** Queues the run again at this limiter. What it got from later ones is for others. */
function requeue({ run, closing, buffer }: Visit, at: number): Promise<RunOutcome> {
  const { gates } = run.admission!
  for (const release of releasesOfRun(run).slice(at)) buffer.send(release)
  const without = gates.map(({ grant, ...limiter }, i) => (i < at && grant ? { ...limiter, grant } : limiter))
  return closing.queue(run.waitingFor, { admission: { ...run.admission!, gates: without }, passed: at })
}

/** Starts behind a reservation wait for it to begin: its owner dispatches them, with its first commit. */
function dispatchNext({ run, journal, world, buffer }: Visit): void {
  const pauses = pausesOf(world)
  // A rate is passed before the first visit; a pause may come at any time.
  const mayWait = (limiter: LimiterToPass) => (isPause(limiter.limit) ? pauses.mayHaveQueue(limiter) : journal.isEmpty)
  const isRated = ({ grant, holds }: LimiterToPass) => grant !== undefined && (!holds || grant.until !== undefined)
  const rated = run.admission!.gates.filter((limiter) => isRated(limiter) && mayWait(limiter))
  for (const limiter of rated) buffer.send({ kind: 'dispatchNext', limiter: limiterOf(limiter), holder: run.id })
}

function pauses(world: World): KnownPauses {
  const known = pausesOf(world)
  return {
    refresh: () => known.refresh(),
    placeOf: (visit) => {
      const pause = pauseOf(visit, known)
      return pause && withLimiterToPass(visit.run, pause, true)
    },
  }
}

/** The pause that blocks this run. A run that is being cancelled ignores pauses. */
function pauseOf(visit: Visit, known = pausesOf(visit.world)): LimiterToPass | undefined {
  const pause = known.over(visit.run)
  return pause && !isToStop(visit) ? pause : undefined
}

function cancelledBeforeStart({ run, journal, claimed }: Visit): Extract<Message, { kind: 'cancel' }> | undefined {
  if (!journal.isEmpty || !(run.epoch === 1 || hasLimiterToPass(run) || run.admission?.gathering)) return undefined
  return claimed.inbox.find((message) => message.kind === 'cancel')
}

/** A run that is to stop neither queues nor pauses for that. */
function isToStop({ replay, claimed, journal }: Visit): boolean {
  return (
    replay.stopRequested !== undefined ||
    claimed.inbox.some(({ kind }) => kind === 'cancel') ||
    journal.deliveries.some(({ type }) => EVENT_ROLE[type] === 'stops')
  )
}
