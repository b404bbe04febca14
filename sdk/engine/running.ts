import { AsyncLocalStorage } from 'node:async_hooks'
import type { LogSink } from '../ports.ts'

/** Whose code the current call stack belongs to. */
export interface Running {
  runId: string
  workflow: string
  log: LogSink
  /** Inside the body of this step. */
  step?: string
}

export const running = new AsyncLocalStorage<Running | undefined>()

let isWatching = false

/**
 * A promise that a run's code leaves rejected and unhandled would end the whole process, and its neighbours with it: a
 * branch that failed before anybody awaited it, say. It is the run's own affair: whoever awaits it later still gets the
 * error. What does not come from a run ends the process, as it does without us.
 */
export function watchStrayRejections(): void {
  if (isWatching) return
  isWatching = true
  process.on('unhandledRejection', (reason: unknown) => {
    const whose = running.getStore()
    if (whose) {
      const { runId, workflow, step, log } = whose
      const where = step === undefined ? `the code of workflow '${workflow}'` : `step '${step}'`
      log('warn', `${where} left a rejected promise that nobody has awaited so far: ${describe(reason)}`, {
        runId,
        workflow,
        ...(step !== undefined && { step }),
      })
    } else if (process.listenerCount('unhandledRejection') === 1) throw reason
  })
}

function describe(reason: unknown): string {
  try {
    return reason instanceof Error ? reason.message : String(reason)
  } catch {
    return 'something that cannot be shown'
  }
}
