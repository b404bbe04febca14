import { randomUUID } from 'node:crypto'
import { type Duration, milliseconds } from '../base/duration.ts'
import { FatalError, InvalidInputError } from '../base/errors.ts'
import { checkName } from '../base/names.ts'
import { encode } from '../base/values.ts'
import type { ResolveBody, TaskPayload } from '../tasks/wire.ts'
import { HttpWire } from './http-wire.ts'
import { Handover, type TaskHandler, workerTask } from './task.ts'
import { type Wire, WireRefusal } from './wire.ts'

export interface WorkerOptions {
  /** Where the API is: the dev server, or the workers' URL of a deployment. */
  url: string
  token: string
  /** By type of task. */
  tasks: Record<string, TaskHandler>
  /** Shown in the list of workers. Made up unless given. */
  id?: string
  /** How many tasks of each type it runs at a time. Default 4. */
  concurrency?: number
  /** How often a running task sends a heartbeat. Default 10 s. */
  heartbeat?: Duration
  /**
   * False saves the connection that lists the worker: on AWS it keeps a function running. Polls list it too,
   * without its language. Default true.
   */
  connect?: boolean
  metadata?: Record<string, string>
  log?: (message: string) => void
  fetch?: typeof fetch
}

const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 10_000
const RESOLVE_ATTEMPTS = 6

/** Takes tasks, runs their handlers and reports the results, until it is stopped. */
export class Worker {
  readonly id: string
  /** Resolves when it has stopped; rejects when the server refuses it. */
  readonly done: Promise<void>
  private readonly tasks: Record<string, TaskHandler>
  private readonly wire: Wire
  private readonly concurrency: number
  private readonly heartbeatMs: number | undefined
  private readonly connects: boolean
  private readonly log: (message: string) => void
  private readonly stopping = new AbortController()
  private readonly cutShort = new AbortController()
  private readonly underWay: Map<string, Set<Promise<void>>>
  /** The unanswered poll of each type. */
  private readonly unanswered = new Map<string, string>()

  constructor(
    options:
      | WorkerOptions
      | (Pick<WorkerOptions, 'tasks' | 'concurrency'> & { wire: Wire; log?: WorkerOptions['log'] }),
  ) {
    const { tasks, concurrency = 4, log = console.error } = options
    const types = Object.keys(tasks)
    for (const type of types) checkName('a task type', type)
    if (types.length === 0)
      throw new InvalidInputError('a worker needs at least one type of task: { tasks: { llm: async (task) => … } }')
    this.tasks = tasks
    this.underWay = new Map(types.map((type) => [type, new Set()]))
    this.concurrency = concurrency
    this.log = log
    if ('wire' in options) {
      this.id = 'in-process'
      this.connects = false
      this.wire = options.wire
    } else {
      const { url, token, fetch, connect = true, metadata = {} } = options
      this.connects = connect
      this.id = options.id ?? `worker-${randomUUID().slice(0, 8)}`
      this.heartbeatMs = milliseconds(options.heartbeat ?? '10s', 'the heartbeat of a worker')
      this.wire = new HttpWire({
        url,
        token,
        workerId: this.id,
        types,
        most: concurrency * types.length,
        metadata,
        ...(fetch && { fetch }),
      })
    }
    this.done = this.work()
    // A caller that ignores `done` must not get an unhandled rejection.
    this.done.catch(() => {})
  }

  /** How many tasks it has. */
  get load(): number {
    return [...this.underWay.values()].reduce((sum, set) => sum + set.size, 0)
  }

  /**
   * Takes no more tasks, and finishes those it has; tasks that are not done by then are released for other
   * workers.
   */
  async stop(grace: Duration = '30s'): Promise<void> {
    this.stopping.abort()
    const timer = setTimeout(
      () => this.cutShort.abort(new Error('the worker has to stop')),
      milliseconds(grace, 'the grace of a worker'),
    )
    await this.done.catch(() => {})
    clearTimeout(timer)
  }

  private async work(): Promise<void> {
    const { signal } = this.stopping
    const connected = this.connects ? this.again('connecting', () => this.wire.connect!(signal)) : undefined
    // A worker that is refused must not poll either; `done` says why.
    connected?.catch(() => this.stopping.abort())
    try {
      await Promise.all(
        [...this.underWay.keys()].map((type) => this.again(`polling for '${type}'`, () => this.takeSome(type))),
      )
    } finally {
      this.stopping.abort()
      await Promise.allSettled([
        ...[...this.underWay.values()].flatMap((set) => [...set]),
        ...(connected ? [connected] : []),
      ])
    }
    await connected
  }

  /** Polls one type at a time, because a payload does not name its type. */
  private async takeSome(type: string): Promise<void> {
    const inHand = this.underWay.get(type)!
    if (inHand.size >= this.concurrency) return void (await Promise.race(inHand))
    const id = this.unanswered.get(type) ?? randomUUID()
    this.unanswered.set(type, id)
    const payloads = await this.wire.poll({
      id,
      type,
      most: this.concurrency - inHand.size,
      inHand: this.load,
      signal: this.stopping.signal,
    })
    this.unanswered.delete(type)
    for (const payload of payloads) {
      const work: Promise<void> = this.perform(type, payload).finally(() => inHand.delete(work))
      inHand.add(work)
    }
  }

  /** Repeats the call, more slowly after failures. */
  private async again(what: string, act: () => Promise<void>): Promise<void> {
    const { signal } = this.stopping
    let pause = FIRST_PAUSE_MS
    while (!signal.aborted) {
      try {
        await act()
        pause = FIRST_PAUSE_MS
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof WireRefusal) throw error
        this.log(`${what} failed, trying again in ${pause} ms: ${error}`)
        await delay(pause, signal)
        pause = Math.min(LONGEST_PAUSE_MS, pause * 2)
      }
    }
  }

  private async perform(type: string, payload: TaskPayload): Promise<void> {
    const lost = new AbortController()
    const signal = AbortSignal.any([lost.signal, this.cutShort.signal])
    const which = { attempt: payload.attempt, iteration: payload.iteration }
    const say = async (body: Omit<ResolveBody, 'attempt' | 'iteration'>) => {
      const answer = await this.persist(payload.task_id, { ...body, ...which })
      if (answer === 'lost') lost.abort(new Error(`task '${payload.task_id}' is not this worker's any more`))
    }
    const checkpoint = async (data: unknown) => {
      await say({ action: 'checkpoint', data: encode(data, 'the checkpoint of a task') })
      signal.throwIfAborted()
    }
    const alive =
      this.heartbeatMs === undefined
        ? undefined
        : setInterval(() => void say({ action: 'checkpoint' }).catch(() => {}), this.heartbeatMs)
    try {
      const body = await this.outcome(type, payload, signal, checkpoint)
      if (!lost.signal.aborted) await say(body).catch((error: unknown) => say(notTaken(error)))
    } catch (error) {
      this.log(`what became of task '${payload.task_id}' could not be said; another worker will get it: ${error}`)
    } finally {
      clearInterval(alive)
    }
  }

  private async outcome(
    type: string,
    payload: TaskPayload,
    signal: AbortSignal,
    checkpoint: (data: unknown) => Promise<void>,
  ): Promise<Omit<ResolveBody, 'attempt' | 'iteration'>> {
    try {
      const given = await unlessAborted(
        Promise.resolve(this.tasks[type]!(workerTask(payload, type, signal, checkpoint))),
        this.cutShort.signal,
      )
      return given instanceof Handover
        ? given.body
        : { action: 'complete', output: encode(given, `the output of task '${type}'`) }
    } catch (error) {
      // Interrupted, not failed: it costs the task no attempt.
      if (this.cutShort.signal.aborted) return { action: 'pause', name: 'handed back', duration_ms: 1 }
      const message =
        error instanceof Error ? `${error.name === 'Error' ? '' : `${error.name}: `}${error.message}` : String(error)
      return {
        action: 'fail',
        error: message.slice(0, 10_000) || 'failed without a message',
        ...(error instanceof FatalError && { retryable: false }),
      }
    }
  }

  /** The same key for every repeat, so that it counts once. */
  private async persist(taskId: string, body: ResolveBody): Promise<'done' | 'lost'> {
    const key = randomUUID()
    let pause = FIRST_PAUSE_MS
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.wire.resolve(taskId, body, key)
      } catch (error) {
        if (error instanceof WireRefusal || attempt === RESOLVE_ATTEMPTS) throw error
        await delay(pause)
        pause = Math.min(LONGEST_PAUSE_MS, pause * 2)
      }
    }
  }
}

/** A request that the server rejects, such as an output that is too large, would be rejected again. */
function notTaken(error: unknown): Omit<ResolveBody, 'attempt' | 'iteration'> {
  if (!(error instanceof WireRefusal)) throw error
  return { action: 'fail', error: `what the worker gave was not taken: ${error.message}`, retryable: false }
}

function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  promise.catch(() => {})
  return new Promise((resolve, reject) => {
    const give = () => reject(signal.reason)
    if (signal.aborted) give()
    signal.addEventListener('abort', give)
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', give))
  })
}

function delay(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
