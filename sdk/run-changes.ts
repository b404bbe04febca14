import type { World } from './ports.ts'

/** When the run may have changed, or the time is up. Begin before you read, or a change between the two is missed. */
export function nextChange({ store, clock }: World, runId: string, until: number): { promise: Promise<void>; cancel: () => void } {
  let cancel = () => {}
  const promise = new Promise<void>((resolve) => {
    const unwatch = store.watch(runId, () => done())
    const stopTimer = clock.at(until, () => done())
    const done = () => {
      unwatch()
      stopTimer()
      resolve()
    }
    cancel = done
  })
  return { promise, cancel }
}
