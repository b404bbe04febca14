import type { Frame, TerminalEvent } from '../../base/events.ts'
import type { Json } from '../../base/json.ts'
import { outcomeOf } from '../../engine/ending.ts'
import type { NewRun, Reply, RunRecord } from '../../ports/run.ts'
import type { RunCounts, RunFilter, RunPage } from '../../ports/run-lists.ts'
import type { Wake } from '../../ports/world.ts'
import { isGone } from '../../rules/guard.ts'
import { refuseTooLarge, UnreadableRunError } from '../../rules/limits.ts'
import { callByCall, type Procedure } from '../../rules/procedure.ts'
import { known } from '../../rules/run-store.ts'
import type { Change, Forgotten, Mail, Storage, StoredDocuments, Updated } from '../../rules/storage.ts'
import type { NewTask, Task } from '../../tasks/task.ts'
import { changeBlindly, changeRun } from './changes.ts'
import { Claims } from './claims.ts'
import { freeId } from './conditions.ts'
import { type Aws, newToken } from './context.ts'
import { eraseRemains, eraseRun } from './erase.ts'
import { eraseFormer } from './erase-former.ts'
import { appendFrame, type FrameItem, readFrame, refuseHoles, toFrames } from './frames.ts'
import { getItem, put, putIf, queryRange } from './items.ts'
import {
  AFTER_FRAMES,
  AFTER_MESSAGES,
  allKey,
  dueIndex,
  frameKey,
  type Key,
  listIndex,
  runKey,
  tagKey,
} from './keys.ts'
import { keepUntilStart, mayHaveExpired, QUEUED_CHECK_MS, ttlNow } from './lifetime.ts'
import { countTrouble, dueDocuments, listRuns, overdueRuns } from './list.ts'
import { ListedWorkflows } from './listed-workflows.ts'
import {
  consume,
  findMessage,
  findReply,
  forgetConsumed,
  loadMessages,
  type MessageItem,
  putMessage,
  putReply,
  removeMessages,
  toMessages,
} from './mail.ts'
import { isObject, type Stored } from './payloads.ts'
import { type AwsRun, type RunItem, toRecord, toRun } from './run-item.ts'
import { findTask, putTask, toTask, writeTask } from './task-items.ts'
import { scheduledFor } from './wakeups.ts'
import { watchRun } from './watch.ts'

/**
 * Runs, journals and inboxes in one DynamoDB table. There are no transactions; the rules fix the
 * order of writes.
 */
export class DynamoStorage implements Storage {
  private readonly aws: Aws
  private readonly claims = new Claims()
  private readonly workflows = new ListedWorkflows()

  readonly documents: StoredDocuments
  readonly isContended = true

  constructor(aws: Aws, documents: StoredDocuments) {
    this.aws = aws
    this.documents = documents
  }

  now(): number {
    return this.aws.clock.now()
  }

  perform<T>(procedure: () => Procedure<T>): Promise<T> {
    return callByCall(procedure())
  }

  read<T>(procedure: () => Procedure<T>): Promise<T> {
    return callByCall(procedure())
  }

  async wake(wakes: Wake[]): Promise<Wake[]> {
    // The caller that resends the rest tries once more and handles the result.
    return wakes.length === 0
      ? wakes
      : this.aws.wake(wakes).then(
          () => [],
          () => wakes,
        )
  }

  async find(runId: string): Promise<AwsRun | undefined> {
    const item = await getItem<RunItem>(this.aws, runKey(runId))
    return item && !isGone(item, this.now()) ? toRun(item) : undefined
  }

  /** The claim of that epoch, also if another process made it; undefined if there is a newer claim. */
  held(runId: string, epoch: number): AwsRun | undefined | Promise<AwsRun | undefined> {
    const known = this.claims.find(runId, epoch)
    return known
      ? toRun(known)
      : this.find(runId).then((run) => (run?.epoch === epoch && run.item.claim !== undefined ? run : undefined))
  }

  record({ id, item }: AwsRun): Promise<RunRecord> {
    return toRecord(item, (stored) => this.payload(id, stored))
  }

  async insert(run: NewRun): Promise<{ inserted: boolean; run: AwsRun }> {
    const { inAll } = await this.workflows.note(this.aws, run.workflow, run.commonTags)
    const item: RunItem = { ...(await this.newItem(run)), ...(inAll && { inAll }) }
    const [written] = await Promise.all([putIf(this.aws, item, freeId(this.now())), this.putEntries(run, item)])
    const isOurs = written.ok || written.old?.life === item.life
    return { inserted: isOurs, run: toRun(isOurs ? item : written.old!) }
  }

  async update(run: AwsRun | string, change: Change): Promise<Updated> {
    const epoch = change.when.heldBy
    const known = typeof run === 'string' && epoch !== undefined ? await this.held(run, epoch) : run
    if (known === undefined) return { ok: false, run: undefined }
    const updated =
      typeof known === 'string'
        ? await changeBlindly(this.aws, known, change)
        : await changeRun(this.aws, known, change)
    if (updated.ok && change.bump?.includes('claims')) this.claims.remember((updated.run as AwsRun).item)
    const isStillHeld = updated.run?.epoch === epoch && updated.run?.status === 'running'
    if (epoch !== undefined && !isStillHeld) this.claims.forget(typeof run === 'string' ? run : run.id, epoch)
    return updated
  }

  append(run: AwsRun, frame: Frame): Promise<boolean> {
    return appendFrame(this.aws, run, frame)
  }

  async frames(run: AwsRun, fromSeq: number): Promise<Frame[]> {
    const frames = await toFrames(
      this.aws,
      run,
      await queryRange<FrameItem>(this.aws, run.id, frameKey(fromSeq), AFTER_FRAMES),
    )
    const seed = fromSeq <= 1 ? await this.seedOf(run) : undefined
    return seed ? [seed, ...frames] : frames
  }

  /** One Query: frames and messages are neighbours. */
  async load(run: AwsRun): Promise<{ heading?: Frame; frames: Frame[]; inbox: Mail[] }> {
    const { aws } = this
    // Refuses to load a run whose results have expired: it would run those steps again.
    if (mayHaveExpired(run.item, this.now())) {
      throw new UnreadableRunError(
        `run '${run.id}' was due long ago and no runner took it up, so parts of its history may have expired. ` +
          'Terminate it and start it anew; its past steps may run a second time',
      )
    }
    const items = await queryRange(aws, run.id, frameKey(Math.max(1, run.baseSeq)), AFTER_MESSAGES)
    let bytes = 0
    const count = (more: number) => refuseTooLarge(run.id, (bytes += more))
    const [found, inbox] = await Promise.all([
      toFrames(aws, run, items.filter(isFrame), count),
      toMessages(aws, run, items.filter(isMessage)),
    ])
    const heading = found[0]?.seq === run.baseSeq ? found.shift() : undefined
    const seed = await this.seedOf(run)
    const frames = seed ? [seed, ...found] : found
    refuseHoles(run, frames)
    return { frames, inbox, ...(heading && { heading }) }
  }

  /** Their time to live removes them at no cost. */
  dropFrames(): void {}

  putMessage(run: AwsRun, message: Mail): Promise<'new' | 'waiting' | 'consumed'> {
    return putMessage(this.aws, run, message)
  }

  messages(run: AwsRun): Promise<Mail[]> {
    return loadMessages(this.aws, run)
  }

  findMessage(run: AwsRun, messageId: string): Promise<Mail | undefined> {
    return findMessage(this.aws, run, messageId)
  }

  removeMessages({ id }: AwsRun, messageIds: readonly string[]): Promise<void> {
    return removeMessages(this.aws, id, messageIds)
  }

  consume({ id }: AwsRun, messageIds: readonly string[]): Promise<void> {
    return consume(this.aws, id, messageIds)
  }

  putReply(run: AwsRun, messageId: string, reply: Reply): Promise<void> {
    return putReply(this.aws, run, messageId, reply)
  }

  findReply(run: AwsRun, messageId: string): Promise<Reply | undefined> {
    return findReply(this.aws, run, messageId)
  }

  clearMail(run: AwsRun, which: 'all' | Forgotten): void | Promise<void> {
    if (which !== 'all') return forgetConsumed(this.aws, run, which)
  }

  async findTask(taskId: string): Promise<Task | undefined> {
    const item = await findTask(this.aws, taskId)
    return item && toTask(this.aws, item)
  }

  putTask(
    run: AwsRun,
    task: NewTask,
    older?: Task,
  ): Promise<{ ok: true; task: Task } | { ok: false; there: Task | undefined }> {
    return putTask(this.aws, run, task, older)
  }

  async writeTask(task: Task): Promise<boolean> {
    return (await writeTask(this.aws, task)) !== undefined
  }

  announceTask(task: Task, input: Json | undefined): Promise<void> {
    return this.aws.queues.send(task, input)
  }

  dismissTask({ id, type, receipt }: Task): Promise<void> {
    return this.aws.queues.remove({ taskId: id, type, ...(receipt !== undefined && { receipt }) })
  }

  erase(run: AwsRun, taskIds: readonly string[]): Promise<void> {
    return eraseRun(this.aws, run, taskIds)
  }

  eraseRemains(runId: string): Promise<boolean> {
    return eraseRemains(this.aws, runId)
  }

  eraseFormer(tag: string, cursor: string | undefined): Promise<{ erased: number; cursor?: string }> {
    return eraseFormer(this.aws, tag, cursor)
  }

  list(filter: RunFilter): Promise<RunPage> {
    return listRuns(this.aws, filter)
  }

  counts(): Promise<RunCounts> {
    return countTrouble(this.aws)
  }

  async overdue(before: number, limit: number): Promise<Wake[]> {
    return (await overdueRuns(this.aws, before, limit)).map(({ runId, at }) => ({ runId, at }))
  }

  dueDocuments(before: number, limit: number): Promise<{ collection: string; key: string }[]> {
    return dueDocuments(this.aws, before, limit)
  }

  watch(runId: string, onChange: () => void, seen?: Pick<RunRecord, 'epoch' | 'stimulus'>): () => void {
    return watchRun(this.aws, runId, onChange, seen)
  }

  private async newItem(run: NewRun): Promise<RunItem> {
    const { payloads, thresholds } = this.aws
    const now = this.now()
    // A queued run is woken when it gets its permit; the sweeper checks whether that was missed.
    const lookAt = run.status === 'queued' ? now + QUEUED_CHECK_MS : run.wakeAt
    const keepUntil = keepUntilStart(run)
    const ttl = ttlNow({ ...run, keepUntil }, now)
    const stored = (value: unknown) => payloads.storeBeside(run, value, ttl)
    const [input, parsed, seed] = await Promise.all([stored(run.input), stored(run.parsed), stored(run.journal)])
    return {
      ...runKey(run.id),
      life: newToken(),
      format: run.format,
      workflow: run.workflow,
      version: run.version,
      status: run.status ?? 'pending',
      epoch: 0,
      stimulus: 0,
      secret: run.secret,
      createdAt: run.createdAt,
      ...(run.status === 'queued'
        ? { wakeAt: lookAt, untimed: true }
        : { wakeAt: lookAt, armedAt: scheduledFor(thresholds, lookAt, now) }),
      input,
      parsed,
      reparse: run.reparse,
      seed,
      parent: run.parent,
      tags: run.tags.length > 0 ? run.tags : undefined,
      retentionMs: run.retentionMs,
      trace: run.trace,
      keepUntil,
      ...([input, parsed, seed].some(isObject) && { objects: true as const }),
      admission: run.admission && known(run.admission),
      passed: run.passed,
      ...dueIndex(run.id, lookAt + thresholds.graceMs),
      ...listIndex(run.id, run.workflow, run.createdAt),
    }
  }

  /**
   * For lists. A list skips an entry whose run does not exist, because the id was taken or the run
   * was erased.
   */
  private async putEntries(
    { id, tags, commonTags = [] }: NewRun,
    { createdAt, inAll, ...item }: RunItem,
  ): Promise<void> {
    const ttl = ttlNow({ ...item, createdAt }, this.now())
    const entry = { runId: id, ...(ttl !== undefined && { ttl }) }
    const own = tags.filter((tag) => !commonTags.includes(tag))
    const common = commonTags.length > 0 && { tags: [...commonTags] }
    await Promise.all([
      ...own.map((tag) => put(this.aws, { ...tagKey(tag, id, createdAt), ...entry })),
      ...(inAll ? [put(this.aws, { ...allKey(id, createdAt), ...entry, ...common })] : []),
    ])
  }

  private async seedOf({ id, hasSeed, item }: AwsRun): Promise<Frame | undefined> {
    if (!hasSeed) return undefined
    return (await this.aws.payloads.load(id, item.seed as Exclude<Stored, { frame: number }>)) as unknown as Frame
  }

  private async payload(runId: string, stored: Stored | undefined): Promise<Json | undefined> {
    if (stored === undefined) return undefined
    if (typeof stored === 'string' || stored instanceof Uint8Array || !('frame' in stored))
      return this.aws.payloads.load(runId, stored)
    const frame = await readFrame(this.aws, runId, stored.frame)
    const { output, error } = outcomeOf(frame.events.at(-1) as TerminalEvent)
    return output ?? (error as unknown as Json)
  }
}

const isFrame = (item: Key): item is FrameItem => item.sk.startsWith('J#')
const isMessage = (item: Key): item is MessageItem => item.sk.startsWith('M#')
