import { InvalidInputError, type Problem } from '../base/errors.ts'
import { checkName } from '../base/names.ts'
import { syntaxProblem } from '../jsonata/evaluate.ts'
import type { AnyWorkflow, Signal, Workflow } from '../workflow.ts'

/** JSONata on the event, or a function of it. Either must give the same for the same event: it may come twice. */
// biome-ignore lint/suspicious/noExplicitAny: the author says which event it is
export type FromEvent<T, E = any> = string | ((event: E) => T)

// biome-ignore lint/suspicious/noExplicitAny: as above
export interface StartOn<I = unknown, E = any> {
  workflow: Workflow<I, unknown> | string
  /** The run's id. Without it the run's id is made from the event's own id. */
  id?: FromEvent<string | number, E>
  /** The run's input; none unless given. `'$'` is the whole event. */
  input?: FromEvent<NoInfer<I>, E>
}

// biome-ignore lint/suspicious/noExplicitAny: as above
export interface SignalOn<T = unknown, E = any> {
  /** Only runs of this workflow. Without it, a sender of such events may signal any run whose id it knows. */
  workflow?: AnyWorkflow | string
  signal: Signal<unknown, T> | string
  runId: FromEvent<string | number, E>
  /** The signal's payload; none unless given. */
  payload?: FromEvent<NoInfer<T>, E>
}

// biome-ignore lint/suspicious/noExplicitAny: as above
export interface CancelOn<E = any> {
  /** Only runs of this workflow. Without it, a sender of such events may cancel any run whose id it knows. */
  workflow?: AnyWorkflow | string
  runId: FromEvent<string | number, E>
  /** `'"withdrawn"'` is a fixed reason. */
  reason?: FromEvent<string | undefined, E>
}

/** What an event does to runs. */
// biome-ignore lint/suspicious/noExplicitAny: a list holds mappings of every type
export type EventMapping<I = any> = { readonly name: string } & (
  | ({ readonly kind: 'start' } & Readonly<StartOn<I>>)
  | ({ readonly kind: 'signal' } & Readonly<SignalOn<I>>)
  | ({ readonly kind: 'cancel' } & Readonly<CancelOn>)
)
export type MappingKind = EventMapping['kind']

/** Starts a run for each event. */
// biome-ignore lint/suspicious/noExplicitAny: as above
export function startOn<I, E = any>(name: string, options: StartOn<I, E>): EventMapping {
  return made('start', name, options)
}

/** Sends a signal for each event. */
// biome-ignore lint/suspicious/noExplicitAny: as above
export function signalOn<T, E = any>(name: string, options: SignalOn<T, E>): EventMapping {
  return made('signal', name, options)
}

/** Cancels a run for each event. */
// biome-ignore lint/suspicious/noExplicitAny: as above
export function cancelOn<E = any>(name: string, options: CancelOn<E>): EventMapping {
  return made('cancel', name, options)
}

function made(kind: MappingKind, name: string, options: object): EventMapping {
  checkName('the name of a mapping', name)
  const problems = findMappingProblems(kind, options)
  if (problems.length > 0) throw new InvalidInputError(`mapping '${name}' is not valid`, problems)
  return { name, kind, ...options } as EventMapping
}

/**
 * A mapping as data, as the construct and `POST /events` take it: names and JSONata. Throws all problems,
 * each with its path.
 */
export function mappingFromData(
  name: string,
  { kind, ...fields }: { kind?: unknown } & Record<string, unknown>,
): EventMapping {
  if (!isKind(kind))
    throw new InvalidInputError(`mapping '${name}' is not valid`, [
      { path: '$.kind', message: `must be one of ${KINDS.join(', ')}` },
    ])
  const problems = findMappingProblems(kind, fields, ONLY_DATA)
  if (problems.length > 0) throw new InvalidInputError(`mapping '${name}' is not valid`, problems)
  return { name, kind, ...fields } as EventMapping
}

/** Checked by shape, not by class: the entry file may have loaded its own copy of the library. */
export function isMapping(value: unknown): value is EventMapping {
  if (typeof value !== 'object' || value === null) return false
  const { name, kind } = value as Partial<EventMapping>
  return typeof name === 'string' && isKind(kind) && Object.keys(FIELDS[kind]).some((field) => field in value)
}

/** The prefix of the construct's own mappings, which start a run for a failure. */
export const ON_FAILURE = 'on-failure-'

interface Allowed {
  functions: boolean
}
const ONLY_DATA: Allowed = { functions: false }

type Field = { isNeeded?: true } & ({ named: 'workflow' | 'signal' } | { named?: never })

/** The fields of each kind. All but the names are `FromEvent`. */
const FIELDS: Record<MappingKind, Record<string, Field>> = {
  start: { workflow: { isNeeded: true, named: 'workflow' }, id: {}, input: {} },
  signal: {
    workflow: { named: 'workflow' },
    signal: { isNeeded: true, named: 'signal' },
    runId: { isNeeded: true },
    payload: {},
  },
  cancel: { workflow: { named: 'workflow' }, runId: { isNeeded: true }, reason: {} },
}
const KINDS = Object.keys(FIELDS) as MappingKind[]
const isKind = (kind: unknown): kind is MappingKind => KINDS.some((known) => known === kind)

function findMappingProblems(kind: MappingKind, options: object, allowed: Allowed = { functions: true }): Problem[] {
  const fields = FIELDS[kind]
  const given = options as Record<string, unknown>
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(fields, name))
  return [
    ...unknown.map((name) => ({
      path: `$.${name}`,
      message: `is not known here; known: ${Object.keys(fields).join(', ')}`,
    })),
    ...Object.entries(fields).flatMap(([name, field]) => {
      const value = given[name]
      if (value === undefined) return field.isNeeded ? [{ path: `$.${name}`, message: 'is missing' }] : []
      const message = field.named ? nameProblem(field.named, value, allowed) : expressionProblem(value, allowed)
      return message === undefined ? [] : [{ path: `$.${name}`, message }]
    }),
  ]
}

function nameProblem(what: 'workflow' | 'signal', value: unknown, { functions }: Allowed): string | undefined {
  const name =
    functions && typeof value === 'object' && value !== null ? (value as Partial<AnyWorkflow | Signal>).name : value
  try {
    checkName(`the name of a ${what}`, name)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

function expressionProblem(value: unknown, { functions }: Allowed): string | undefined {
  if (functions && typeof value === 'function') return undefined
  if (typeof value === 'function')
    return 'is a function, and must be JSONata here. Export the mapping from the entry, and give its name'
  if (typeof value !== 'string')
    return `must be JSONata${functions ? ' or a function of the event' : ' in a string'}, got ${typeof value}`
  return syntaxProblem(value) ?? (CLOCK_OR_DICE.test(value) ? UNSTEADY : undefined)
}

const CLOCK_OR_DICE = /\$(now|millis|random|shuffle)\s*\(/
export const UNSTEADY =
  'uses the clock or dice ($now, $millis, $random, $shuffle): the event may come twice and must give the same. ' +
  'Its own time is in `time`'
