import type { Accepted } from '../../base/schema.ts'
import type { CommitResult, Next } from '../../ports/commit.ts'
import type { RunRecord } from '../../ports/run.ts'
import type { World } from '../../ports/world.ts'
import type { AnyWorkflow } from '../../workflow.ts'
import { admissionWithStarts } from '../admission.ts'
import { acceptedOf, type CoalescedStarts, inputFrom, slotId, timesOf } from './coalescing.ts'
import { forgetLogged, takeLogged } from './logged-starts.ts'

/** How long a runner waits for starts that were given a slot and have not filled it: their senders may have died. */
const SLOW_START_MS = 1_000

/** The run has its input, which the commit stores; or it was released, to wait for more starts. */
export type CollectedStarts = Extract<CommitResult, { ok: true }> | { status: 'released' | 'superseded' }

/**
 * What a runner does before the loop with a run that several starts become: it waits for more of them, or takes them as
 * the run's input. `run` is changed accordingly.
 */
export async function collectStarts(
  world: World,
  workflow: AnyWorkflow,
  run: RunRecord,
  commit: (next: Next) => Promise<CommitResult>,
): Promise<CollectedStarts> {
  const starts = run.admission!.gathering!
  const taken = await (starts.series === undefined
    ? takeLogged(world, workflow, run.id, starts)
    : takeStarts(world, workflow, run, starts))
  if ('lookAt' in taken) {
    if (!(await commit({ kind: 'release', wakeAt: taken.lookAt })).ok) return { status: 'superseded' }
    await world.wakeups.send(await world.store.beginIfFull(run.id))
    return { status: 'released' }
  }
  const { accepted, ids = [] } = taken as { accepted: Accepted; ids?: string[] }
  const admission = await admissionWithStarts(workflow, accepted, run.admission!)
  const result = await commit({ kind: 'collected', ...accepted, admission, starts: ids })
  if (!result.ok) return { status: 'superseded' }
  delete run.parsed
  delete run.reparse
  Object.assign(run, accepted, { admission })
  if (starts.series === undefined) await forgetLogged(world, workflow.name, run.id, starts)
  return result
}

async function takeStarts(
  world: World,
  workflow: AnyWorkflow,
  run: RunRecord,
  { slot, all: isList }: CoalescedStarts,
): Promise<{ accepted: Accepted; ids: string[] } | { lookAt: number }> {
  const { store, clock } = world
  const times = timesOf(workflow)
  let collected = await store.collectStarts(run.id, times)
  if ('isMissing' in collected) {
    await new Promise<void>((resolve) => clock.at(clock.now() + SLOW_START_MS, resolve))
    collected = await store.collectStarts(run.id, times, { closes: true })
  }
  if ('isMissing' in collected) return { lookAt: clock.now() }
  if ('lookAt' in collected) return collected
  const mail = collected.starts.map((each) => ({ slot: each.slot, accepted: acceptedOf(each) }))
  // The start that the run was created with is the run's own input so far.
  const all = [...mail, { slot: slot!, accepted: acceptedOf(run) }].sort((a, b) => a.slot - b.slot)
  const accepted = inputFrom(
    workflow,
    isList === true,
    all.map((each) => each.accepted),
  )
  return { accepted, ids: mail.map((each) => slotId(each.slot)) }
}
