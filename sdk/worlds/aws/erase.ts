import { isGone } from '../../rules/guard.ts'
import type { Aws } from './context.ts'
import { deleteIf, deleteItems, getItem, queryRange } from './items.ts'
import { entryKeys, FIRST_DATA, isRemoval, type Key, RUN, runKey, taskKey } from './keys.ts'
import type { AwsRun, RunItem } from './run-item.ts'

type Owned = Key & { life?: string }

/** What is known of a run whose item may have been removed. */
export interface Former {
  id: string
  createdAt: number
  tags?: string[] | undefined
  inAll?: boolean | undefined
  /** It may have some. */
  hasObjects: boolean
}

/**
 * Erases what its frames point at first and the run itself last, so an interrupted erasure can be
 * repeated.
 */
export async function eraseRun(aws: Aws, { id, item }: AwsRun, taskIds: readonly string[]): Promise<void> {
  await deleteItems(aws, taskIds.map(taskKey))
  // The sweeper, which comes for runs past their retention, must not ask S3 for every one of them.
  await eraseOwned(aws, { ...item, id, hasObjects: item.objects === true || !isGone(item, aws.clock.now()) })
  await deleteIf(aws, [runKey(id)], ofLife(item.life))
}

/**
 * Erases the partition, objects and list entries of an ended run, and of earlier runs with its id.
 * It spares a later run, which may begin at any moment once this one is past its retention: each
 * item goes only if it still belongs to the life that was read.
 */
export async function eraseOwned(aws: Aws, former: Former): Promise<void> {
  const { id, createdAt, hasObjects } = former
  const items = await queryRange<Owned>(aws, id, FIRST_DATA, RUN)
  const run = items.find(({ sk }) => sk === RUN) as RunItem | undefined
  const isLater = run !== undefined && run.createdAt > createdAt
  const isPayload = ({ sk }: Key) => sk.startsWith(FIRST_DATA)
  const payloads = items.filter(
    (item) => isPayload(item) && (createdAtOf(item) <= createdAt || (!isLater && createdAtOf(item) === 0)),
  )
  await deleteItems(aws, payloads)
  const others = items.filter((item) => !isPayload(item) && item.sk !== RUN && !(isLater && item.life === run.life))
  const [hints, rest] = [others.filter(isRemoval), others.filter((item) => !isRemoval(item))]
  for (const [life, ofTheLife] of Map.groupBy(rest, (item) => item.life!)) await deleteIf(aws, ofTheLife, ofLife(life))
  if (hasObjects) await aws.payloads.removeAll(id, createdAt)
  // Last: without it, a later erasure could not find the rest.
  await deleteItems(aws, [...hints, ...entryKeys(former)])
}

/**
 * Erases what is left of runs with this id that are past their retention, before DynamoDB's TTL
 * does. False if there is nothing, or a run that is not over.
 */
export async function eraseRemains(aws: Aws, id: string): Promise<boolean> {
  const now = aws.clock.now()
  const run = await getItem<RunItem>(aws, runKey(id))
  if (run && !isGone(run, now)) return false
  const items = await queryRange<Owned>(aws, id, FIRST_DATA, RUN)
  if (items.length === 0) return false
  await eraseOwned(aws, {
    id,
    createdAt: run?.createdAt ?? now - JUST_NOW_MS,
    tags: run?.tags,
    inAll: run?.inAll,
    hasObjects: true,
  })
  if (run) await deleteIf(aws, [runKey(id)], ofLife(run.life))
  return true
}

/** A run that is about to begin may have stored its input already. */
const JUST_NOW_MS = 3_600_000

/** Its name begins with when its run was created; 0 for one of 0.1.0. */
const createdAtOf = ({ sk }: Key): number =>
  sk.includes('.') ? Number(sk.slice(FIRST_DATA.length, sk.indexOf('.'))) : 0

const ofLife = (life: string) => ({ text: '#life = :life', values: { ':life': life } })
