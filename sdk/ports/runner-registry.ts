import type { RunRecord } from './run.ts'

/**
 * The processes of a world whose runs are taken by processes that stay: which of them are alive, and what there is
 * to do next. Where each message starts a process, as on Lambda, there is none.
 */
export interface RunnerRegistry {
  /**
   * Frees what dead processes left behind. `onHint` is called when there may be something to do; with what and when,
   * where that is known.
   */
  register(owner: string, onHint: (hint?: Hint) => void): Promise<void>
  /** `handBack`: the runs it still holds are free for others. */
  unregister(owner: string, handBack: boolean): Promise<void>
  /** What the store has to be looked at for, and when. */
  agenda(now: number): Agenda
  stuckRuns(): Pick<RunRecord, 'id' | 'workflow' | 'version'>[]
}

export interface Agenda {
  /** When the next run after `now` is due, if any is. */
  nextRun: number | undefined
  /** When the next limiter after `now` is due, if any is. */
  nextLimiter: number | undefined
  /** Limiters are due now. */
  hasDueLimiters: boolean
}

/** That a run is due at a time; or something else is, that the store knows of. */
export interface Hint {
  runId?: string
  at: number
}
