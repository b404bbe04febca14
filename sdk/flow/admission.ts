import { InvalidInputError } from '../base/errors.ts'
import { checkName } from '../base/names.ts'
import { type Accepted, validateOrThrow } from '../base/schema.ts'
import { isThenable } from '../base/thenable.ts'
import { decode } from '../base/values.ts'
import type { AnyWorkflow } from '../workflow.ts'
import type { CoalescedStarts } from './coalescing/coalescing.ts'
import { MOST_PRIORITY } from './limiter/bounds.ts'
import type { LimitSpec } from './limiter/limit.ts'
import type { LimiterId } from './limiter/limiter.ts'
import { fairnessKeyOf, type Grant, PRIORITY_MS } from './limiter/queue.ts'
import { isSingleton, type OnConflict } from './options.ts'

/**
 * The limiters that a run has to pass before it starts, one after the other. It is stored with the run, under names that
 * are older than the words used elsewhere: `gates` are the limiters, `gathering` and `gathered` its coalesced starts.
 */
export interface Admission {
  gates: LimiterToPass[]
  /** Its place in their queues. */
  order: number
  /** What becomes of runs of its key that are there already. */
  onConflict?: OnConflict
  /** Other starts may become the same run until it begins. */
  gathering?: CoalescedStarts
  /** The same, once the run has them: erasing the run looks there for what a runner that died has left. */
  gathered?: CoalescedStarts
}

/** One of them, as the run knows it. */
export interface LimiterToPass extends LimiterId {
  lane?: string
  /** It has slots. The run releases its slot at its end. */
  holds?: true
  /** Of a pause: how often it was paused again while it was resumed. */
  round?: number
  /** Once it has passed: since when, and in which slot. */
  grant?: Grant
}

/** It has a limiter to pass before it may start, or go on. */
export const hasLimiterToPass = ({ admission, passed = 0 }: { admission?: Admission; passed?: number }): boolean =>
  admission !== undefined && passed < admission.gates.length

/** An admission, and the numbers of its limits in the code of the program that requests it. */
export type NewAdmission = Admission & { specs: Record<string, LimitSpec> }

/** What a function of the workflow's options makes of an input. If it throws, the input is invalid. */
export async function made<T>(
  workflow: AnyWorkflow,
  what: string,
  of: (input: never) => T,
  { input, parsed, reparse }: Accepted,
): Promise<T> {
  const value = reparse ? await validateOrThrow(workflow.options.input, decode(input), what) : decode(parsed ?? input)
  try {
    const it = of(value as never)
    if (!isThenable(it)) return it
    // It is not awaited, so its rejection must not count as unhandled.
    it.then(undefined, () => {})
    throw new Error('it gives a promise, and has to be made at once, of the input alone')
  } catch (error) {
    throw ofInput(`${what} could not be made of this input: ${error instanceof Error ? error.message : String(error)}`)
  }
}

export const ofInput = (message: string): InvalidInputError => new InvalidInputError(message, [{ path: '$', message }])

export async function keyFor(
  workflow: AnyWorkflow,
  what: string,
  of: (input: never) => unknown,
  accepted: Accepted,
): Promise<string> {
  const key = await made(workflow, what, of, accepted)
  try {
    checkName(what, key)
  } catch (error) {
    throw ofInput((error as Error).message)
  }
  return key
}

/** As part of a run that is about to be made; nothing, at no cost, for a workflow without limits. */
export async function admissionFor(
  workflow: AnyWorkflow,
  accepted: Accepted,
  now: number,
): Promise<{ admission?: NewAdmission }> {
  const isPlain = workflow.limits.length === 0 && workflow.options.priority === undefined
  const admission = isPlain ? undefined : await admissionOf(workflow, accepted, now)
  return admission ? { admission } : {}
}

/** Throws, before anything is written, where a key or a priority cannot be made of the input. */
async function admissionOf(workflow: AnyWorkflow, accepted: Accepted, now: number): Promise<NewAdmission> {
  const { limits } = workflow
  const { priority: priorityOf, singleton } = workflow.options
  const gates: LimiterToPass[] = []
  let lane: string | undefined
  for (const { name, spec, key: keyOf } of limits) {
    const key = keyOf && (await keyFor(workflow, `the key of '${name}'`, keyOf, accepted))
    // Keys that share a limit are fairness keys. The key of a singleton is not.
    if (spec.rate === undefined && !isSingleton(name)) lane ??= key
    const needsFairnessKey = key === undefined && lane !== undefined
    gates.push({
      limit: name,
      ...(key !== undefined && { key }),
      ...(needsFairnessKey && { lane: fairnessKeyOf(lane) }),
      ...(spec.concurrency !== undefined && { holds: true }),
    })
  }
  const priority = priorityOf
    ? await made(workflow, `the priority of workflow '${workflow.name}'`, priorityOf, accepted)
    : 0
  if (typeof priority !== 'number' || !(Math.abs(priority) <= MOST_PRIORITY))
    throw ofInput(
      `the priority of workflow '${workflow.name}' must be a number from -${MOST_PRIORITY} to ` +
        `${MOST_PRIORITY}, got ${String(priority)}`,
    )
  const specs = Object.fromEntries(limits.map(({ name, spec }) => [name, spec]))
  return {
    gates,
    order: now - Math.round(priority * PRIORITY_MS),
    specs,
    ...(singleton && { onConflict: singleton.onConflict }),
  }
}

/**
 * For a run that has its input now. A debounced run has the input of the last start, whose keys may differ from
 * those of the first.
 */
export async function admissionWithStarts(
  workflow: AnyWorkflow,
  accepted: Accepted,
  before: Admission,
): Promise<Admission> {
  const { gathering, ...rest } = before
  const admission = { ...rest, ...(gathering && { gathered: gathering }) }
  if (!workflow.options.debounce) return admission
  const { admission: anew } = await admissionFor(workflow, accepted, admission.order)
  return { ...admission, gates: anew?.gates ?? [] }
}
