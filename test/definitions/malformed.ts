import * as fc from 'fast-check'

/** What the definitions below may call. */
export const HANDLERS = ['h']

const json = fc.jsonValue()
const step = fc.record(
  {
    type: fc.constantFrom('task', 'wait', 'signal', 'workflow', 'map', 'branch', 'x'),
    name: fc.oneof(fc.string(), json),
    after: json,
    handler: json,
    durationMs: json,
    config: json,
  },
  { requiredKeys: [] },
)

const notAVersion = fc.constantFrom(null, {}, [], 0, -1, 1.5, true, '')
const garbage = fc.oneof(
  json.filter((value) => typeof value !== 'object' || value === null || Array.isArray(value) || !('steps' in value)),
  fc.record({ steps: fc.array(fc.oneof(step, json), { maxLength: 8 }), version: notAVersion }),
)

type Steps = Record<string, unknown>[]
const chain = (length: number): Steps =>
  Array.from({ length }, (_, i) => ({ type: 'task', name: `s${i}`, handler: 'h', after: i === 0 ? [] : [`s${i - 1}`] }))

/** Each spoils a chain of steps, at least two, that would be fine without it. */
const DEFECTS: ((steps: Steps, at: number) => void)[] = [
  (steps) => (steps[0]!.after = `s${steps.length - 1}`),
  (steps, at) => (steps[at]!.after = ['nobody']),
  (steps, at) => (steps[at]!.name = steps[(at + 1) % steps.length]!.name),
  (steps, at) => (steps[at]!.handler = 'unknown'),
  (steps, at) => (steps[at]!.lambda = 'as-well'),
  (steps, at) => delete steps[at]!.handler,
  (steps, at) => (steps[at]!.name = 'x'.repeat(101)),
  (steps, at) => (steps[at]!.name = '__proto__'),
  (steps, at) => (steps[at]!.config = { deep: ['{{ 1 + }}'] }),
  (steps, at) => (steps[at]!.timeoutMs = 366 * 86_400_000),
  (steps, at) => (steps[at] = { type: 'wait', name: 'w', after: [] }),
  (steps, at) => (steps[at] = { type: 'wait', name: 'w', durationMs: 0, after: [] }),
  (steps, at) => (steps[at] = { type: 'wait', name: 'w', untilTimestamp: 'tomorrow', after: [] }),
  (steps, at) => (steps[at] = { type: 'branch', name: 'b', condition: ')(', ifTrue: [], after: [] }),
  (steps, at) => (steps[at] = { type: 'branch', name: 'b', condition: 'true', ifTrue: ['nobody'], after: [] }),
  (steps, at) => (steps[at] = { type: 'workflow', name: 'c', workflow: 'unknown', after: [] }),
  (steps, at) => (steps[at] = { type: 'map', name: 'm', handler: 'h', items: '[1', after: [] }),
]

const spoilt = fc
  .tuple(fc.integer({ min: 2, max: 6 }), fc.nat(5), fc.constantFrom(...DEFECTS))
  .map(([length, at, spoil]) => {
    const steps = chain(length)
    spoil(steps, at % length)
    return { steps }
  })

/** JSON that is no definition: garbage of all sorts, and definitions with one thing wrong. None has a name. */
export const malformedDefinition: fc.Arbitrary<unknown> = fc.oneof(garbage, spoilt)
