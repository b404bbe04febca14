import { milliseconds, pointInTime } from '../base/duration.ts'
import { ConflictError, InvalidInputError } from '../base/errors.ts'
import { checkName, checkRunId, FORMAT, keyedRunId } from '../base/names.ts'
import { accept } from '../base/schema.ts'
import { tagsOf } from '../base/tags.ts'
import { admissionFor } from '../flow/admission.ts'
import { isCoalesced, type NewStart, newStart } from '../flow/coalescing/coalescing.ts'
import type { NewRun, RunStatus } from '../ports/run.ts'
import type { Wake, World } from '../ports/world.ts'
import { readTraceparent } from '../views/span-ids.ts'
import type { AnyWorkflow } from '../workflow.ts'
import type { Client, StartOptions } from './client.ts'
import { isSameStart } from './started-run.ts'

/** A start that was accepted. `start`: one of several that become one run. */
export interface Prepared {
  definition: AnyWorkflow
  run: NewRun
  start?: NewStart
}

/** How a run comes into being: accepted, stored, and handed to a runner. */
export class Starting {
  private readonly world: World
  private readonly source: Client['definitions']

  constructor(world: World, source: Client['definitions']) {
    this.world = world
    this.source = source
  }

  async prepare(workflow: AnyWorkflow | string, input: unknown, options: StartOptions): Promise<Prepared> {
    const found =
      typeof workflow === 'string' ? this.source.toStart(workflow) : this.source.exact(workflow.name, workflow.version)
    const definition = found instanceof Promise ? await found : found
    const run = await this.newRun(definition, input, options)
    return isCoalesced(definition)
      ? { definition, run, start: await oneOfMany(definition, run, options, () => this.world.ids.runId()) }
      : { definition, run }
  }

  /** `until`: how long the caller waits for its end. */
  async launch(
    { definition, run, start }: Prepared,
    until?: number,
  ): Promise<{ runId: string; status: RunStatus; created: boolean; handedOver: Promise<void> | undefined }> {
    if (start) {
      const { runId, status, created, wakes } = await this.world.store.coalesce(start)
      return { ...(await this.handOut(definition, { runId, created, wakes }, until)), status }
    }
    const { created, run: existing, wakes } = await this.world.store.create(run)
    // A singleton that skips gives the run that has its key, which has another id.
    const isOfItsKey = run.admission?.onConflict === 'skip' && existing.id !== run.id
    if (!created && !isOfItsKey && !isSameStart(existing, run)) {
      throw new ConflictError(
        `run '${run.id}' exists already, with another input or of another workflow; choose another ` +
          `id, or start it with the same input to get that run`,
      )
    }
    return {
      ...(await this.handOut(definition, { runId: existing.id, created, wakes }, until)),
      status: existing.status,
    }
  }

  /** Tells a runner of the run. */
  private async handOut(
    definition: AnyWorkflow,
    { runId, created, wakes }: { runId: string; created: boolean; wakes: Wake[] },
    until: number | undefined,
  ): Promise<{ runId: string; created: boolean; handedOver: Promise<void> | undefined }> {
    const confirmed = created ? this.source.confirm(definition) : undefined
    if (confirmed) await confirmed.catch((error: Error) => this.takeBack(runId, error))
    const handing = until === undefined ? undefined : this.handOver(wakes, until)
    await (handing?.net ?? this.world.wakeups.send(wakes))
    return { runId, created, handedOver: handing?.over }
  }

  /**
   * The caller waits for the run, so it is handed to a runner directly. The queue is the net under that: its
   * message comes later.
   */
  private handOver([wake]: Wake[], until: number): { net: Promise<void>; over: Promise<void> } | undefined {
    const { wakeups, clock } = this.world
    const now = clock.now()
    if (!wakeups.handOver || !wake || wake.at > now) return undefined
    const enough = AbortSignal.timeout(Math.max(1, Math.min(until - now, LONGEST_HAND_OVER_MS)))
    const over = wakeups.handOver(wake, enough).catch(() => (enough.aborted ? undefined : wakeups.send([wake])))
    // The caller may have stopped waiting for it.
    over.catch(() => {})
    return { net: wakeups.send([{ ...wake, at: now + NET_MS }]), over }
  }

  private async newRun(definition: AnyWorkflow, input: unknown, options: StartOptions): Promise<NewRun> {
    const { id, idempotencyKey, startAt, delay, tags = [], traceparent } = options
    if (id !== undefined) checkRunId(id)
    if (idempotencyKey !== undefined) checkName('an idempotency key', idempotencyKey)
    if (definition.options.singleton && (startAt !== undefined || delay !== undefined))
      throw new InvalidInputError(
        `workflow '${definition.name}' is a singleton: whether it is started is decided when it is ` +
          `asked for, so it takes no startAt and no delay`,
      )
    if (startAt !== undefined && delay !== undefined) throw new InvalidInputError('give startAt or delay, not both')
    const accepted = await accept(definition.options.input, input, `the input of workflow '${definition.name}'`)
    const now = this.world.clock.now()
    const wakeAt =
      startAt !== undefined
        ? Math.max(now, pointInTime(startAt, now, "'startAt'"))
        : delay !== undefined
          ? now + milliseconds(delay, "'delay'")
          : now
    return {
      id:
        id ??
        (idempotencyKey === undefined ? this.world.ids.runId() : keyedRunId(`${definition.name}\n${idempotencyKey}`)),
      workflow: definition.name,
      version: definition.version,
      format: FORMAT,
      ...accepted,
      secret: this.world.ids.secret(),
      createdAt: now,
      wakeAt,
      ...(await tagsOf(definition, accepted, tags)),
      ...(await admissionFor(definition, accepted, wakeAt)),
      retentionMs: definition.retentionMs,
      ...(readTraceparent(traceparent) && { trace: traceparent }),
    }
  }

  private async takeBack(runId: string, error: Error): Promise<never> {
    await this.world.store.terminate(runId, error.message)
    throw error
  }
}

function oneOfMany(
  definition: AnyWorkflow,
  run: NewRun,
  { id, idempotencyKey, startAt, delay }: StartOptions,
  newId: () => string,
): Promise<NewStart> {
  if (id !== undefined || startAt !== undefined || delay !== undefined)
    throw new InvalidInputError(
      `starts of workflow '${definition.name}' become one run (its debounce or batch), so none of ` +
        `them can choose its id or its time; an idempotencyKey tells a repeated start`,
    )
  return newStart(definition, run, idempotencyKey, newId)
}

/** How long after the run was handed over the queue has its own word on it. */
const NET_MS = 5_000
/** No HTTP request takes longer. */
const LONGEST_HAND_OVER_MS = 60_000
