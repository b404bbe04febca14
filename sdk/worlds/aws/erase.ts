import type { Aws } from './context.ts'
import { deleteIf, deleteItems, queryRange } from './items.ts'
import { dataKey, FIRST_DATA, type Key, RUN, runKey, tagKey, taskKey } from './keys.ts'
import { type Owner, ownPrefix } from './payloads.ts'
import type { AwsRun } from './run-item.ts'

/** Which of the runs that have had an id. */
export interface Life extends Owner {
  life: string
  tags?: string[]
}

/** Objects first and the run itself last: what is broken off in between can be done again. */
export async function eraseRun(aws: Aws, { id, item }: AwsRun, taskIds: readonly string[]): Promise<void> {
  await eraseOwned(aws, { ...item, id })
  await deleteItems(aws, taskIds.map(taskKey))
  await deleteIf(aws, [runKey(id)], ofLife(item.life))
}

/** What is in the run's own partition, in the bucket and in lists. Nothing of a later run with its id, which may begin at any moment once this one is past its retention. */
export async function eraseOwned(aws: Aws, run: Life): Promise<void> {
  await aws.payloads.removeAll(run)
  const items = await queryRange<Key & { life?: string }>(aws, run.id, FIRST_DATA, RUN)
  const isPayload = ({ sk }: Key) => sk.startsWith(FIRST_DATA)
  // Those of 0.1.0 do not say whose they are.
  const payloads = items.filter((item) => isPayload(item) && (item.sk.startsWith(dataKey(ownPrefix(run))) || !item.sk.includes('.')))
  await deleteItems(aws, [...payloads, ...(run.tags ?? []).map((tag) => tagKey(tag, run.id, run.createdAt))])
  await deleteIf(
    aws,
    items.filter((item) => !isPayload(item) && item.sk !== RUN && item.life === run.life),
    ofLife(run.life),
  )
}

const ofLife = (life: string) => ({ text: '#life = :life', values: { ':life': life } })
