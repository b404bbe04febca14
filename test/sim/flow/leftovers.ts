import { Client } from '../../../sdk/client/client.ts'
import type { Cloud } from '../cloud.ts'
import type { FlowOutside } from './outside.ts'
import { isQueue, mayStay, withoutTimes } from './stored.ts'
import type { FlowWitness } from './witness.ts'
import { canaryOf } from './workflows.ts'

/** The longest that a document may stay that was made for a run: a month, for a retry under a key. */
const LONGEST_EXPIRY_MS = 31 * 86_400_000

/** When all is done, limiters and queues are empty, nothing is paused, and every document that was made for a run goes some time. */
export async function leftovers(cloud: Cloud): Promise<string[]> {
  const found: string[] = []
  const client = new Client(cloud.observer(), cloud.workflows)
  for (const { name, gates } of await client.limits.list()) {
    for (const { key, inside, holders, waiting, next } of gates) {
      const which = key === undefined ? `limit '${name}'` : `limit '${name}' of '${key}'`
      if (inside > 0) found.push(`everything has ended, and ${which} still counts ${holders.join(', ')}`)
      if (waiting.count > 0) found.push(`everything has ended, and ${next.join(', ')} is in the queue of ${which}`)
    }
  }
  // Whoever looks forgets the pauses of runs that have ended.
  for (const { scope } of await client.pauses())
    found.push(`everything was resumed, and ${JSON.stringify(scope)} is paused`)
  const latest = cloud.clock.now() + LONGEST_EXPIRY_MS
  const staying = cloud.stored
    .documents()
    .filter((document) => (document.expiresAt ?? Infinity) > latest && !mayStay(document))
  if (staying.length > 0) {
    const names = staying.map(({ collection, key }) => `'${collection.replaceAll('\u0001', '|')} ${key}'`)
    found.push(`everything has ended, and these documents stay for ever: ${names.slice(0, 5).join(', ')}`)
  }
  return found
}

/** A request is in the queue of its limiter once, however long it waits and however often its run is looked at. */
export function queuedTwice({ stored }: Cloud): string[] {
  const requests = stored.documents().filter(({ collection }) => isQueue(collection))
  const times = Map.groupBy(requests, ({ collection, key }) => `${collection} ${withoutTimes(key)}`)
  return [...times].filter(([, entries]) => entries.length > 1).map(([request]) => request.replaceAll('\u0001', '|'))
}

/** After an erase, nothing of a payload is anywhere. */
export function checkErased(cloud: Cloud, witness: FlowWitness, outside: FlowOutside): void {
  const gone = new Map<string, number>()
  const kept = new Set<number>()
  for (const run of witness.runs.values())
    if (!outside.erased.has(run.id)) for (const n of run.inputs ?? []) kept.add(n)
  for (const { plan, runId } of outside.accepted.values())
    if (outside.erased.has(runId) && !kept.has(plan.n)) gone.set(canaryOf(plan.n), plan.n)
  if (gone.size === 0) return
  for (const { where, text } of cloud.stored.texts())
    for (const [canary, n] of gone)
      if (text.includes(canary))
        witness.fail(
          'erased',
          `run of start ${n} was erased, and its input is still in ${where.replaceAll('\u0001', '|')}`,
        )
}
