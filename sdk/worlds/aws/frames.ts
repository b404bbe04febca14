import type { Frame, JournalEvent } from '../../base/events.ts'
import { FORMAT } from '../../base/names.ts'
import { LOOK_FOR_WHAT_IS_GONE, refuseNewer, UnreadableRunError } from '../../rules/limits.ts'
import { inParallel } from '../../rules/procedure.ts'
import { freeSlot } from './conditions.ts'
import { type Aws, newToken } from './context.ts'
import { getItem, putIf } from './items.ts'
import { frameKey, type Key, partition, seqOf } from './keys.ts'
import { ttlNow } from './lifetime.ts'
import { isObject, type Packed } from './payloads.ts'
import type { AwsRun } from './run-item.ts'

/** A frame as the table holds it. */
export interface FrameItem extends Key {
  life: string
  /** Absent in frames of format 1. */
  format?: number
  epoch: number
  /** Token of the claim, or of the call from outside, that wrote it. */
  writer: string
  at: number
  events: Packed | { s3: string }
  ttl?: number
}

/** Takes the frame's slot (I1); false if another runner has it. */
export async function appendFrame(aws: Aws, { id, item: run }: AwsRun, frame: Frame): Promise<boolean> {
  const events = await aws.payloads.storeInside({ id, createdAt: run.createdAt }, frame.events)
  if (isObject(events)) run.objects = true
  const item: FrameItem = {
    pk: partition(id),
    sk: frameKey(frame.seq),
    life: run.life,
    format: FORMAT,
    epoch: frame.epoch,
    writer: (frame.epoch === run.epoch && run.claim) || newToken(),
    at: frame.at,
    events,
    ttl: ttlNow(run, aws.clock.now()),
  }
  const written = await putIf(aws, item, freeSlot(run.life))
  return written.ok || isSameFrame(written.old, item)
}

/** The frames of this run, without those of an earlier run with its id. */
export async function toFrames(
  aws: Aws,
  { id, item }: AwsRun,
  items: readonly FrameItem[],
  onBytes?: (bytes: number) => void,
): Promise<Frame[]> {
  return inParallel(
    items.filter(({ life }) => life === item.life),
    async (frame) => {
      // The writer may have died before the run item recorded this object.
      if (isObject(frame.events)) item.objects = true
      const text = await aws.payloads.loadText(id, frame.events)
      onBytes?.(text.length)
      return toFrame(id, frame, text)
    },
  )
}

export async function readFrame(aws: Aws, runId: string, seq: number): Promise<Frame> {
  const item = await getItem<FrameItem>(aws, { pk: partition(runId), sk: frameKey(seq) })
  if (!item)
    throw new UnreadableRunError(
      `part ${seq} of the history of run '${runId}' is missing from the table. ${LOOK_FOR_WHAT_IS_GONE}`,
    )
  return toFrame(runId, item, await aws.payloads.loadText(runId, item.events))
}

function toFrame(runId: string, { sk, at, epoch, format = 1 }: FrameItem, events: string): Frame {
  if (format > FORMAT) refuseNewer(`the history of run '${runId}'`, format)
  return { seq: seqOf(sk), at, epoch, events: JSON.parse(events) as JournalEvent[] }
}

/** Refuses to load a run whose frames were deleted: it would run journaled steps again. */
export function refuseHoles({ id, baseSeq, item }: AwsRun, frames: readonly Frame[]): void {
  let expected = baseSeq + 1
  const missing = () =>
    new UnreadableRunError(
      `part ${expected} of the history of run '${id}' is missing from the table. ${LOOK_FOR_WHAT_IS_GONE}`,
    )
  for (const { seq } of frames) {
    if (seq !== expected) throw missing()
    expected++
  }
  if (expected <= (item.lastSeq ?? 0)) throw missing()
}

/** True if an earlier attempt of this call made the write, and its answer was lost. */
function isSameFrame(old: FrameItem | undefined, mine: FrameItem): boolean {
  return (
    old !== undefined && old.life === mine.life && old.writer === mine.writer && sameContent(old.events, mine.events)
  )
}

function sameContent(a: FrameItem['events'], b: FrameItem['events']): boolean {
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b) === 0
  if (typeof a === 'object' && typeof b === 'object' && 's3' in a && 's3' in b) return a.s3 === b.s3
  return a === b
}
