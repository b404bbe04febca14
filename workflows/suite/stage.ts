import type {
  Giving,
  HistoryEvent,
  RepeatOptions,
  RunStatus,
  RunView,
  Schedules,
  Signal,
  Waiting,
  Workflow,
} from 'overwinter'
import type { OverwinterClient } from 'overwinter/client'

/** Where the examples are tested: the test kit, the local world, a deployed stack. They do the same on each. */
export interface Stage {
  /** Both clients have these. */
  readonly client: Pick<OverwinterClient, 'start' | 'get' | 'list' | 'history' | 'signal' | 'retry' | 'terminate'>
  readonly schedules: Pick<Schedules, 'list' | 'trigger'>
  now(): number
  /** A duration: the real one where time is virtual, and a short one where it is not. */
  takes<T>(inRealLife: T, aMoment: T): T
  /** How late due events may happen. */
  readonly latenessMs: number
  /** Lets time pass until the probe returns a value. */
  until<T>(what: string, probe: () => Promise<T | undefined>): Promise<T>
  /** Ends the run's current sleep, so that the test need not wait for it. */
  skipSleep(runId: string): Promise<void>
  /** Stops the runner, where the test controls it, and starts it again. */
  restart(): Promise<void>
  /** Syncs the schedules with the code, as a deployment does. */
  syncSchedules(): Promise<void>
}

/** A run on a stage. */
export class Performance<O> {
  readonly runId: string
  private readonly stage: Stage

  constructor(stage: Stage, runId: string) {
    this.stage = stage
    this.runId = runId
  }

  static async start<I, O>(stage: Stage, workflow: Workflow<I, O>, input: I): Promise<Performance<O>> {
    const { runId } = await stage.client.start(workflow, input)
    return new Performance<O>(stage, runId)
  }

  get(): Promise<RunView> {
    return this.stage.client.get(this.runId)
  }

  history(): Promise<HistoryEvent[]> {
    return this.stage.client.history(this.runId)
  }

  reaches(...states: RunStatus[]): Promise<RunView> {
    return this.stage.until(`run ${this.runId} is ${states.join(' or ')}`, async () => {
      const run = await this.get()
      return states.includes(run.status) ? run : undefined
    })
  }

  async waitsFor(kind: Waiting['kind'], id: string): Promise<RunView> {
    return this.stage.until(`run ${this.runId} waits for ${kind} '${id}'`, async () => {
      const run = await this.get()
      const isWaiting = run.status === 'waiting' || run.status === 'sleeping'
      return isWaiting && run.waitingFor?.some((waiting) => waiting.kind === kind && waiting.id === id)
        ? run
        : undefined
    })
  }

  /** Waits until the run is in this sleep, and then until it has ended. */
  async sleepsThrough(id: string): Promise<void> {
    await this.waitsFor('sleep', id)
    await this.stage.skipSleep(this.runId)
  }

  signal<In>(signal: Signal<unknown, In>, ...given: Giving<In, RepeatOptions>): Promise<{ accepted: boolean }> {
    return this.stage.client.signal(this.runId, signal, ...given)
  }

  async output(): Promise<O> {
    const run = await this.ended()
    if (run.status !== 'completed') throw new Error(`run ${this.runId} is ${run.status}: ${run.error?.message}`)
    return run.output as O
  }

  /** The error of a run that is expected to fail. */
  async failure(): Promise<string> {
    const { status, error } = await this.ended()
    if (status !== 'failed') throw new Error(`run ${this.runId} has not failed; it is ${status}`)
    return error!.message
  }

  private ended(): Promise<RunView> {
    return this.reaches('completed', 'failed', 'cancelled', 'terminated', 'stuck')
  }

  /** The steps in the order of their completion. A repeated step would be listed twice. */
  async steps(): Promise<string[]> {
    return (await this.history()).flatMap((event) => (event.type === 'step.completed' ? [event.id] : []))
  }

  /** The intended length of each sleep, in milliseconds. */
  async sleeps(): Promise<(number | undefined)[]> {
    return (await this.history()).flatMap((event) => (event.type === 'sleep.started' ? [event.ms] : []))
  }
}
