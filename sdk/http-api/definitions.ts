import type { Definition as DefinitionData } from '../definitions/schema.ts'
import { ProblemItem } from './errors.ts'
import {
  anObject,
  fitting,
  listOf,
  maybe,
  named,
  noted,
  object,
  query,
  type Shape,
  type Shaped,
  text,
  time,
  whole,
} from './kit.ts'

/** Stored definitions. What a definition may have in it says `definitions/schema.ts`. */

export const Definition = named(
  'Definition',
  noted(anObject, 'Its JSON Schema is at /definitions/schema.json.'),
) as unknown as Shape<DefinitionData>

export const SavedDefinition = named(
  'SavedDefinition',
  object({ name: text, version: whole, createdAt: time, warnings: listOf(ProblemItem) }),
)
export type SavedDefinitionJson = Shaped<typeof SavedDefinition>

export const CheckedDefinition = named('CheckedDefinition', object({ name: text, warnings: listOf(ProblemItem) }))
export type CheckedDefinitionJson = Shaped<typeof CheckedDefinition>

export const StoredDefinition = named(
  'StoredDefinition',
  object({ name: text, version: whole, createdAt: time, definition: Definition }),
)
export type StoredDefinitionJson = Shaped<typeof StoredDefinition>

const Summary = object({
  name: text,
  version: noted(whole, 'The latest.'),
  label: maybe(text),
  createdAt: time,
  updatedAt: time,
})
export type DefinitionSummaryJson = Shaped<typeof Summary>
export const Definitions = named('Definitions', object({ definitions: listOf(Summary) }))
export type DefinitionsJson = Shaped<typeof Definitions>

export const PutQuery = query({
  check: maybe(
    fitting<'true' | 'false'>((value) => value === 'true' || value === 'false', 'must be true or false', {
      type: 'boolean',
      description: 'Saves nothing, and only says what is wrong with it.',
    }),
  ),
})

export const VersionQuery = query({
  version: maybe(
    fitting<string>((value) => /^[1-9]\d{0,9}$/.test(String(value)), 'must be a whole number from 1', {
      type: 'integer',
      minimum: 1,
      description: 'Default: the latest.',
    }),
  ),
})
