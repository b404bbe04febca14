import type { VirtualClock } from '../../../sdk/testing/virtual-clock.ts'

/** Lets everything happen that happens within so many virtual milliseconds, in its order. */
export async function passTime(clock: VirtualClock, ms: number): Promise<void> {
  const until = clock.now() + ms
  for (;;) {
    await quiescence()
    const next = clock.next()
    if (next === undefined || next > until) break
    clock.moveTo(next)
  }
  clock.moveTo(until)
  await quiescence()
}

/** Until all microtasks have run. */
export function quiescence(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
