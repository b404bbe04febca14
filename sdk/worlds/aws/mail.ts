import { isKeyed } from '../../base/names.ts'
import type { Reply } from '../../ports/run.ts'
import { inParallel } from '../../rules/procedure.ts'
import type { Forgotten, Mail } from '../../rules/storage.ts'
import { freeSlot } from './conditions.ts'
import { type Aws, newToken } from './context.ts'
import { all, change, exists } from './expressions.ts'
import { deleteItems, getItem, putIf, queryRange, updateIf } from './items.ts'
import { AFTER_MESSAGES, FIRST_MESSAGE, type Key, messageKey, partition } from './keys.ts'
import { ttlNow } from './lifetime.ts'
import { isObject, type Packed } from './payloads.ts'
import type { AwsRun } from './run-item.ts'

/**
 * A message as the table holds it. Once consumed it loses its body and stays, so that a repeat is recognised, be it by
 * the sender or by an SDK that never got its answer.
 */
export interface MessageItem extends Key {
  life: string
  /** Token of the call that delivered it. */
  delivery: string
  /**
   * The run's stimulus counter when it was sent: of two messages sent one after the other, the
   * later has the higher counter, whatever the clocks say.
   */
  after: number
  /**
   * When it was sent: orders messages that were sent concurrently. Once there is a reply, when the
   * reply was made.
   */
  at: number
  body?: Packed | { s3: string }
  /** The run's reply to an ask. */
  reply?: Packed | { s3: string }
  ttl?: number
}

export async function putMessage(aws: Aws, run: AwsRun, message: Mail): Promise<'new' | 'waiting' | 'consumed'> {
  const now = aws.clock.now()
  const body = await aws.payloads.storeInside(run, message)
  if (isObject(body)) run.item.objects = true
  const item: MessageItem = {
    pk: partition(run.id),
    sk: messageKey(message.id),
    life: run.item.life,
    delivery: newToken(),
    after: run.stimulus,
    at: now,
    body,
    ttl: ttlNow(run.item, now),
  }
  const written = await putIf(aws, item, freeSlot(run.item.life))
  // This covers an existing message too: its sender may have died before counting it.
  run.written.push({ pk: item.pk, sk: item.sk })
  if (written.ok || written.old?.delivery === item.delivery) return 'new'
  return written.old?.body === undefined ? 'consumed' : 'waiting'
}

/** Oldest first. */
export async function toMessages(aws: Aws, { id, item }: AwsRun, items: readonly MessageItem[]): Promise<Mail[]> {
  const waiting = items.filter(({ life, body }) => life === item.life && body !== undefined)
  waiting.sort((a, b) => a.after - b.after || a.at - b.at || (a.sk < b.sk ? -1 : 1))
  return inParallel(waiting, async ({ body }) => (await aws.payloads.load(id, body!)) as unknown as Mail)
}

export async function loadMessages(aws: Aws, run: AwsRun): Promise<Mail[]> {
  return toMessages(aws, run, await queryRange<MessageItem>(aws, run.id, FIRST_MESSAGE, AFTER_MESSAGES))
}

export async function findMessage(aws: Aws, { id, item }: AwsRun, messageId: string): Promise<Mail | undefined> {
  const found = await getItem<MessageItem>(aws, { pk: partition(id), sk: messageKey(messageId) })
  if (found?.body === undefined || found.life !== item.life) return undefined
  return (await aws.payloads.load(id, found.body)) as unknown as Mail
}

export async function removeMessages(aws: Aws, runId: string, messageIds: readonly string[]): Promise<void> {
  await deleteItems(
    aws,
    messageIds.map((id) => ({ pk: partition(runId), sk: messageKey(id) })),
  )
}

export async function consume(aws: Aws, runId: string, messageIds: readonly string[]): Promise<void> {
  // The condition skips absent messages: the engine also names messages that it made up itself.
  await inParallel(messageIds, (id) =>
    updateIf(aws, { pk: partition(runId), sk: messageKey(id) }, change({ body: undefined }), exists),
  )
}

export async function putReply(aws: Aws, run: AwsRun, messageId: string, reply: Reply): Promise<void> {
  const stored = await aws.payloads.storeInside(run, reply)
  if (isObject(stored)) run.item.objects = true
  const { life } = run.item
  const isFirst = all(exists, { text: '#life = :life AND attribute_not_exists(#reply)', values: { ':life': life } })
  // The journal has the question. An item has room for one of the two.
  await updateIf(
    aws,
    { pk: partition(run.id), sk: messageKey(messageId) },
    change({ reply: stored, at: aws.clock.now(), body: undefined }),
    isFirst,
  )
}

export async function findReply(aws: Aws, { id, item }: AwsRun, messageId: string): Promise<Reply | undefined> {
  const found = await getItem<MessageItem>(aws, { pk: partition(id), sk: messageKey(messageId) })
  return found?.reply === undefined || found.life !== item.life
    ? undefined
    : ((await aws.payloads.load(id, found.reply)) as Reply)
}

export async function forgetConsumed(
  aws: Aws,
  { id }: AwsRun,
  { keyedBefore, othersBefore }: Forgotten,
): Promise<void> {
  const messages = await queryRange<MessageItem>(aws, id, FIRST_MESSAGE, AFTER_MESSAGES)
  const old = messages.filter(
    ({ sk, body, at }) =>
      body === undefined && at < (isKeyed(sk.slice(FIRST_MESSAGE.length)) ? keyedBefore : othersBefore),
  )
  await deleteItems(aws, old)
}
