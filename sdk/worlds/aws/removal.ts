import { expiryOf, isGone } from '../../rules/guard.ts'
import { inParallel } from '../../rules/procedure.ts'
import type { Aws } from './context.ts'
import { eraseOwned } from './erase.ts'
import { change } from './expressions.ts'
import { getItems, put, updateIf } from './items.ts'
import { type Key, removalIndex, removalKey, runIdOf, runKey } from './keys.ts'
import { goesOnTime } from './lifetime.ts'
import { type AwsRun, type RunItem, toRun } from './run-item.ts'

/**
 * Tells the sweeper to remove everything of a run at a time. A hint, as everything in the due
 * index: the run itself decides.
 */
interface RemovalItem extends Key {
  /** The life it belongs to, where an id was used more than once. */
  life: string
  createdAt: number
  tags?: string[]
  inAll?: true
  objects?: true
  dueShard: string
  dueKey: string
  ttl: number
}

/** How long DynamoDB keeps a hint that the sweeper has not processed. */
const HINT_KEPT_MS = 60 * 86_400_000
/** For a run that was retried, or whose end is not complete yet. */
const LATER_MS = 3_600_000

/**
 * Written before the run has ended: a superfluous hint does no harm, but a missing one would leave
 * objects behind.
 */
export async function planRemoval(aws: Aws, run: RunItem, endedAt: number): Promise<void> {
  if (!goesOnTime(run)) return
  const runId = runIdOf(run.pk)
  const { life, createdAt, tags, inAll, objects } = run
  const expiry = expiryOf(endedAt, run.retentionMs)!
  const ttl = Math.ceil((expiry + HINT_KEPT_MS) / 1_000)
  await put(aws, {
    ...removalKey(runId, life),
    life,
    createdAt,
    tags,
    inAll,
    objects,
    ...removalIndex(runId, expiry),
    ttl,
  })
}

/**
 * `erase` removes everything stored of a run, the hint included. If it fails for one run, its hint
 * stays and the others go on.
 */
export async function removeOnTime(
  aws: Aws,
  keys: readonly Key[],
  erase: (run: AwsRun) => Promise<unknown>,
  onError: (runId: string, error: unknown) => void,
): Promise<void> {
  const items = await getItems<Key>(aws, [...keys, ...keys.map(({ pk }) => runKey(runIdOf(pk)))])
  await inParallel(
    keys.map((_, i) => i),
    async (i) => {
      const [hint, run] = [items[i], items[keys.length + i]] as [RemovalItem | undefined, RunItem | undefined]
      if (hint) await removeOne(aws, hint, run, erase).catch((error: unknown) => onError(runIdOf(hint.pk), error))
    },
  )
}

async function removeOne(
  aws: Aws,
  hint: RemovalItem,
  run: RunItem | undefined,
  erase: (run: AwsRun) => Promise<unknown>,
): Promise<void> {
  const { pk, sk } = hint
  const id = runIdOf(pk)
  const now = aws.clock.now()
  // DynamoDB's TTL was faster, or a later run has the id.
  if (run?.life !== hint.life) await eraseOwned(aws, { ...hint, id, hasObjects: hint.objects === true })
  else if (isGone(run, now)) await erase(toRun(run))
  else {
    const later = removalIndex(id, expiryOf(run.endedAt, run.retentionMs) ?? now + LATER_MS)
    await updateIf(aws, { pk, sk }, change(later), { text: '#dueKey = :seen', values: { ':seen': hint.dueKey } })
  }
}
