import { GetCommand } from '@aws-sdk/lib-dynamodb'
import type { Frame, JournalEvent } from '../../engine/events.ts'
import { putIf } from './conditional.ts'
import { absent, ofAnotherLife } from './conditions.ts'
import type { Aws } from './context.ts'
import { any } from './expressions.ts'
import { frameKey, type Key, partition, seqOf } from './keys.ts'
import type { Packed } from './payloads.ts'

/** A frame as the table holds it. */
export interface FrameItem extends Key {
  life: string
  epoch: number
  /** Token of the claim, or of the call from outside, that wrote it. */
  writer: string
  at: number
  events: Packed | { s3: string }
  ttl?: number
}

export interface Writer {
  life: string
  token: string
  ttl: number | undefined
}

/** Takes the frame's slot (I1); false if somebody else has it. */
export async function appendFrame(aws: Aws, runId: string, frame: Frame, { life, token, ttl }: Writer): Promise<boolean> {
  const events = await aws.payloads.storeInside(runId, frame.events)
  const item: FrameItem = { pk: partition(runId), sk: frameKey(frame.seq), life, epoch: frame.epoch, writer: token, at: frame.at, events, ttl }
  const written = await putIf(aws, item, any(absent, ofAnotherLife(life)))
  return written.ok || isSameFrame(written.old, item)
}

export async function toFrame(aws: Aws, runId: string, item: FrameItem): Promise<Frame> {
  const events = (await aws.payloads.load(runId, item.events)) as unknown as JournalEvent[]
  return { seq: seqOf(item.sk), at: item.at, epoch: item.epoch, events }
}

export async function readFrame(aws: Aws, runId: string, seq: number): Promise<Frame> {
  const { Item } = await aws.db.send(new GetCommand({ TableName: aws.table, Key: { pk: partition(runId), sk: frameKey(seq) }, ConsistentRead: true }))
  if (!Item) throw new Error(`frame ${seq} of run '${runId}' is missing from the table`)
  return toFrame(aws, runId, Item as FrameItem)
}

/** My own earlier attempt at this write, whose answer got lost. */
function isSameFrame(old: FrameItem | undefined, mine: FrameItem): boolean {
  return old !== undefined && old.life === mine.life && old.writer === mine.writer && sameContent(old.events, mine.events)
}

function sameContent(a: FrameItem['events'], b: FrameItem['events']): boolean {
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b) === 0
  if (typeof a === 'object' && typeof b === 'object' && 's3' in a && 's3' in b) return a.s3 === b.s3
  return a === b
}
