import type { Wake } from '../../ports/world.ts'

/** The body of a wake-up in the queue, sent by us or by a schedule. */
export function writeWake({ runId, at }: Wake): string {
  return JSON.stringify({ runId, at })
}

export function readWake(body: string): Wake {
  const { runId, at } = JSON.parse(body) as Partial<Wake>
  if (typeof runId !== 'string' || typeof at !== 'number') throw new Error(`not a wake-up: ${body.slice(0, 200)}`)
  return { runId, at }
}

/**
 * How much of the wait is left when a wake-up arrives, in milliseconds. A schedule fires early on
 * purpose.
 */
export function remaining({ at }: Wake, now: number): number {
  return Math.max(0, at - now)
}
