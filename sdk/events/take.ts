import { asError } from '../base/error-records.ts'
import { FatalError, InvalidInputError, RunNotFoundError } from '../base/errors.ts'
import { eventKey, isReserved, isRunId, RUN_ID_RULE } from '../base/names.ts'
import { isThenable } from '../base/thenable.ts'
import type { Client } from '../client/client.ts'
import { type ClockAndDice, evaluate } from '../jsonata/evaluate.ts'
import { type EventMapping, type FromEvent, ON_FAILURE, UNSTEADY } from './mapping.ts'

/** What an event has done. */
export type Taken =
  /** `created` is false if an earlier delivery had started the run. */
  | { kind: 'start'; runId: string; created: boolean }
  /** `accepted` is false for a repeat. */
  | { kind: 'signal'; runId: string; accepted: boolean }
  | { kind: 'cancel'; runId: string }

/**
 * Applies a mapping to an event. A repeated event changes nothing: a start is identified by the run's id or
 * the event's, a signal and a cancel by the event's. An event without an id is new each time.
 */
export async function takeEvent(client: Client, mapping: EventMapping, event: unknown): Promise<Taken> {
  const eventId = idOf(event)
  const key = eventId === undefined ? {} : { idempotencyKey: eventKey(mapping.name, eventId) }
  const from = (field: string, how: FromEvent<unknown> | undefined) => made(mapping, field, how, event)
  const idFrom = (field: string, how: FromEvent<unknown>) => runIdOf(mapping, field, how, event)
  switch (mapping.kind) {
    case 'start': {
      const id = mapping.id === undefined ? undefined : await idFrom('id', mapping.id)
      // Only the construct's own mappings, for failures, may use a reserved id.
      if (id !== undefined && isReserved(id) && !isForFailures(mapping))
        throw misfit(mapping, 'id', `gave ${id}, and ids that begin so are for others`)
      const options = { ...(id === undefined ? key : { id }), ...traceOf(event) }
      const { runId, created } = await client.start(mapping.workflow, await from('input', mapping.input), options)
      return { kind: 'start', runId, created }
    }
    case 'signal': {
      const runId = await idFrom('runId', mapping.runId)
      await assertIsMeant(client, mapping, runId)
      const { accepted } = await client.signal(runId, mapping.signal, await from('payload', mapping.payload), key)
      return { kind: 'signal', runId, accepted }
    }
    case 'cancel': {
      const runId = await idFrom('runId', mapping.runId)
      await assertIsMeant(client, mapping, runId)
      const reason = await from('reason', mapping.reason)
      if (reason !== undefined && typeof reason !== 'string')
        throw misfit(mapping, 'reason', `gave ${typeof reason}, and a reason is a string`)
      await client.cancel(runId, reason, key)
      return { kind: 'cancel', runId }
    }
  }
}

/** The event chooses the run: it must be a run of the mapping's workflow, if it names one, and never a schedule. */
async function assertIsMeant(
  { world }: Client,
  mapping: Extract<EventMapping, { kind: 'signal' | 'cancel' }>,
  runId: string,
): Promise<void> {
  if (isReserved(runId)) throw misfit(mapping, 'runId', `gave ${runId}, which is no run that events may steer`)
  if (mapping.workflow === undefined) return
  const wanted = typeof mapping.workflow === 'string' ? mapping.workflow : mapping.workflow.name
  const there = await world.store.state(runId)
  if (there && there.workflow !== wanted)
    throw misfit(
      mapping,
      'runId',
      `gave ${runId}, which is a run of workflow '${there.workflow}' and not of '${wanted}'`,
    )
}

const isForFailures = ({ name }: EventMapping): boolean => name.startsWith(ON_FAILURE)

/** The attributes of queue and topic messages carry the sender's `traceparent`. */
function traceOf(event: unknown): { traceparent?: string } {
  const { attributes } = (event ?? {}) as { attributes?: { traceparent?: unknown } | null }
  const traceparent = attributes?.traceparent
  return typeof traceparent === 'string' ? { traceparent } : {}
}

/** Repeats of an event without an id cannot be recognised. */
export function idOf(event: unknown): string | undefined {
  const id = typeof event === 'object' && event !== null ? (event as { id?: unknown }).id : undefined
  return typeof id === 'string' && id !== '' ? id : undefined
}

/** How a failure to take an event is handled. */
export type Verdict =
  /** The event can never be taken. */
  | 'poison'
  /** Its run does not exist; the event may have come first. */
  | 'early'
  /** The store failed, not the event. */
  | 'transient'

export function verdictOf(error: unknown): Verdict {
  if (error instanceof RunNotFoundError) return 'early'
  return error instanceof FatalError ? 'poison' : 'transient'
}

const NEITHER: ClockAndDice = {
  now: () => refuse(),
  random: () => refuse(),
}
function refuse(): never {
  throw new Error(`it ${UNSTEADY}`)
}

async function made(
  mapping: EventMapping,
  field: string,
  how: FromEvent<unknown> | undefined,
  event: unknown,
): Promise<unknown> {
  if (how === undefined) return undefined
  try {
    if (typeof how === 'string') return await evaluate(how, event, NEITHER)
    // A copy: changes that the mapping function makes must not reach the dead letter.
    const value = how(structuredClone(event))
    if (!isThenable(value)) return value
    Promise.resolve(value).catch(() => {})
  } catch (error) {
    throw misfit(mapping, field, `failed for this event: ${asError(error).message}`)
  }
  throw misfit(mapping, field, 'is an async function, and must be a plain one: a mapping does no I/O. Do I/O in a step')
}

const MOST_SHOWN = 100

async function runIdOf(mapping: EventMapping, field: string, how: FromEvent<unknown>, event: unknown): Promise<string> {
  const value = await made(mapping, field, how, event)
  // In many JSON documents ids are numbers.
  const id = Number.isSafeInteger(value) ? String(value) : value
  if (isRunId(id)) return id
  if (id === undefined || id === null) throw misfit(mapping, field, 'gave nothing for this event')
  throw misfit(
    mapping,
    field,
    `gave ${JSON.stringify(id)?.slice(0, MOST_SHOWN) ?? typeof id}, which is no id of a run: ${RUN_ID_RULE}`,
  )
}

function misfit({ name }: EventMapping, field: string, message: string): InvalidInputError {
  return new InvalidInputError(`mapping '${name}': ${field} ${message}`)
}
