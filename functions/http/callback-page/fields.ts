import { pathStep } from '../../../sdk/base/json.ts'
import { jsonSchemaOf, type Schema } from '../../../sdk/base/schema.ts'
import { MisfitError, type Problem } from '../../../sdk/index.ts'
import type { Form } from '../form.ts'

/** What a person fills in. `json` is for whatever no single field can hold. */
export interface Field {
  name: string
  label: string
  hint?: string
  kind: 'text' | 'number' | 'choice' | 'json'
  /** `type` of the input, for texts that have a form of their own. */
  inputType?: 'text' | 'email' | 'url' | 'date' | 'time'
  choices?: readonly (string | number | boolean)[]
  isRequired: boolean
  /** What it shows at first. */
  initial?: string
}

/** A form is the fields of an object, or one field that is the whole answer. */
export interface FormShape {
  isWhole: boolean
  fields: Field[]
}

/**
 * The name of the field that is the whole answer, and of the one by which our own page is known, which may
 * have nothing else to say.
 */
export const WHOLE = 'result'
export const FROM_PAGE = '.page'

interface JsonSchema {
  type?: unknown
  title?: unknown
  description?: unknown
  format?: unknown
  enum?: unknown
  default?: unknown
  properties?: Record<string, JsonSchema>
  required?: unknown
}

const INPUT_TYPE: Record<string, Field['inputType']> = { email: 'email', uri: 'url', date: 'date', time: 'time' }

/** The form that a schema asks for; one field for JSON where it cannot be described. */
export function shapeOf(schema: Schema | undefined): FormShape {
  const described = jsonSchemaOf(schema) as JsonSchema | undefined
  if (!described)
    return { isWhole: true, fields: [{ name: WHOLE, label: 'Answer', kind: 'json', isRequired: schema !== undefined }] }
  if (described.type !== 'object' || !described.properties || Object.keys(described.properties).length === 0) {
    return { isWhole: true, fields: [fieldOf(WHOLE, described, true, 'Answer')] }
  }
  const required = new Set(Array.isArray(described.required) ? (described.required as string[]) : [])
  return {
    isWhole: false,
    fields: Object.entries(described.properties).map(([name, property]) => fieldOf(name, property, required.has(name))),
  }
}

function fieldOf(name: string, schema: JsonSchema, isRequired: boolean, fallback = name): Field {
  const { title, description, format } = schema
  const initial = schema.default === undefined ? undefined : textOf(schema.default)
  const field = {
    name,
    label: typeof title === 'string' ? title : fallback,
    ...(typeof description === 'string' && { hint: description }),
    ...(initial !== undefined && { initial }),
    isRequired: isRequired && initial === undefined,
  }
  if (isChoices(schema.enum)) return { ...field, kind: 'choice', choices: schema.enum }
  switch (schema.type) {
    case 'string':
      return { ...field, kind: 'text', inputType: INPUT_TYPE[String(format)] ?? 'text' }
    case 'number':
    case 'integer':
      return { ...field, kind: 'number' }
    case 'boolean':
      // Not a box to tick: a person who sends without looking at it would have said no.
      return { ...field, kind: 'choice', choices: [true, false] }
    default:
      return { ...field, kind: 'json' }
  }
}

const isChoices = (value: unknown): value is Field['choices'] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((each) => ['string', 'number', 'boolean'].includes(typeof each))

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/**
 * What was filled in, as the schema would have it. What is no number, or no choice, is left for the schema to
 * complain about.
 */
export function resultOf({ isWhole, fields }: FormShape, form: Form): unknown {
  const problems: Problem[] = []
  if (isWhole && form.has(WHOLE)) {
    const result = filledIn(fields[0]!, form.get(WHOLE), '$', problems)
    refuseIfAny(problems)
    return result
  }
  const known = new Map(isWhole ? [] : fields.map((field) => [field.name, field]))
  const names = new Set([...known.keys(), ...form.keys()].filter((name) => name !== FROM_PAGE))
  const entries = [...names].flatMap((name) => {
    const field = known.get(name)
    const value = field ? filledIn(field, form.get(name), `$${pathStep(name)}`, problems) : form.get(name)
    return value === undefined ? [] : [[name, value] as const]
  })
  refuseIfAny(problems)
  return isWhole && entries.length === 0 ? undefined : Object.fromEntries(entries)
}

function refuseIfAny(problems: readonly Problem[]): void {
  if (problems.length > 0)
    throw new MisfitError('the form cannot be read as it was filled in; the run waits on', problems)
}

/** A form of the user's own may have a box instead, which sends `on`. */
const isTicked = (choices: NonNullable<Field['choices']>, text: string): boolean =>
  text === 'on' && choices.includes(true)

function filledIn(
  { kind, choices, isRequired }: Field,
  text: string | undefined,
  path: string,
  problems: Problem[],
): unknown {
  if (text === undefined || (text === '' && !(kind === 'text' && isRequired))) return undefined
  if (kind === 'choice') return choices!.find((choice) => String(choice) === text) ?? (isTicked(choices!, text) || text)
  if (kind === 'number') return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text
  if (kind === 'text') return text
  try {
    return JSON.parse(text) as unknown
  } catch {
    problems.push({ path, message: 'is not JSON; write a text in quotes: "like this"' })
    return undefined
  }
}
