import { GetCommand } from '@aws-sdk/lib-dynamodb'
import type { Json } from '../../engine/json.ts'
import { asWaiting, type NewTask, type Task } from '../../tasks/task.ts'
import { putIf, updateIf } from './conditional.ts'
import { absent } from './conditions.ts'
import { type Aws, newToken } from './context.ts'
import { change, type Expression } from './expressions.ts'
import { type Key, taskKey } from './keys.ts'
import type { Packed, Stored } from './payloads.ts'

const DAY = 86_400_000
/** A task that nobody takes is handed out again, and so written, more often than this. */
const OPEN_KEPT_MS = 60 * DAY
/** So that a worker that repeats itself gets the right answer. */
const SETTLED_KEPT_MS = DAY

/** A task as the table holds it. The input is apart from what changes, so that it is written once. */
export interface TaskItem extends Key {
  version: number
  /** Token of the call that wrote it. */
  writer: string
  body: Packed | { s3: string }
  input?: Stored
  ttl: number
}

export async function findTask(aws: Aws, taskId: string): Promise<TaskItem | undefined> {
  const { Item } = await aws.db.send(new GetCommand({ TableName: aws.table, Key: taskKey(taskId), ConsistentRead: true }))
  return Item as TaskItem | undefined
}

export async function toTask(aws: Aws, { body, version }: TaskItem): Promise<Task> {
  return { ...((await aws.payloads.load('', body)) as unknown as Task), version }
}

export async function inputOf(aws: Aws, runId: string, { input }: TaskItem): Promise<Json | undefined> {
  return input === undefined ? undefined : aws.payloads.load(runId, input as Exclude<Stored, { frame: number }>)
}

/** Puts a new task where none is, or in the place of an older one. Returns the one that is there instead, if that was it. */
export async function putTask(aws: Aws, task: NewTask, older?: TaskItem): Promise<{ ok: true; task: Task } | { ok: false; old: TaskItem | undefined }> {
  const waiting = asWaiting(task, (older?.version ?? 0) + 1)
  const ttl = ttlOf(aws, waiting)
  const item: TaskItem = {
    ...taskKey(task.id),
    version: waiting.version,
    writer: newToken(),
    body: await aws.payloads.storeInside(task.runId, waiting),
    input: await aws.payloads.storeBeside(task.runId, task.input, ttl),
    ttl,
  }
  const written = await putIf(aws, item, older ? atVersion(older.version) : absent)
  return written.ok || written.old?.writer === item.writer ? { ok: true, task: waiting } : { ok: false, old: written.old }
}

/** The item as it is then; undefined when somebody else has changed it since it was read. */
export async function writeTask(aws: Aws, task: Task): Promise<TaskItem | undefined> {
  const writer = newToken()
  const body = await aws.payloads.storeInside(task.runId, task)
  const update = change({ version: task.version + 1, writer, body, ttl: ttlOf(aws, task) })
  const written = await updateIf<TaskItem>(aws, taskKey(task.id), update, atVersion(task.version))
  if (written.ok) return written.item
  return written.old?.writer === writer ? written.old : undefined
}

const ttlOf = (aws: Aws, { state }: Task): number => Math.ceil((aws.clock.now() + (state === 'settled' ? SETTLED_KEPT_MS : OPEN_KEPT_MS)) / 1_000)
const atVersion = (version: number): Expression => ({ text: '#version = :version', values: { ':version': version } })
