import type { Frame } from '../../engine/events.ts'
import { beginOf } from '../../engine/journal.ts'
import type { Message } from '../../ports.ts'
import type { Aws } from './context.ts'
import { type FrameItem, toFrame } from './frame-item.ts'
import { inParallel } from './in-parallel.ts'
import { AFTER_FRAMES, AFTER_MESSAGES, FIRST_MESSAGE, frameKey, type Key, runIdOf } from './keys.ts'
import type { MessageItem } from './message-item.ts'
import { queryRange } from './partition.ts'
import type { RunItem } from './run-item.ts'

/** The frames of the current generation and the messages not yet consumed, in one Query: they are neighbours. */
export async function loadRun(aws: Aws, run: RunItem): Promise<{ frames: Frame[]; inbox: Message[]; begunAt?: number }> {
  const { baseSeq = 0 } = run
  const items = await queryRange(aws, runIdOf(run.pk), frameKey(Math.max(1, baseSeq)), AFTER_MESSAGES)
  const [found, inbox] = await Promise.all([toFrames(aws, run, items.filter(isFrame)), toMessages(aws, run, items.filter(isMessage))])
  // The frame that ended the generation before this one says when this one began.
  const heading = found[0]?.seq === baseSeq ? found.shift() : undefined
  const seed = await loadSeed(aws, run)
  const frames = seed ? [seed, ...found] : found
  refuseHoles(run, frames)
  return { frames, inbox, ...(heading && { begunAt: beginOf(heading) }) }
}

/** The frames of the current generation; with `heading`, also the one that began it. */
export async function loadFrames(aws: Aws, run: RunItem, options: { heading: boolean }): Promise<Frame[]> {
  const base = run.baseSeq ?? 0
  const from = options.heading && base > 0 ? base : base + 1
  const items = await queryRange<FrameItem>(aws, runIdOf(run.pk), frameKey(from), AFTER_FRAMES)
  const frames = await toFrames(aws, run, items)
  const seed = await loadSeed(aws, run)
  return seed ? [seed, ...frames] : frames
}

export async function loadInbox(aws: Aws, run: RunItem): Promise<Message[]> {
  return toMessages(aws, run, await queryRange<MessageItem>(aws, runIdOf(run.pk), FIRST_MESSAGE, AFTER_MESSAGES))
}

function toFrames(aws: Aws, run: RunItem, items: FrameItem[]): Promise<Frame[]> {
  const own = items.filter(({ life }) => life === run.life)
  return inParallel(own, (item) => toFrame(aws, runIdOf(run.pk), item))
}

/** Oldest first. */
async function toMessages(aws: Aws, run: RunItem, items: MessageItem[]): Promise<Message[]> {
  const waiting = items.filter(({ life, body }) => life === run.life && body !== undefined)
  waiting.sort((a, b) => a.after - b.after || a.at - b.at || (a.sk < b.sk ? -1 : 1))
  return inParallel(waiting, async ({ body }) => (await aws.payloads.load(runIdOf(run.pk), body!)) as unknown as Message)
}

async function loadSeed(aws: Aws, run: RunItem): Promise<Frame | undefined> {
  if (run.seed === undefined || run.generation) return undefined
  return (await aws.payloads.load(runIdOf(run.pk), run.seed as Exclude<typeof run.seed, { frame: number }>)) as unknown as Frame
}

/** Better no run at all than one that takes journaled steps again because somebody deleted their frames. */
function refuseHoles(run: RunItem, frames: Frame[]): void {
  let expected = (run.baseSeq ?? 0) + 1
  const missing = () => new Error(`the journal of run '${runIdOf(run.pk)}' has a hole: frame ${expected} is missing`)
  for (const { seq } of frames) {
    if (seq !== expected) throw missing()
    expected++
  }
  if (expected <= (run.lastSeq ?? 0)) throw missing()
}

const isFrame = (item: Key): item is FrameItem => item.sk.startsWith('J#')
const isMessage = (item: Key): item is MessageItem => item.sk.startsWith('M#')
