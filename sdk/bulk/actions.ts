import { keyedMessageId, keyedRunId } from '../base/names.ts'
import { rerun } from '../client/rerunning.ts'
import { journalHas, recordOf, retry, whyNotRetried } from '../client/retrying.ts'
import { inheritanceOf } from '../engine/rerun.ts'
import type { World } from '../ports/world.ts'
import type { Bulk, BulkAction } from './steer-many.ts'

export type Needs = Pick<World, 'store' | 'wakeups' | 'documents' | 'clock' | 'ids'>

/**
 * Acts on one of many runs, on behalf of the run `self`. True: it was done, now or by an earlier attempt of
 * `self`. False: the run had ended.
 */
type Steer = (world: Needs, runId: string, bulk: Bulk, self: string) => Promise<boolean>

/** Each action has a key of its own: a repeat after a crash has no effect. */
export const STEER: Record<BulkAction, Steer> = {
  async retry(world, runId, _bulk, self) {
    await retry(world, runId, { idempotencyKey: keyOf(self) })
    return true
  },
  async rerun(world, runId, { from, inheritUndone = false }, self) {
    const id = rerunId(runId)
    if (!(await isRerunBy(world, id, self)))
      await rerun(world, runId, { id, by: self, inheritUndone, ...(from !== undefined && { from }) })
    return true
  },
  async cancel({ store, wakeups }, runId, { reason }, self) {
    const { outcome, wakes } = await store.deliver(runId, {
      id: keyedMessageId('cancel', keyOf(self)),
      kind: 'cancel',
      ...(reason !== undefined && { reason }),
    })
    await wakeups.send(wakes)
    return outcome === 'accepted' || outcome === 'duplicate'
  },
  async terminate({ store, wakeups }, runId, { reason = 'terminated by request, with others' }) {
    const { ended, wakes } = await store.terminate(runId, reason)
    await wakeups.send(wakes)
    return ended
  },
}

const keyOf = (self: string) => `bulk ${self}`

/**
 * One rerun for each run, from whichever step: rerunning an incident twice does not repeat its work. A failed
 * rerun is rerun by its own id.
 */
const rerunId = (runId: string) => keyedRunId(`bulk rerun\n${runId}`)

const isRerunBy = (world: Needs, id: string, self: string) =>
  journalHas(world, id, (event) => event.type === 'run.rerun' && event.by === self)

/** Why it cannot be done, as the predicate of a number of runs: "have undone their steps". */
type WhyNot = (world: Needs, runId: string, bulk: Bulk, self?: string) => Promise<string | undefined>

/** Only for actions that may refuse a run that matches the filter. Writes nothing. */
export const WHY_NOT: Partial<Record<BulkAction, WhyNot>> = {
  async retry(world, runId) {
    return (await whyNotRetried(world, runId))?.why
  },
  async rerun(world, runId, { from, inheritUndone }, self) {
    const id = rerunId(runId)
    if (await world.store.state(id))
      return self !== undefined && (await isRerunBy(world, id, self)) ? undefined : ALREADY
    if (from === undefined || inheritUndone) return undefined
    const { undone } = inheritanceOf(await recordOf(world, runId), await world.store.frames(runId), world.clock.now(), {
      from,
    })
    return undone && UNDONE
  },
}

const ALREADY = 'have been rerun together with others before: look at those runs, and rerun them if they failed'
const UNDONE =
  'would take over work that was undone (ctx.compensate): rerun them from the beginning, or with inheritUndone ' +
  '(--inherit-undone)'
