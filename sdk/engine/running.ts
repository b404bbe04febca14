import { AsyncLocalStorage } from 'node:async_hooks'
import type { LogSink } from '../ports/world.ts'

/** Whose code the current call stack belongs to. */
export interface Running {
  runId: string
  workflow: string
  log: LogSink
  /** Inside the body of this step. */
  step?: string
  attempt?: number
  /** Ends the step with an error that it threw where no code could catch it. */
  fail?: (error: unknown) => void
}

export const running = new AsyncLocalStorage<Running | undefined>()

let isWatching = false

/**
 * A run's code may throw where no code can catch it (in a timer, from an event emitter), or leave a promise
 * rejected and unhandled. Either would end the whole process, with all its other runs. So a rejection is logged,
 * and still reaches code that awaits the promise later; an exception ends the step that it came from. What does not
 * come from a run ends the process, as it does without us.
 */
export function watchStrays(): void {
  if (isWatching) return
  isWatching = true
  process.on('unhandledRejection', (reason: unknown) => {
    const whose = running.getStore()
    if (whose) warn(whose, 'left a rejected promise that was not awaited so far', reason)
    else if (process.listenerCount('unhandledRejection') === 1) throw reason
  })
  const onException = (error: unknown) => {
    const whose = running.getStore()
    if (whose) {
      warn(whose, 'threw an error where no code could catch it', error)
      whose.fail?.(error)
    } else if (process.listenerCount('uncaughtException') === 1) {
      process.off('uncaughtException', onException)
      throw error
    }
  }
  process.on('uncaughtException', onException)
}

/** What a log line says of where it comes from. */
export const placeOf = ({
  runId,
  workflow,
  step,
  attempt,
}: Omit<Running, 'log' | 'fail'>): Record<string, unknown> => ({
  runId,
  workflow,
  ...(step !== undefined && { step, attempt }),
})

function warn(whose: Running, what: string, reason: unknown): void {
  const { workflow, step, log } = whose
  const where = step === undefined ? `the code of workflow '${workflow}'` : `step '${step}'`
  log('warn', `${where} ${what}: ${describe(reason)}`, placeOf(whose))
}

function describe(reason: unknown): string {
  try {
    return reason instanceof Error ? reason.message : String(reason)
  } catch {
    return 'something that cannot be shown'
  }
}
