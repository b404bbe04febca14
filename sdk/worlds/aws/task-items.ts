import type { Json } from '../../base/json.ts'
import { asWaiting, type NewTask, type Task } from '../../tasks/task.ts'
import { type Aws, newToken } from './context.ts'
import { absent, change, type Expression, exists } from './expressions.ts'
import { getItem, putIf, updateIf } from './items.ts'
import { type Key, runKey, taskKey } from './keys.ts'
import { ttlNow } from './lifetime.ts'
import { isObject, type Packed, type Stored } from './payloads.ts'
import type { AwsRun } from './run-item.ts'

/** A settled task is kept this long, so that a worker that repeats its call gets the right answer. */
const SETTLED_KEPT_MS = 86_400_000

/**
 * A task as the table holds it. The input is stored apart from what changes, so that it is written
 * once.
 */
export interface TaskItem extends Key {
  version: number
  /** Token of the call that wrote it. */
  writer: string
  body: Packed | { s3: string }
  input?: Stored
  /** Only of a settled task: an open task is withdrawn when its run ends, and not before (I8). */
  ttl?: number
}

export const findTask = (aws: Aws, taskId: string): Promise<TaskItem | undefined> =>
  getItem<TaskItem>(aws, taskKey(taskId))

export async function toTask(aws: Aws, { body, version }: TaskItem): Promise<Task> {
  return { ...((await aws.payloads.load('', body)) as unknown as Task), version }
}

export async function inputOf(aws: Aws, runId: string, { input }: TaskItem): Promise<Json | undefined> {
  return input === undefined ? undefined : aws.payloads.load(runId, input as Exclude<Stored, { frame: number }>)
}

/**
 * Puts a new task where there is none, or in the place of an older one. Returns the existing task
 * instead, if it is the same.
 */
export async function putTask(
  aws: Aws,
  run: AwsRun,
  task: NewTask,
  older: Task | undefined,
): Promise<{ ok: true; task: Task } | { ok: false; there: Task | undefined }> {
  const waiting = asWaiting(task, (older?.version ?? 0) + 1)
  const [body, input] = await Promise.all([
    aws.payloads.storeInside(run, waiting),
    aws.payloads.storeBeside(run, task.input, ttlNow(run.item, aws.clock.now())),
  ])
  if (isObject(body) || isObject(input)) run.item.objects = true
  const item: TaskItem = { ...taskKey(task.id), version: waiting.version, writer: newToken(), body, input }
  const written = await putIf(aws, item, older ? atVersion(older.version) : absent)
  if (written.ok || written.old?.writer === item.writer) return { ok: true, task: waiting }
  return { ok: false, there: written.old && (await toTask(aws, written.old)) }
}

/** The item after the write; undefined if another process has changed it since it was read. */
export async function writeTask(aws: Aws, task: Task): Promise<TaskItem | undefined> {
  const writer = newToken()
  const body = await aws.payloads.storeInside({ id: task.runId, createdAt: task.life }, task)
  if (isObject(body)) await updateIf(aws, runKey(task.runId), change({ objects: true }), exists)
  const ttl = task.state === 'settled' ? Math.ceil((aws.clock.now() + SETTLED_KEPT_MS) / 1_000) : undefined
  const update = change({ version: task.version + 1, writer, body, ttl })
  const written = await updateIf<TaskItem>(aws, taskKey(task.id), update, atVersion(task.version))
  if (written.ok) return written.item
  return written.old?.writer === writer ? written.old : undefined
}

const atVersion = (version: number): Expression => ({ text: '#version = :version', values: { ':version': version } })
