import type { Clock } from '../../ports/world.ts'

/** A batch call succeeds even if DynamoDB throttled part of it; the SDK does not retry that part. */

const FIRST_PAUSE_MS = 25
const LONGEST_PAUSE_MS = 2_000

/** Sends the unprocessed part again, with a growing pause, until none is left. */
export async function untilNothingIsLeft<T extends object>(
  clock: Clock,
  all: T,
  send: (part: T) => Promise<T | undefined>,
): Promise<void> {
  let left: T | undefined = all
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    left = await send(left)
    if (!left || Object.keys(left).length === 0) return
    await new Promise<void>((resolve) => clock.at(clock.now() + pause, resolve))
  }
}

export function inBatchesOf<T>(size: number, items: readonly T[]): T[][] {
  const batches: T[][] = []
  for (let i = 0; i < items.length; i += size) batches.push(items.slice(i, i + size))
  return batches
}
