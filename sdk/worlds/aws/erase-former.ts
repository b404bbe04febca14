import { isGone } from '../../rules/guard.ts'
import { inParallel } from '../../rules/procedure.ts'
import type { Aws } from './context.ts'
import { eraseOwned, eraseRemains } from './erase.ts'
import { deleteItems, getItems } from './items.ts'
import { createdKey, runKey, tagPartition, timeOf } from './keys.ts'
import type { RunItem } from './run-item.ts'
import { type IndexEntry, inChunks, merge } from './shards.ts'

const PAGE = 100

/**
 * Runs with a tag that are past their retention are in no list any more, and what they left behind
 * goes by its time to live, within two months. Their tags still lead to them.
 */
export async function eraseFormer(
  aws: Aws,
  tag: string,
  cursor: string | undefined,
): Promise<{ erased: number; cursor?: string }> {
  const range = { from: '0', to: cursor ?? ':', newestFirst: true, pageSize: PAGE }
  const partitions = [{ index: 'table' as const, value: tagPartition(tag) }]
  for await (const entries of inChunks(merge(aws, partitions, range, { left: Number.POSITIVE_INFINITY }), PAGE)) {
    const erased = await eraseThem(aws, tag, entries)
    return entries.length < PAGE ? { erased } : { erased, cursor: entries.at(-1)!.at }
  }
  return { erased: 0 }
}

async function eraseThem(aws: Aws, tag: string, entries: readonly IndexEntry[]): Promise<number> {
  const runs = await getItems<RunItem>(
    aws,
    entries.map(({ runId }) => runKey(runId)),
  )
  const former = entries.filter(({ runId, at }, i) => {
    const run = runs[i]
    return !run || isGone(run, aws.clock.now()) || at !== createdKey(runId, run.createdAt)
  })
  await inParallel(former, async ({ runId, at }) => {
    const createdAt = timeOf(at)
    if (!(await eraseRemains(aws, runId))) await eraseOwned(aws, { id: runId, createdAt, hasObjects: true })
    // Last: without it, a later erasure could not find the rest.
    await deleteItems(aws, [{ pk: tagPartition(tag), sk: at }])
  })
  return former.length
}
