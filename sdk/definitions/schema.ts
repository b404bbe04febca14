import * as z from 'zod'
import { MAX_WAIT_MS } from '../base/duration.ts'

/** A workflow as data. The JSON form and the builder both produce this, and one interpreter runs it. */

export const MOST_STEPS = 1_000

/** `__proto__` would be no ordinary key among the outputs. */
const Name = z
  .string()
  .min(1)
  .max(100)
  .regex(/^(?!__proto__$)\P{Cc}*$/u, 'must not contain control characters, nor be __proto__')
const Milliseconds = z.int().positive().max(MAX_WAIT_MS)
/** JSONata, over `input` and `steps`, the outputs of the steps before by name. */
const Expression = z.string().min(1)

const Retry = z.strictObject({
  attempts: z.int().min(1).optional(),
  initialMs: Milliseconds.optional(),
  factor: z.number().min(1).optional(),
  maxMs: Milliseconds.optional(),
  jitter: z.boolean().optional(),
})

const common = {
  name: Name,
  /** The steps that come before. Where no step has any, they run one after the other. */
  after: z.union([Name, z.array(Name)]).optional(),
  /**
   * What happens to this step when a step before it has failed: the run fails, or the step is skipped and the
   * run continues.
   */
  onParentFailure: z.enum(['cancel', 'skip']).optional(),
}

/** Data for the step. A string `{{ expression }}` stands for what the expression gives. */
const config = { config: z.json().optional() }

const Task = z.strictObject({
  type: z.literal('task'),
  ...common,
  ...config,
  handler: Name.optional(),
  lambda: z.string().min(1).max(200).optional(),
  /** A type of task that external workers do. */
  worker: Name.optional(),
  retry: Retry.optional(),
  timeoutMs: Milliseconds.optional(),
  heartbeatTimeoutMs: Milliseconds.optional(),
  maxIterations: z.int().min(1).optional(),
})

const Wait = z.strictObject({
  type: z.literal('wait'),
  ...common,
  durationMs: Milliseconds.optional(),
  untilTimestamp: z.iso.datetime({ offset: true }).optional(),
  retry: Retry.optional(),
})

const Signal = z.strictObject({
  type: z.literal('signal'),
  ...common,
  signal: Name.optional(),
  timeoutMs: Milliseconds.optional(),
})
const Child = z.strictObject({ type: z.literal('workflow'), ...common, ...config, workflow: Name })
const Each = z.strictObject({
  type: z.literal('map'),
  ...common,
  ...config,
  items: Expression,
  handler: Name,
  concurrency: z.int().min(1).optional(),
  tolerate: z.int().min(0).optional(),
  retry: Retry.optional(),
  timeoutMs: Milliseconds.optional(),
})
const Branch = z.strictObject({
  type: z.literal('branch'),
  ...common,
  condition: Expression,
  ifTrue: z.array(Name),
  ifFalse: z.array(Name).optional(),
})

export const Step = z.discriminatedUnion('type', [Task, Wait, Signal, Child, Each, Branch])

export const Definition = z.strictObject({
  name: Name,
  version: z.union([z.string().min(1).max(100), z.int().min(1)]).optional(),
  steps: z.array(Step).min(1).max(MOST_STEPS),
})

export type Step = z.infer<typeof Step>
export type Definition = z.infer<typeof Definition>

/** For editors. */
export const definitionJsonSchema = (): object => z.toJSONSchema(Definition, { io: 'input' })
