import { inflateRawSync } from 'node:zlib'
import { nameOf, type PauseScope } from '../../../sdk/flow/limiter/pause-scope.ts'
import type { RunStatus } from '../../../sdk/ports/run.ts'
import type { RunStore } from '../../../sdk/ports/run-store.ts'
import { runKey, timeOf } from '../../../sdk/worlds/aws/keys.ts'
import type { Database } from '../../../sdk/worlds/local/database.ts'
import type { Table } from '../aws/dynamodb/table.ts'
import type { ObjectStore } from '../aws/objects.ts'
import type { Attributes } from '../aws/values/attribute-value.ts'
import { after, replacing } from '../spies.ts'

/**
 * All that the flow checks and the planted bugs know of how the product stores things. Names of collections, columns and
 * attributes are here and nowhere else in this folder: when the product renames them, this is the file to adapt.
 */

/** Collections of documents, by what they are for. */
export const isLimiter = (collection: string): boolean => collection.startsWith('gates ')
/** One slot of a limiter. */
export const isSlot = (collection: string): boolean => collection.startsWith('slots ')
export const isQueue = (collection: string): boolean => collection.startsWith('line ')
/** The key of a request in a queue, without how often it was made. */
export const withoutTimes = (key: string): string => key.replace(/#\d+$/, '')
export const isLimitRecord = (collection: string): boolean => collection === 'limits'
export const isPauseRecord = (collection: string): boolean => collection === 'pauses'
/** The record that counts such starts. */
export const isSeries = (collection: string): boolean => collection.startsWith('series of starts ')
/** The message that holds a start of a debounced or batched workflow, in the inbox of its run. */
export const isStart = (messageId: string): boolean => messageId.startsWith('start ')

/** Documents that do not stay: a limiter that is checked at some time goes then, if it is not in use. Records of limits do stay. */
export const mayStay = ({ collection, dueAt }: StoredDocument): boolean =>
  isLimitRecord(collection) || dueAt !== undefined

/** Who holds a slot. */
export const holderOf = (slot: unknown): string => (slot as { holder?: string } | null)?.holder ?? ''
/** A slot as if nobody held it. */
export const withoutHolder = (slot: object): object => ({ ...slot, holder: '' })
/** A limiter that has forgotten what it let in lately. */
export function withoutUse(limiter: object): object {
  const { used: _, lastAt: __, ...rest } = limiter as { used?: unknown; lastAt?: unknown }
  return rest
}
/** A pause that is being lifted, at another rate than somebody asked for. */
export function resumedAt(record: object, perSecond: number): object {
  const { code } = record as { code?: { rate?: number } }
  return code?.rate === undefined ? record : { ...record, code: { ...code, rate: perSecond } }
}

export interface StoredRunState {
  status: RunStatus
  epoch: number
  leaseUntil: number | undefined
}

export interface StoredDocument {
  collection: string
  key: string
  expiresAt: number | undefined
  dueAt: number | undefined
}

/** What is really stored, past every process and network. */
export interface Stored {
  run(id: string): StoredRunState | undefined
  /** Every document, those that have expired and are still there included. */
  documents(): StoredDocument[]
  /** Every text that is stored anywhere, unpacked, and where it lies. */
  texts(): Iterable<{ where: string; text: string }>
}

/** The runs in the queue of a pause that was set since then. Those of an earlier one of its name may be on their way out. */
export function runsHeldBy(stored: Stored, scope: PauseScope, since: number): string[] {
  const queues = `line ${nameOf(scope)}\u0001`
  const isOfIt = ({ collection }: StoredDocument) =>
    collection.startsWith(queues) && Number.parseInt(collection.slice(queues.length), 10) >= since
  const entries = stored.documents().filter(isOfIt)
  return entries.map(({ key }) => withoutTimes(key).split('/')[2]!)
}

/** Notes which claim of which run a process has, for checks that have to know whose lease a body goes by. */
export function notingClaims(store: RunStore, claims: Map<string, number>): RunStore {
  return replacing(store, {
    claim: (runId, lease) =>
      after(store.claim(runId, lease), (claimed) => {
        if (claimed) claims.set(runId, claimed.run.epoch)
        return claimed
      }) as ReturnType<RunStore['claim']>,
  })
}

export function localStored(db: Database): Stored {
  const tables = () => db.rows(`SELECT name FROM sqlite_master WHERE type = 'table'`).map(({ name }) => name as string)
  return {
    run: (id) => {
      const row = db.row('SELECT status, epoch, lease_until FROM runs WHERE id = ?', id)
      if (!row) return undefined
      const { status, epoch, lease_until: until } = row
      return {
        status: status as RunStatus,
        epoch: Number(epoch),
        leaseUntil: until === null ? undefined : Number(until),
      }
    },
    documents: () =>
      db
        .rows('SELECT collection, key, expires_at, due_at FROM documents')
        .map(({ collection, key, expires_at: at, due_at: due }) => ({
          collection: collection as string,
          key: key as string,
          expiresAt: at === null ? undefined : Number(at),
          dueAt: due === null ? undefined : Number(due),
        })),
    *texts() {
      for (const table of tables())
        for (const row of db.rows(`SELECT * FROM ${table}`))
          yield { where: `table ${table}`, text: JSON.stringify(row) }
    },
  }
}

const DOCUMENT = 'DOC#'

export function awsStored(table: Table, objects: ObjectStore): Stored {
  return {
    run: (id) => {
      const { pk, sk } = runKey(id)
      const item = table.read({ pk: { S: pk }, sk: { S: sk } }, 0)?.item
      if (!item) return undefined
      const { status, epoch, leaseUntil } = item
      const until = leaseUntil?.N === undefined ? undefined : Number(leaseUntil.N)
      return { status: status!.S as RunStatus, epoch: Number(epoch!.N), leaseUntil: until }
    },
    documents: () => {
      const found: StoredDocument[] = []
      for (const { item } of table.items()) {
        if (!item.pk!.S!.startsWith(DOCUMENT)) continue
        const expiresAt = item.expiresAt?.N === undefined ? undefined : Number(item.expiresAt.N)
        const dueAt = item.dueKey?.S === undefined ? undefined : timeOf(item.dueKey.S)
        found.push({ collection: item.pk!.S!.slice(DOCUMENT.length), key: item.sk!.S!, expiresAt, dueAt })
      }
      return found
    },
    *texts() {
      for (const { item } of table.items()) yield { where: `item ${item.pk!.S} ${item.sk!.S}`, text: textOf(item) }
      for (const { key } of objects.list()) yield { where: `object ${key}`, text: unpacked(objects.get(key)) }
    },
  }
}

/** Attributes hold JSON as text, or deflated. */
function textOf(item: Attributes): string {
  return Object.values(item)
    .map((value) => (value.B ? unpacked(value.B) : JSON.stringify(value)))
    .join('\n')
}

function unpacked(bytes: Uint8Array): string {
  try {
    return inflateRawSync(bytes).toString()
  } catch {
    return Buffer.from(bytes).toString('latin1')
  }
}
