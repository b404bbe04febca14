import type { Client, StartOptions } from './client.ts'
import { milliseconds, pointInTime } from './engine/duration.ts'
import { ConflictError, InvalidInputError } from './engine/errors.ts'
import { checkName, checkRunId, FORMAT, keyedRunId } from './engine/names.ts'
import { admissionFor } from './flow/admission.ts'
import { gather, isGathered, type Joined } from './flow/gathering.ts'
import type { NewRun, RunStatus, Wake, World } from './ports.ts'
import { accept } from './schema.ts'
import { isSameStart } from './started-run.ts'
import { tagsOf } from './tags.ts'
import { readTraceparent } from './views/span-ids.ts'
import type { AnyWorkflow } from './workflow.ts'

/** A start that was accepted. `joins`: the run is made already, for it and others. */
export interface Prepared {
  definition: AnyWorkflow
  run: NewRun
  joins?: Joined
}

/** How a run comes into being: accepted, made, and somebody told. */
export class Starting {
  private readonly world: World
  private readonly source: Client['definitions']

  constructor(world: World, source: Client['definitions']) {
    this.world = world
    this.source = source
  }

  async prepare(workflow: AnyWorkflow | string, input: unknown, options: StartOptions): Promise<Prepared> {
    const found = typeof workflow === 'string' ? this.source.toStart(workflow) : this.source.exact(workflow.name, workflow.version)
    const definition = found instanceof Promise ? await found : found
    const run = await this.newRun(definition, input, options)
    return isGathered(definition) ? this.gathered(definition, run, options) : { definition, run }
  }

  /** `until`: how long somebody waits for its end. */
  async launch(
    { definition, run, joins }: Prepared,
    until?: number,
  ): Promise<{ runId: string; status: RunStatus; created: boolean; handedOver: Promise<void> | undefined }> {
    if (joins) {
      const { runId, status, isFull } = joins
      if (isFull) await this.world.wakeups.send(await this.world.store.hasten(runId))
      return { runId, status, created: false, handedOver: undefined }
    }
    const { created, run: existing, wakes } = await this.world.store.create(run)
    // A singleton that skips gives the run that has its key, which has another id.
    const isOfItsKey = run.admission?.onConflict === 'skip' && existing.id !== run.id
    if (!created && !isOfItsKey && !run.admission?.gathering && !isSameStart(existing, run)) {
      throw new ConflictError(
        `run '${run.id}' exists already, with another input or of another workflow; choose another id, or start it with the same input to get that run`,
      )
    }
    // The start that filled the batch and the one that made the run came at once: the run must not wait for more.
    const isFilled = !created && run.admission?.gathering && run.wakeAt < (existing.wakeAt ?? 0)
    if (isFilled) await this.world.wakeups.send(await this.world.store.hasten(existing.id))
    const confirmed = created ? this.source.confirm(definition) : undefined
    if (confirmed) await confirmed.catch((error: Error) => this.takeBack(run.id, error))
    const handing = until === undefined ? undefined : this.handOver(wakes, until)
    await (handing?.net ?? this.world.wakeups.send(wakes))
    return { runId: existing.id, status: existing.status, created, handedOver: handing?.over }
  }

  /** Somebody waits for the run, so it need not stand in line. The queue stays the net under it: a message that comes a little later. */
  private handOver([wake]: Wake[], until: number): { net: Promise<void>; over: Promise<void> } | undefined {
    const { wakeups, clock } = this.world
    const now = clock.now()
    if (!wakeups.handOver || !wake || wake.at > now) return undefined
    const enough = AbortSignal.timeout(Math.max(1, Math.min(until - now, LONGEST_HAND_OVER_MS)))
    const over = wakeups.handOver(wake, enough).catch(() => (enough.aborted ? undefined : wakeups.send([wake])))
    // Nobody may be waiting for it any more.
    over.catch(() => {})
    return { net: wakeups.send([{ ...wake, at: now + NET_MS }]), over }
  }

  private async newRun(definition: AnyWorkflow, input: unknown, options: StartOptions): Promise<NewRun> {
    const { id, idempotencyKey, startAt, delay, tags = [], traceparent } = options
    if (id !== undefined) checkRunId(id)
    if (idempotencyKey !== undefined) checkName('an idempotency key', idempotencyKey)
    if (definition.options.singleton && (startAt !== undefined || delay !== undefined))
      throw new InvalidInputError(
        `workflow '${definition.name}' is a singleton: whether it is started is decided when it is asked for, so it takes no startAt and no delay`,
      )
    if (startAt !== undefined && delay !== undefined) throw new InvalidInputError('give startAt or delay, not both')
    const accepted = await accept(definition.options.input, input, `the input of workflow '${definition.name}'`)
    const now = this.world.clock.now()
    const wakeAt =
      startAt !== undefined ? Math.max(now, pointInTime(startAt, now, "'startAt'")) : delay !== undefined ? now + milliseconds(delay, "'delay'") : now
    return {
      id: id ?? (idempotencyKey === undefined ? this.world.ids.runId() : keyedRunId(`${definition.name}\n${idempotencyKey}`)),
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

  /** One of many starts that become one run. */
  private async gathered(definition: AnyWorkflow, run: NewRun, { id, idempotencyKey, startAt, delay }: StartOptions): Promise<Prepared> {
    if (id !== undefined || startAt !== undefined || delay !== undefined)
      throw new InvalidInputError(
        `starts of workflow '${definition.name}' become one run (its debounce or batch), so none of them can choose its id or its time; an idempotencyKey tells a repeated start`,
      )
    const { admission = { gates: [], order: run.wakeAt, specs: {} } } = run
    const { input, parsed, reparse } = run
    const accepted = { input, ...(parsed !== undefined && { parsed }), ...(reparse && { reparse }) }
    const made = await gather(this.world, definition, accepted, idempotencyKey, run.tags, ({ gathering, ...fields }) => ({
      ...run,
      ...fields,
      admission: { ...admission, gathering },
    }))
    return 'joins' in made ? { definition, run, joins: made.joins } : { definition, run: made.run }
  }

  private async takeBack(runId: string, error: Error): Promise<never> {
    await this.world.store.terminate(runId, error.message)
    throw error
  }
}

/** How long after the run was handed over the queue has its own word on it. */
const NET_MS = 5_000
/** Nobody's HTTP request takes longer. */
const LONGEST_HAND_OVER_MS = 60_000
