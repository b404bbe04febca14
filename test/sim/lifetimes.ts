import { unmarshall } from '@aws-sdk/util-dynamodb'
import type { Message, Waiting } from '../../sdk/ports/run.ts'
import type { Task } from '../../sdk/tasks/task.ts'
import { DUE, type Key, RUN, runIdOf, seqOf } from '../../sdk/worlds/aws/keys.ts'
import type { MessageItem } from '../../sdk/worlds/aws/mail.ts'
import { unpack } from '../../sdk/worlds/aws/payloads.ts'
import type { RunItem } from '../../sdk/worlds/aws/run-item.ts'
import type { TaskItem } from '../../sdk/worlds/aws/task-items.ts'
import type { Table } from './aws/dynamodb/table.ts'
import type { ObjectStore } from './aws/objects.ts'
import { LONG_MS, overlooked } from './overlooked.ts'

/** A run may be woken late: what it needs has to be there for so much longer. */
const LATE_MS = 86_400_000

interface Owned {
  item: Key & Record<string, unknown>
  goesAt: number
}

/** What must be true of the table at every moment: nothing of an open run can expire (I8), and something will move each. */
export function complaintsAbout(table: Table, objects: ObjectStore, now: number): string[] {
  const complaints: string[] = []
  const runs: RunItem[] = []
  const owned = new Map<string, Owned[]>()
  const tasks: TaskItem[] = []
  for (const { item, goesAt = Number.POSITIVE_INFINITY } of table.items()) {
    const pk = item.pk!.S!
    if (item.sk!.S === RUN) {
      if (item.endedAt === undefined) runs.push(unmarshall(item) as RunItem)
    } else if (pk.startsWith('TASK#')) {
      const task = unmarshall(item) as TaskItem
      if (task.ttl === undefined) tasks.push(task)
    } else if (pk.startsWith('RUN#')) {
      let items = owned.get(pk)
      if (!items) owned.set(pk, (items = []))
      items.push({ item: unmarshall(item) as Owned['item'], goesAt })
    }
  }
  if (runs.length === 0) return complaints
  const objectsGo = new Map(objects.list().map(({ key, goesAt }) => [key, goesAt]))
  for (const run of runs) {
    const say = (problem: string) => complaints.push(`run '${runIdOf(run.pk)}' (${run.status}): ${problem}`)
    const { dueShard } = run as unknown as { dueShard?: string }
    if (run.status !== 'stuck' && !dueShard?.startsWith(DUE))
      say('nothing will ever move it: it is not in the due index')
    const needed = neededUntil(run, now)
    if (run.ttl !== undefined) say('I8: it has a time to live itself')
    for (const [what, goesAt] of needs(run, owned.get(run.pk) ?? [], objectsGo))
      if (goesAt < needed) say(`I8: ${what} goes ${timeOf(goesAt)}, and it is needed until ${timeOf(needed)}`)
    for (const task of tasks) {
      if (
        typeof task.input !== 'object' ||
        !('item' in task.input) ||
        (unpackTask(task)?.runId ?? '') !== runIdOf(run.pk)
      )
        continue
      const goesAt =
        (owned.get(run.pk) ?? []).find(({ item }) => item.sk === `D#${(task.input as { item: string }).item}`)
          ?.goesAt ?? 0
      if (goesAt < needed)
        say(`I8: the input of its task ${task.pk} goes ${timeOf(goesAt)}, and it is needed until ${timeOf(needed)}`)
    }
    for (const message of leftLying(run, owned.get(run.pk) ?? [], now))
      say(`I6: it waits for ${message}, which came long ago, and nobody will look at it`)
  }
  return complaints
}

const unpackTask = ({ body }: TaskItem): Task | undefined =>
  typeof body === 'object' && 's3' in body ? undefined : (unpack(body) as unknown as Task)

/** Messages that have been there for long, while the run is not due. */
function leftLying(run: RunItem, owned: readonly Owned[], now: number): string[] {
  const isHeld = run.leaseUntil !== undefined && run.leaseUntil > now - LONG_MS
  if (run.waitingFor === undefined || isHeld || run.status === 'stuck' || run.wakeAt === undefined || run.wakeAt <= now)
    return []
  const messages = owned.flatMap(({ item }) => {
    const { life, body, at } = item as unknown as MessageItem
    const isLying = item.sk.startsWith('M#') && life === run.life && body !== undefined && at <= now - LONG_MS
    return isLying && !(typeof body === 'object' && 's3' in body) ? [unpack(body) as unknown as Message] : []
  })
  return overlooked(unpack(run.waitingFor) as unknown as Waiting[], messages)
}

/** Nobody knows how long a stuck run waits; the others are looked at when they are due, or when their lease ends. */
function neededUntil({ status, wakeAt, leaseUntil }: RunItem, now: number): number {
  if (status === 'stuck') return now + 3_650 * 86_400_000
  return Math.max(now, leaseUntil ?? 0, status === 'running' ? 0 : (wakeAt ?? 0)) + LATE_MS
}

/** What an open run may still read, and when each goes. What it points at and is gone goes at once. */
function* needs(
  run: RunItem,
  owned: readonly Owned[],
  objects: ReadonlyMap<string, number>,
): Generator<[what: string, goesAt: number]> {
  const bySort = new Map(owned.map((each) => [each.item.sk, each]))
  const pointedAt = function* (what: string, stored: unknown): Generator<[string, number]> {
    if (typeof stored !== 'object' || stored === null) return
    if ('item' in stored) yield [`${what}, in an item of its own,`, bySort.get(`D#${stored.item}`)?.goesAt ?? 0]
    if ('s3' in stored) yield [`${what}, in an object,`, objects.get(String(stored.s3)) ?? 0]
  }
  for (const field of ['input', 'parsed', 'progress', 'seed', 'error', 'heartbeat'] as const) {
    if (field !== 'seed' || !run.generation) yield* pointedAt(`its ${field}`, run[field])
  }
  for (const { item, goesAt } of owned) {
    if (item.life !== run.life) continue
    const isFrame = item.sk.startsWith('J#') && seqOf(item.sk) >= (run.baseSeq ?? 0)
    if (isFrame || isWaiting(run, item)) {
      yield [item.sk, goesAt]
      yield* pointedAt(item.sk, item.events ?? item.body)
    }
  }
}

/** A message counts once the run's counter has moved past the one that its sender saw. */
function isWaiting(run: RunItem, item: Key & Record<string, unknown>): boolean {
  if (!item.sk.startsWith('M#')) return false
  const { body, after } = item as unknown as MessageItem
  return body !== undefined && after < run.stimulus
}

const timeOf = (time: number): string =>
  time > 8e15 ? 'never' : time <= 0 ? 'before now: it is gone' : new Date(time).toISOString()
