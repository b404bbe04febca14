import {
  among,
  anObject,
  fitting,
  flag,
  listOf,
  maybe,
  named,
  noted,
  object,
  oneOf,
  only,
  request,
  type Shaped,
  text,
  whole,
} from './kit.ts'

/** What there is here: workflows, and the API itself. And what an event did. */

const LISTED = { name: text, versions: listOf(whole), latest: whole }

export const Workflows = named('Workflows', object({ workflows: listOf(object(LISTED)) }))
export type WorkflowsJson = Shaped<typeof Workflows>

/** A workflow, and what it takes: JSON Schemas, where its own can be described. */
export const Workflow = named(
  'Workflow',
  object({
    ...LISTED,
    input: maybe(noted(anObject, 'A JSON Schema, where the workflow has a schema that can be described.')),
    output: maybe(noted(anObject, 'A JSON Schema.')),
    signals: listOf(object({ name: text, kind: among(['signal', 'request']), payload: maybe(anObject) })),
    isStored: maybe(noted(only(true), 'It is stored, and not in the code.')),
  }),
)
export type WorkflowJson = Shaped<typeof Workflow>

export const Health = named('Health', object({ status: only('ok') }))
export const JsonDocument = named('JsonDocument', noted(anObject, 'A document with a specification of its own.'))

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)

export const EventRequest = request('EventRequest', {
  mapping: fitting<string | Record<string, unknown>>(
    (value) => typeof value === 'string' || isObject(value),
    'must be the name of a mapping, or one: { kind: "start", workflow, id, input }',
    { anyOf: [{ type: 'string' }, { type: 'object' }] },
  ),
  event: fitting<Record<string, unknown>>(isObject, 'must be an object, as mappings see it', { type: 'object' }),
})

export const EventTaken = named(
  'EventTaken',
  oneOf([
    object({ kind: only('start'), runId: text, created: flag }),
    object({ kind: only('signal'), runId: text, accepted: flag }),
    object({ kind: only('cancel'), runId: text }),
  ]),
)
