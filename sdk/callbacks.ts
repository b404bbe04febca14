import { type CallbackAddress, readCallbackToken } from './engine/callback-token.ts'
import { ConflictError, GoneError, MisfitError, RunNotFoundError, recordError, UnknownWorkflowError } from './engine/errors.ts'
import type { EventOf, Frame, JournalEvent } from './engine/events.ts'
import { assertSurvivesJson, canonicalJson, type Json, throughJson } from './engine/json.ts'
import { replaySilently } from './engine/silent-replay.ts'
import { hasEnded, type Message, type RunRecord, type World } from './ports.ts'
import { validate } from './schema.ts'
import type { AnyWorkflow, WorkflowSource } from './workflow.ts'

type SettledCallback = Extract<Message, { kind: 'callback' | 'callback.failed' }>
type Created = EventOf<'callback.created'>

/** Settles what runs wait for outside. Whoever is too late, or sends what does not fit, hears so, and nothing is written. */
export class Callbacks {
  private readonly world: World
  private readonly workflows: WorkflowSource

  constructor(world: World, workflows: WorkflowSource) {
    this.world = world
    this.workflows = workflows
  }

  /** `isRepeat`: it may have been sent before; then the same again is no conflict. */
  async complete(token: string, result: unknown, isRepeat: boolean): Promise<void> {
    assertSurvivesJson(result, 'the result of a callback')
    await this.settle(token, (address) => ({ ...address, kind: 'callback', result: throughJson(result) as Json | undefined }), isRepeat)
  }

  async fail(token: string, error: unknown, isRepeat: boolean): Promise<void> {
    await this.settle(token, (address) => ({ ...address, kind: 'callback.failed', error: recordError(error) }), isRepeat)
  }

  private async settle(
    token: string,
    toMessage: (address: { id: string; op: string; generation: number }) => SettledCallback,
    isRepeat: boolean,
  ): Promise<void> {
    const address = readCallbackToken(token)
    const { runId, opId: op, generation } = address
    const run = await this.world.store.get(runId)
    if (!run || !address.isFrom(run)) throw new RunNotFoundError('no run waits for this callback token: it is not genuine, or its run is gone')
    const frames = await this.world.store.frames(runId)
    const events = frames.filter(({ seq }) => seq > run.baseSeq).flatMap((frame) => frame.events)
    // One that was set aside, or undone by an operator, does not stand in the way of the next.
    const rejected = events.filter((event) => (event.type === 'callback.rejected' && event.id === op) || event.type === 'run.retried').length
    const message = toMessage({ id: `callback ${generation} ${op}${rejected === 0 ? '' : ` ${rejected}`}`, op, generation })
    if (isRepeat && wasSettledAlike(events, message)) return
    const waitsAlike = isRepeat && (await this.waitsAlike(runId, message))
    if (!waitsAlike) {
      this.refuseLate(run, address, events)
      await this.refuseMisfit(run, frames, events, message)
    }
    // Also if it is there already: whoever sent it first may have died before the run could hear of it (I6).
    const { outcome, wakes } = await this.world.store.deliver(runId, message)
    await this.world.wakeups.send(wakes)
    if (outcome === 'accepted' || waitsAlike) return
    // It may have gone from the inbox to the journal between our looks at the two.
    if (isRepeat && outcome === 'duplicate' && wasSettledAlike(await this.eventsOf(run), message)) return
    if (outcome === 'ended' || outcome === 'missing') throw new GoneError(`run '${runId}' has ended meanwhile; the result came too late`)
    throw new ConflictError('this callback was settled before; the first result stands')
  }

  private async eventsOf({ id, baseSeq }: RunRecord): Promise<JournalEvent[]> {
    return (await this.world.store.frames(id)).filter(({ seq }) => seq > baseSeq).flatMap((frame) => frame.events)
  }

  private async waitsAlike(runId: string, message: SettledCallback): Promise<boolean> {
    const { messages } = await this.world.store.inbox(runId)
    return messages.some((other) => other.id === message.id && isAlike(other as SettledCallback, message))
  }

  private refuseLate(run: RunRecord, { generation, opId }: CallbackAddress, events: readonly JournalEvent[]): void {
    if (run.generation > generation) throw new GoneError(`run '${run.id}' has begun anew since this token was handed out, and does not wait for it any more`)
    const settled = settlementOf(events, opId)
    if (settled?.type === 'callback.failed' && settled.error.name === 'TimeoutError') throw new GoneError(`too late: ${settled.error.message}`)
    if (settled) throw new ConflictError('this callback was settled before; the first result stands')
    if (hasEnded(run.status)) throw new GoneError(`run '${run.id}' has ended (${run.status}) and does not wait for this callback any more`)
    if (events.some(({ type }) => type === 'run.cancelRequested') && isStopped(events, opId)) {
      throw new GoneError(`run '${run.id}' was cancelled and does not wait for this callback any more`)
    }
  }

  private async findWorkflow({ workflow, version }: RunRecord): Promise<AnyWorkflow | undefined> {
    try {
      return await this.workflows.exact(workflow, version)
    } catch (error) {
      if (error instanceof UnknownWorkflowError) return undefined
      throw error
    }
  }

  /** The schema is in the code, so the code is asked: it is taken through the journal, up to where it waits. */
  private async refuseMisfit(run: RunRecord, frames: readonly Frame[], events: readonly JournalEvent[], message: SettledCallback): Promise<void> {
    const created = events.find((event): event is Created => event.type === 'callback.created' && event.id === message.op)
    if (!created?.checked || message.kind !== 'callback') return
    // A process that does not have the code leaves the question to the one that has: there, what does not fit is set aside.
    const workflow = await this.findWorkflow(run)
    if (!workflow) return
    const replay = await replaySilently(workflow, run, frames)
    const request = replay.operations.get(message.op)?.request
    if (replay.violation || request?.kind !== 'callback') return
    const checked = await validate(request.schema, message.result)
    if (!checked.ok) throw new MisfitError(`the result does not fit what callback '${message.op}' asks for; the run waits on`, checked.problems)
  }
}

/** How the callback was settled, as far as that counts: an operator may have undone it. */
function settlementOf(events: readonly JournalEvent[], op: string): EventOf<'callback.completed' | 'callback.failed'> | undefined {
  let settled: EventOf<'callback.completed' | 'callback.failed'> | undefined
  for (const event of events) {
    if (isSettlement(event) && event.id === op) settled = event
    // Asked for anew, on another way than the one on which it was settled.
    else if (event.type === 'callback.created' && event.id === op) settled = undefined
    else if (event.type === 'run.retried' && event.ops?.includes(op)) settled = undefined
  }
  return settled
}

function wasSettledAlike(events: readonly JournalEvent[], message: SettledCallback): boolean {
  const settled = settlementOf(events, message.op)
  return settled !== undefined && isAlike(settled, message)
}

type Said = { result?: Json; error?: { message: string } }
function isAlike(a: Said, b: Said): boolean {
  const said = ({ result, error }: Said) => canonicalJson({ result, error: error?.message })
  return said(a) === said(b)
}

const isSettlement = (event: JournalEvent): event is EventOf<'callback.completed' | 'callback.failed'> =>
  event.type === 'callback.completed' || event.type === 'callback.failed'

/** A wait that was open when the run was asked to stop has ended with that. */
function isStopped(events: readonly JournalEvent[], opId: string): boolean {
  const created = events.findIndex((event) => event.type === 'callback.created' && event.id === opId)
  return created !== -1 && events.slice(created).some(({ type }) => type === 'run.cancelRequested')
}
