import type { Message, SQS } from '@aws-sdk/client-sqs'
import type { Json } from '../../base/json.ts'
import type { TaskNotice } from '../../ports/tasks.ts'
import type { Clock } from '../../ports/world.ts'
import type { Task } from '../../tasks/task.ts'
import { payloadOf, type TaskPayload } from '../../tasks/wire.ts'
import { type Later, using } from './clients.ts'

/** The limit of SQS, though some stand-ins take more. */
const LONGEST_DELAY_S = 900
const LONGEST_POLL_S = 20
const LONGEST_HIDING_S = 43_200
const MOST_MESSAGES = 10
/** A message takes 1 MiB; a worker fetches larger inputs by asking for the task. */
const MOST_INPUT_BYTES = 200_000
const MOST_BYTES = 1_000_000
/** How long a process that received a notice has to act on it. */
const ACT_WITHIN_S = 30

const MESSAGE_IS_GONE: ReadonlySet<string> = new Set([
  'ReceiptHandleIsInvalid',
  'MessageNotInflight',
  'InvalidParameterValue',
])

/** What lies in a queue: the task as the protocol shows it, for workers that read the queue themselves. */
export type QueuedTask = TaskPayload & {
  /** The input was too large to come along. */
  input_omitted?: true
  checkpoint_omitted?: true
  /** ISO 8601: a pause or a retry whose time has not come yet. */
  not_before?: string
}

/** One queue per type of task. A message is a hint; the table decides. */
export class TaskQueues {
  private readonly sqs: Later<SQS>
  private readonly clock: Clock
  private readonly urls: ReadonlyMap<string, string>

  constructor(sqs: Later<SQS>, clock: Clock, urls: Record<string, string>) {
    this.sqs = sqs
    this.clock = clock
    this.urls = new Map(Object.entries(urls))
  }

  get types(): string[] {
    return [...this.urls.keys()]
  }

  has(type: string): boolean {
    return this.urls.has(type)
  }

  async send(task: Task, input: Json | undefined): Promise<void> {
    const isLarge = input !== undefined && Buffer.byteLength(JSON.stringify(input)) > MOST_INPUT_BYTES
    const left = (task.lookAt ?? 0) - this.clock.now()
    const body: QueuedTask = {
      ...payloadOf(task, isLarge ? undefined : input),
      ...(isLarge && { input_omitted: true }),
      ...(left > 0 && { not_before: new Date(task.lookAt!).toISOString() }),
    }
    if (Buffer.byteLength(JSON.stringify(body)) > MOST_BYTES) {
      delete body.checkpoint
      body.checkpoint_omitted = true
    }
    const DelaySeconds = Math.min(LONGEST_DELAY_S, Math.max(0, Math.ceil(left / 1_000)))
    const message = { QueueUrl: this.urlOf(task.type), MessageBody: asMessage(body), DelaySeconds }
    await using(this.sqs, (sqs) => sqs.sendMessage(message))
  }

  /**
   * One type is awaited with a long poll. Several types are polled together and briefly, so that a
   * message of one does not wait for the others.
   */
  async receive(
    types: readonly string[],
    most: number,
    { until, signal }: { until: number; signal?: AbortSignal },
  ): Promise<TaskNotice[]> {
    const known = types.filter((type) => this.has(type))
    const longest = known.length === 1 ? LONGEST_POLL_S : 1
    for (;;) {
      const left = Math.max(0, until - this.clock.now())
      const wait = Math.min(longest, Math.floor(left / 1_000))
      const found = (await Promise.all(known.map((type) => this.receiveOf(type, most, wait, signal)))).flat()
      const surplus = found.slice(most)
      await Promise.all(surplus.map((notice) => this.hide(notice, 0)))
      if (found.length > 0) return found.slice(0, most)
      if (this.clock.now() >= until || signal?.aborted || known.length === 0) return []
      if (wait === 0) await new Promise<void>((resolve) => this.clock.at(until, resolve))
    }
  }

  /** Hides the message until then. */
  async hideUntil(notice: TaskNotice, time: number): Promise<void> {
    await this.hide(notice, Math.min(LONGEST_HIDING_S, Math.max(0, Math.ceil((time - this.clock.now()) / 1_000))))
  }

  async remove({ type, receipt }: TaskNotice): Promise<void> {
    await this.ofMessage(type, receipt, (sqs, message) => sqs.deleteMessage(message))
  }

  private async hide({ type, receipt }: TaskNotice, VisibilityTimeout: number): Promise<void> {
    await this.ofMessage(type, receipt, (sqs, message) =>
      sqs.changeMessageVisibility({ ...message, VisibilityTimeout }),
    )
  }

  /** The message may be gone or received elsewhere by now. That does no harm: the table decides. */
  private async ofMessage(
    type: string,
    receipt: string | undefined,
    act: (sqs: SQS, message: { QueueUrl: string; ReceiptHandle: string }) => Promise<unknown>,
  ): Promise<void> {
    const url = this.urls.get(type)
    if (receipt === undefined || url === undefined) return
    try {
      await using(this.sqs, (sqs) => act(sqs, { QueueUrl: url, ReceiptHandle: receipt }))
    } catch (error) {
      if (!MESSAGE_IS_GONE.has((error as Error).name)) throw error
    }
  }

  private async receiveOf(
    type: string,
    most: number,
    WaitTimeSeconds: number,
    signal: AbortSignal | undefined,
  ): Promise<TaskNotice[]> {
    const request = {
      QueueUrl: this.urlOf(type),
      MaxNumberOfMessages: Math.min(most, MOST_MESSAGES),
      WaitTimeSeconds,
      VisibilityTimeout: ACT_WITHIN_S,
    }
    try {
      const options = {
        requestTimeout: (WaitTimeSeconds + 5) * 1_000,
        ...(signal && { abortSignal: signal }),
      }
      const { Messages = [] } = await using(this.sqs, (sqs) => sqs.receiveMessage(request, options))
      return Messages.map((message) => noticeOf(type, message))
    } catch (error) {
      if (signal?.aborted) return []
      throw error
    }
  }

  private urlOf(type: string): string {
    const url = this.urls.get(type)
    if (url === undefined) throw new Error(`no queue for tasks of type '${type}'`)
    return url
  }
}

/** SQS refuses two characters that JSON allows; escaped, they are the same JSON. */
function asMessage(body: QueuedTask): string {
  return JSON.stringify(body).replaceAll(/[\ufffe\uffff]/g, (character) => `\\u${character.charCodeAt(0).toString(16)}`)
}

function noticeOf(type: string, { Body, ReceiptHandle }: Message): TaskNotice {
  const { task_id } = JSON.parse(Body!) as QueuedTask
  return { taskId: task_id, type, ...(ReceiptHandle !== undefined && { receipt: ReceiptHandle }) }
}
