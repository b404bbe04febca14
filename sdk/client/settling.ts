import { type Duration, milliseconds } from '../base/duration.ts'
import { hasEnded } from '../ports/run.ts'
import type { World } from '../ports/world.ts'
import type { RunView } from './options.ts'
import { recordOf } from './retrying.ts'
import { nextChange } from './run-changes.ts'
import { viewOf } from './run-view.ts'
import type { Prepared, Starting } from './starting.ts'

/** When a wait for a run is over. */
export function untilOf({ clock }: World, what: string, timeout: Duration | undefined): number {
  return timeout === undefined ? Number.POSITIVE_INFINITY : clock.now() + milliseconds(timeout, what)
}

/** The run as soon as it has ended or is stuck, or as it stands then. */
export async function settledBy(world: World, runId: string, until: number): Promise<RunView> {
  for (;;) {
    // Watching begins before reading, or a change between the two would be missed.
    const change = nextChange(world, runId, until)
    const run = await recordOf(world, runId).catch((error: unknown) => {
      change.cancel()
      throw error
    })
    if (hasEnded(run.status) || run.status === 'stuck' || world.clock.now() >= until) {
      change.cancel()
      return viewOf(run)
    }
    await change.promise
  }
}

export async function startAndSettle(
  world: World,
  starting: Starting,
  prepared: Prepared,
  timeout: Duration | undefined,
): Promise<{ run: RunView; created: boolean }> {
  const { run } = prepared
  const until = untilOf(world, `the timeout for run '${run.id}'`, timeout)
  // Watching from before it is there, so that there is no need to look before something happens.
  const change = nextChange(world, run.id, until)
  try {
    const { runId, created, handedOver } = await starting.launch(prepared, until)
    // The first of the two: a runner that cannot be reached must not keep the caller from a result that is there.
    // A run that several starts become has an id of its own.
    if (created && runId === run.id) await Promise.race([change.promise, ...(handedOver ? [handedOver] : [])])
    return { run: await settledBy(world, runId, until), created }
  } finally {
    change.cancel()
  }
}
