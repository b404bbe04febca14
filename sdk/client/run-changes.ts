import type { World } from '../ports/world.ts'

/**
 * When the run may have changed, or the time is up. Begin before you read, or a change between the two is
 * missed.
 */
export function nextChange({ store, clock }: World, runId: string, until: number): Change {
  return next(clock, until, (onChange) => store.watch(runId, onChange))
}

/** When the run may have replied to the message, or said that it will not. */
export function nextReply({ store, clock }: World, runId: string, messageId: string, until: number): Change {
  return next(clock, until, (onChange) => store.watchReply(runId, messageId, onChange))
}

interface Change {
  promise: Promise<void>
  cancel: () => void
}

function next(clock: World['clock'], until: number, watch: (onChange: () => void) => () => void): Change {
  let cancel = () => {}
  const promise = new Promise<void>((resolve) => {
    const unwatch = watch(() => done())
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
