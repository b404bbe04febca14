import type { Duration } from '../base/duration.ts'
import { canonicalJson } from '../base/json.ts'
import type { Giving } from '../base/storable.ts'
import type { NewRun, RunRecord, RunStatus } from '../ports/run.ts'
import type { RunRequest, Signal } from '../workflow.ts'
import type { HistoryEvent } from './history.ts'
import type { AskOptions, RepeatOptions } from './options.ts'
import type { WorkflowClient } from './workflow-client.ts'

/** What of a client a started run needs: whether it is in this process or behind HTTP is all the same. */
type RunClient = Pick<WorkflowClient, 'result' | 'signal' | 'ask' | 'cancel' | 'history'>

/**
 * What `start` gives: the run as it stood then, and what is done with a run most often. For everything else
 * there is its `runId`.
 */
export class StartedRun<O = unknown> {
  readonly runId: string
  /** When it was started. `client.get` knows how it stands now. */
  readonly status: RunStatus
  /** False for a run that had been started before, under the same id or key. */
  readonly created: boolean
  // Private to the class and not a field, so that a started run is shown, compared and sent as what it says.
  readonly #client: RunClient

  constructor(client: RunClient, { runId, status, created }: { runId: string; status: RunStatus; created: boolean }) {
    this.#client = client
    this.runId = runId
    this.status = status
    this.created = created
  }

  /**
   * The output, once there is one. Rejects when the run ends otherwise or is stuck, and with a TimeoutError
   * when it takes too long.
   */
  result(options?: { timeout?: Duration }): Promise<O> {
    return this.#client.result<O>(this.runId, options)
  }

  /** Kept until the run waits for it. */
  signal<In>(
    signal: Signal<unknown, In> | string,
    ...[payload, options]: Giving<In, RepeatOptions>
  ): Promise<{ accepted: boolean }> {
    return this.#client.signal<unknown>(this.runId, signal as string, payload, options)
  }

  /** What the run replies to the request, once it gets to it. */
  ask<In, Out>(
    request: RunRequest<unknown, In, never, Out> | string,
    ...[payload, options]: Giving<In, AskOptions>
  ): Promise<Out> {
    return this.#client.ask<unknown, Out>(this.runId, request as string, payload, options)
  }

  /** Asks the run to stop; its clean-up runs. */
  cancel(reason?: string, options?: RepeatOptions): Promise<void> {
    return this.#client.cancel(this.runId, reason, options)
  }

  history(): Promise<HistoryEvent[]> {
    return this.#client.history(this.runId)
  }
}

/**
 * A run that has continued as new has the input of its last generation, and the first is not stored any more:
 * its id has to do.
 */
export function isSameStart(existing: RunRecord, run: NewRun): boolean {
  return (
    existing.workflow === run.workflow &&
    (existing.generation > 0 || canonicalJson(existing.input) === canonicalJson(run.input))
  )
}
