import { recordError } from '../base/error-records.ts'
import {
  ConflictError,
  GoneError,
  InvalidInputError,
  MisfitError,
  RunNotFoundError,
  UnknownWorkflowError,
} from '../base/errors.ts'
import type { Frame, JournalEvent } from '../base/events.ts'
import { jsonSchemaOf, validate } from '../base/schema.ts'
import { decode, encode } from '../base/values.ts'
import { beat } from '../engine/callback-heartbeat.ts'
import { type CallbackAddress, callbackToken, callbackUrl, readCallbackToken } from '../engine/callback-token.ts'
import type { CallbackRequest } from '../engine/operation.ts'
import { replaySilently } from '../engine/silent-replay.ts'
import { hasEnded, type RunRecord } from '../ports/run.ts'
import type { World } from '../ports/world.ts'
import type { AnyWorkflow, WorkflowSource } from '../workflow.ts'
import {
  type Created,
  deadlineOf,
  isAlike,
  isStopped,
  isWithdrawn,
  openingOf,
  type SettledCallback,
  setAside,
  settlementOf,
  wasSettledAlike,
} from './callback-journal.ts'
import { RAW_REQUEST } from './raw-request.ts'
import { recordOf } from './retrying.ts'

/** What a party outside is asked. */
export interface Asked {
  runId: string
  workflow: string
  /** The callback's, scopes included. */
  name: string
  isRaw: boolean
  until: number | undefined
  /** What only the code knows; undefined where this process does not have it. */
  terms(): Promise<Pick<CallbackRequest, 'schema' | 'question'> | undefined>
}

/** What a run waits for outside. The holder of the token may answer. */
export interface OpenCallback {
  /** Scopes included. */
  name: string
  token: string
  url: string
  /** When it is too late. */
  until?: number
  /** What people are asked, where the code is known here. */
  question?: string
  /** A JSON Schema of the answer, where the code is known here and its schema can be described. */
  schema?: Record<string, unknown>
}

/** `isRepeat`: it may have been sent before; then the same again is no conflict. */
export type Answer = ({ result: unknown } | { error: unknown }) & { isRepeat: boolean }

/** A callback as its token leads to it. */
interface Found {
  address: CallbackAddress
  run: RunRecord
  events: JournalEvent[]
  created: Created | undefined
  asked: Asked
}

/**
 * Settles what runs wait for outside. An answer that is late, or does not fit, is refused, and nothing is
 * written.
 */
export class Callbacks {
  private readonly world: World
  private readonly workflows: WorkflowSource

  constructor(world: World, workflows: WorkflowSource) {
    this.world = world
    this.workflows = workflows
  }

  /** What of a run can be answered now, in the order in which it was asked. */
  async open(runId: string): Promise<OpenCallback[]> {
    const run = await recordOf(this.world, runId)
    const events = eventsOf(run, await this.world.store.frames(runId))
    const names = new Set(events.flatMap((event) => (event.type === 'callback.created' ? [event.id] : [])))
    const open = [...names].flatMap((name) => {
      const token = callbackToken(run, name)
      try {
        this.refuseLate(run, readCallbackToken(token), events)
      } catch (error) {
        if (error instanceof GoneError || error instanceof ConflictError) return []
        throw error
      }
      const until = deadlineOf(events, name)
      return [
        {
          name,
          token,
          url: callbackUrl(openingOf(events, name)?.address, token),
          ...(until !== undefined && { until }),
        },
      ]
    })
    return Promise.all(open.map(async (callback) => ({ ...callback, ...(await this.termsOf(callback.token)) })))
  }

  /** What only the code knows. Where it cannot tell, the callback can be answered all the same. */
  private async termsOf(token: string): Promise<Pick<OpenCallback, 'question' | 'schema'>> {
    try {
      const asked = await this.look(token)
      const terms = asked.isRaw ? undefined : await asked.terms()
      const schema = jsonSchemaOf(terms?.schema)
      return { ...(terms?.question !== undefined && { question: terms.question }), ...(schema && { schema }) }
    } catch {
      return {}
    }
  }

  /** What is asked, while it can be answered. Changes nothing. */
  async look(token: string): Promise<Asked> {
    const { address, run, events, asked } = await this.find(token)
    this.refuseLate(run, address, events)
    const { messages } = await this.world.store.inbox(run.id)
    const id = messageId(address, events)
    if (messages.some((message) => message.id === id)) throw settledBefore()
    return asked
  }

  /** What was sent may have to be read as the callback asks for it. */
  async settle(token: string, read: (asked: Asked) => Answer | Promise<Answer>): Promise<void> {
    const { address, run, events, created, asked } = await this.find(token)
    const answer = await readOr(
      () => read(asked),
      () => this.refuseLate(run, address, events),
    )
    const { isRepeat } = answer
    const message = toMessage(answer, address, messageId(address, events))
    if (isRepeat && wasSettledAlike(events, message)) return
    const waitsAlike = isRepeat && (await this.waitsAlike(run.id, message, created))
    if (!waitsAlike) {
      this.refuseLate(run, address, events)
      await refuseMisfit(asked, created, message)
    }
    // Also if it is there already: its first sender may have died before the run could hear of it (I6).
    const { outcome, wakes } = await this.world.store.deliver(run.id, message)
    await this.world.wakeups.send(wakes)
    if (outcome === 'accepted' || waitsAlike) return
    // It may have gone from the inbox to the journal between our looks at the two.
    if (
      isRepeat &&
      outcome === 'duplicate' &&
      wasSettledAlike(eventsOf(run, await this.world.store.frames(run.id)), message)
    )
      return
    if (outcome === 'ended' || outcome === 'missing')
      throw new GoneError(`run '${run.id}' has ended meanwhile; the result came too late`)
    throw settledBefore()
  }

  /** A sign of life. It is noted, not journaled, and wakes no run: the run looks for it when it is due. */
  async heartbeat(token: string): Promise<void> {
    const { address, run, events, created } = await this.find(token)
    this.refuseLate(run, address, events)
    if (created?.beatMs === undefined) {
      throw new ConflictError(
        `callback '${address.opId}' needs no signs of life: it was made without heartbeatTimeout. Just answer it`,
      )
    }
    await beat(this.world.documents, run, address.opId, { at: this.world.clock.now(), ms: created.beatMs })
  }

  private async find(token: string): Promise<Found> {
    const address = readCallbackToken(token)
    const run = await this.world.store.get(address.runId)
    if (!run || !address.isFrom(run))
      throw new RunNotFoundError(
        'no run waits for this callback: its token was changed on the way, or its run is gone. Use ' +
          'the token exactly as it was handed out',
      )
    const frames = await this.world.store.frames(run.id)
    const events = eventsOf(run, frames)
    const created = openingOf(events, address.opId)
    let terms: ReturnType<Asked['terms']> | undefined
    const asked: Asked = {
      runId: run.id,
      workflow: run.workflow,
      name: address.opId,
      isRaw: created?.raw === true,
      until: created?.until,
      terms: () => (terms ??= this.askTheCode(run, frames, address.opId)),
    }
    return { address, run, events, created, asked }
  }

  /**
   * Schema and question are in the code, so the code is asked: it is taken through the journal, up to where
   * it waits.
   */
  private async askTheCode(run: RunRecord, frames: readonly Frame[], op: string): Promise<CallbackRequest | undefined> {
    const workflow = await this.findWorkflow(run)
    if (!workflow) return undefined
    const replay = await replaySilently(workflow, run, frames)
    const request = replay.operations.get(op)?.request
    return replay.violation || request?.kind !== 'callback' ? undefined : request
  }

  private async waitsAlike(runId: string, message: SettledCallback, created: Created | undefined): Promise<boolean> {
    const { messages } = await this.world.store.inbox(runId)
    return messages.some((other) => other.id === message.id && isAlike(other as SettledCallback, message, created))
  }

  private refuseLate(run: RunRecord, { generation, opId }: CallbackAddress, events: readonly JournalEvent[]): void {
    if (run.generation > generation)
      throw new GoneError(
        `run '${run.id}' has begun anew since this link was handed out, and does not wait for it any more`,
      )
    const settled = settlementOf(events, opId)
    if (settled?.type === 'callback.failed' && settled.error.name === 'TimeoutError')
      throw new GoneError(`too late: ${settled.error.message}`)
    if (settled) throw settledBefore()
    if (hasEnded(run.status))
      throw new GoneError(`run '${run.id}' has ended (${run.status}) and does not wait for this callback any more`)
    if (events.some(({ type }) => type === 'run.cancelRequested') && isStopped(events, opId)) {
      throw new GoneError(`run '${run.id}' was cancelled and does not wait for this callback any more`)
    }
    if (isWithdrawn(events, opId))
      throw new GoneError(`run '${run.id}' went on without callback '${opId}': the race that it was part of is decided`)
    // The run may not have noticed so far.
    if ((deadlineOf(events, opId) ?? Number.POSITIVE_INFINITY) <= this.world.clock.now()) {
      throw new GoneError(`too late: callback '${opId}' was not completed in time`)
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
}

/** A late answer is refused as late, whatever else is wrong with it. */
async function readOr(read: () => Answer | Promise<Answer>, refuseLate: () => void): Promise<Answer> {
  try {
    return await read()
  } catch (error) {
    refuseLate()
    throw error
  }
}

function eventsOf({ baseSeq }: RunRecord, frames: readonly Frame[]): JournalEvent[] {
  return frames.filter(({ seq }) => seq > baseSeq).flatMap((frame) => frame.events)
}

function messageId({ generation, opId }: CallbackAddress, events: readonly JournalEvent[]): string {
  const before = setAside(events, opId)
  return `callback ${generation} ${opId}${before === 0 ? '' : ` ${before}`}`
}

function toMessage(answer: Answer, { generation, opId: op }: CallbackAddress, id: string): SettledCallback {
  if ('error' in answer) return { id, op, generation, kind: 'callback.failed', error: recordError(answer.error) }
  const result = encode(answer.result, 'the result of a callback')
  return { id, op, generation, kind: 'callback', ...(result !== undefined && { result }) }
}

async function refuseMisfit(asked: Asked, created: Created | undefined, message: SettledCallback): Promise<void> {
  if (message.kind !== 'callback' || !(created?.checked || created?.raw)) return
  // A process that does not have the code leaves the question to the one that has: there, what does not fit
  // is set aside.
  const schema = created.raw ? RAW_REQUEST : (await asked.terms())?.schema
  const checked = await validate(schema, decode(message.result))
  if (!checked.ok)
    throw new MisfitError(
      `the result does not fit what callback '${message.op}' asks for; the run waits on`,
      checked.problems,
    )
  refuseUnstorable(checked.value, message.op)
}

/** The run would set it aside and wait on, and only its history would tell. */
function refuseUnstorable(made: unknown, op: string): void {
  try {
    encode(made, 'it')
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error
    throw new MisfitError(
      `the result fits callback '${op}', but what its schema makes of it cannot be stored; the run ` +
        `waits on. Let the schema make what can be stored, and make the rest of it in the workflow, ` +
        `after the callback's promise`,
      error.problems,
    )
  }
}

function settledBefore(): ConflictError {
  return new ConflictError('this callback has its answer already, and the first one counts')
}
