import type { Aws } from './context.ts'
import { deleteItems, queryRange } from './items.ts'
import { FIRST_DATA, type Key, RUN, runKey, tagKey, taskKey } from './keys.ts'
import type { AwsRun } from './run-item.ts'

/** Objects first and the run itself last: what is broken off in between can be done again. */
export async function eraseRun(aws: Aws, { id, item }: AwsRun, taskIds: readonly string[]): Promise<void> {
  await aws.payloads.removeAll(id)
  const owned = await queryRange<Key>(aws, id, FIRST_DATA, RUN)
  const elsewhere = [...taskIds.map(taskKey), ...(item.tags ?? []).map((tag) => tagKey(tag, id, item.createdAt))]
  await deleteItems(aws, [...owned.filter(({ sk }) => sk !== RUN), ...elsewhere])
  await deleteItems(aws, [runKey(id)])
}
