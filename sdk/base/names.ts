import { createHash } from 'node:crypto'
import type { RunRecord } from '../ports/run.ts'
import { InvalidInputError } from './errors.ts'
import { OWN_KEY } from './own-key.ts'

const MAX_NAME = 100
/**
 * Control characters and halves of characters, which make whole ones too: one look for most names, which have
 * neither.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const DOUBTFUL = /[\u0000-\u001f\u007f-\u009f\ud800-\udfff]/
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/
const RUN_ID = /^[A-Za-z0-9][A-Za-z0-9._:@+=~-]{0,199}$/

export function checkName(what: string, name: unknown): asserts name is string {
  if (typeof name !== 'string') throw new InvalidInputError(`${what} must be a string, got ${typeof name}`)
  if (name.length === 0) throw new InvalidInputError(`${what} must not be empty`)
  if (name.length > MAX_NAME)
    throw new InvalidInputError(
      `${what} may have at most ${MAX_NAME} characters, got ${name.length}: '${name.slice(0, 40)}…'`,
    )
  if (DOUBTFUL.test(name)) checkCharacters(what, name)
}

function checkCharacters(what: string, name: string): void {
  if (CONTROL.test(name))
    throw new InvalidInputError(`${what} must not contain control characters: ${JSON.stringify(name)}`)
  // Stores keep text as UTF-8, where two such names would become one.
  if (!name.isWellFormed())
    throw new InvalidInputError(`${what} has half a character (a lone surrogate): ${JSON.stringify(name)}`)
}

export const RUN_ID_RULE =
  'a run id has 1 to 200 characters of A–Z a–z 0–9 . _ : @ + = ~ - and starts with a letter or digit'

/**
 * What the ids of runs for failures and of schedules begin with. Requests and events from outside start none of
 * them.
 */
export const FAILURE_RUNS = 'failure~'
const RESERVED = [FAILURE_RUNS, 'schedule.']
export const isReserved = (id: string): boolean => RESERVED.some((prefix) => id.startsWith(prefix))

/** What Overwinter itself runs: schedules, and what is done to many runs. */
export const isInternal = (workflow: string): boolean => workflow.startsWith('overwinter ')

export const isRunId = (id: unknown): id is string => typeof id === 'string' && RUN_ID.test(id)

export function checkRunId(id: unknown): asserts id is string {
  if (!isRunId(id)) {
    throw new InvalidInputError(`${RUN_ID_RULE}, got ${JSON.stringify(id)}`)
  }
}

/**
 * An operation's identity: scope path and name. `/` parts scopes and `:` counts repeats, so both are escaped
 * inside a name; otherwise the step 'a/b' and the step 'b' in the scope 'a' would share one identity.
 */
export function escapeName(name: string): string {
  return NEEDS_ESCAPE.test(name) ? name.replaceAll('~', '~0').replaceAll('/', '~1').replaceAll(':', '~2') : name
}
const NEEDS_ESCAPE = /[~/:]/

/**
 * What runs are written as. 1 is version 0.1.0, in which some identities could coincide. A run keeps the identities it
 * began with, so whatever is made of them here depends on its format.
 */
export const FORMAT = 2

type Identified = Pick<RunRecord, 'id' | 'format' | 'generation'>

/**
 * The id of a child run: readable where the parts allow it, and always unique to its parent and operation. The last
 * dot separates the two. `round`: how often an operator retried the parent after a failure that ended its children.
 */
export function childRunId({ id, format, generation }: Identified, opId: string, round = 0): string {
  if (format === 1 && round === 0) return shortened(id, `${id}.${generation === 0 ? opId : `g${generation}.${opId}`}`)
  const later = `${generation === 0 ? '' : `~g${generation}`}${round === 0 ? '' : `~r${round}`}`
  return shortened(id, `${id}.${opId.replaceAll('.', '~3')}${later}`)
}

function shortened(parentId: string, readable: string): string {
  return RUN_ID.test(readable) ? readable : `${parentId.slice(0, 120)}.${digest(readable)}`
}

/**
 * An id that is made of a key, or of a parent's id that is too long. Others who know what it is made of can predict
 * it.
 */
const DERIVED = /^(k|.{120}\.)[A-Za-z0-9_-]{22}$/
export const isDerivedId = (id: string): boolean => DERIVED.test(id)
export const keyedRunId = (text: string): string => `k${digest(text)}`

/** The runs that may have a child of this id, made up or explicit: in it, `.` or `~` comes behind the parent's. */
export function possibleParents(id: string): string[] {
  return [...id.matchAll(/[.~]/g)].map(({ index }) => id.slice(0, index))
}

/**
 * The id of a schedule's own run; from the second on, with its serial. A name has one spelling here, and no dot in
 * it: so no two schedules share an id, and none has that of a run which another one starts, with a dot and the time
 * behind its own.
 */
export function scheduleRunId(name: string, serial: number): string {
  const spelt = name.replaceAll(/[^A-Za-z0-9_-]/g, (char) => {
    const code = char.charCodeAt(0)
    return code < 0x100 ? `~${code.toString(16).padStart(2, '0')}` : `~u${code.toString(16).padStart(4, '0')}`
  })
  // Two tildes in a row come of no name, so a shortened one cannot be taken for another that is spelt out.
  const short = spelt.length <= LONGEST_SPELT ? spelt : `${spelt.slice(0, LONGEST_SPELT - 30)}~~${digest(name)}`
  return serial === 1 ? `schedule.${short}` : `schedule.${short}.${serial}`
}
/** Leaves room for the serial, and for the time behind it in the ids of the runs that the schedule starts. */
const LONGEST_SPELT = 110

/** What 0.1.0 called the run of a schedule: mostly the same, but several names could share one. */
export function earlierScheduleRunId(name: string): string {
  return `schedule.${encodeURIComponent(name)
    .replaceAll('%', '~')
    .replaceAll(/[!'()*]/g, '-')}`
}

/** The same on every attempt of a step, different for every other step of every other run. */
export function idempotencyKey({ id, format, generation }: Identified, opId: string): string {
  // No escaped name begins with `~g`, so no scope can look like a generation.
  const readable = generation === 0 ? `${id}/${opId}` : `${id}/${format === 1 ? 'g' : '~g'}${generation}/${opId}`
  return readable.length <= 200 ? readable : `${readable.slice(0, 150)}~${digest(readable)}`
}

/** `{run}.{step}`, as the protocol of workers has it. The first dot parts the two, so those of the run are escaped. */
export function taskId({ id, format }: Pick<Identified, 'id' | 'format'>, opId: string): string {
  return `${format === 1 ? id : id.replaceAll('~', '~0').replaceAll('.', '~1')}.${opId}`
}

/**
 * The id of a message whose sender gave it a key: the same key again is the same message. `of`: the name that these
 * keys belong to, where each name has keys of its own.
 */
export function keyedMessageId(kind: keyof typeof KEYED, key: string, of?: string): string {
  const known = digest(of === undefined ? key : `${of}\n${key}`)
  return key.startsWith(OWN_KEY) ? `once ${KEYED[kind]}${known}` : `${KEYED[kind]}${known}`
}

/** The key of what an event does: the same event through the same mapping is done once. */
export function eventKey(mapping: string, eventId: string): string {
  return `event ${digest(`${mapping}\n${eventId}`)}`
}

/** What their ids begin with. They are as old as 0.1.0: a key counts across an upgrade too. */
const KEYED = { signal: 'key ', wake: 'wake ', cancel: 'key cancel ', ask: 'key ask ' } as const
export const KEYED_BEGIN: readonly string[] = ['key ', 'wake ']

/** Whether its sender may send it again after a long time: not under a key that its client made up for it. */
export const isKeyed = (messageId: string): boolean => KEYED_BEGIN.some((begin) => messageId.startsWith(begin))

export function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}
