import { pathStep } from '../../sdk/base/path-step.ts'
import type { Field, Shape } from './schema.ts'

/** The content of the fields, as it was typed: half a number is half a number. */
export type Draft = string | boolean | undefined | Draft[] | { [name: string]: Draft }

export interface FieldProblem {
  /** `$.address.street`, as the server names it. */
  path: string
  message: string
}

export function emptyDraft({ shape, initial }: Field): Draft {
  if (shape.kind === 'object') {
    const given = (initial ?? {}) as Record<string, unknown>
    return Object.fromEntries(
      shape.fields.map((field) => [
        field.name,
        emptyDraft(given[field.name] === undefined ? field : { ...field, initial: given[field.name] }),
      ]),
    )
  }
  if (shape.kind === 'list')
    return Array.isArray(initial) ? initial.map((each) => emptyDraft({ ...shape.item, initial: each })) : []
  if (shape.kind === 'json') return initial === undefined ? '' : JSON.stringify(initial, null, 2)
  if (shape.kind === 'choice')
    return initial === undefined ? (shape.values.length === 1 ? '0' : '') : String(shape.values.indexOf(initial))
  if (shape.kind === 'boolean') return typeof initial === 'boolean' ? String(initial) : ''
  return initial === undefined ? '' : String(initial)
}

/** The value of the fields; undefined for an empty one. All problems go to `problems`. */
export function filledIn(field: Field, draft: Draft, path: string, problems: FieldProblem[]): unknown {
  const wrong = (message: string) => void problems.push({ path, message })
  const { shape, isRequired } = field
  if (shape.kind === 'object') {
    // An optional group without any content is omitted, with its required fields.
    if (!isRequired && isUntouched(draft)) return undefined
    const given = (draft ?? {}) as { [name: string]: Draft }
    const entries = shape.fields.map(
      (each) => [each.name, filledIn(each, given[each.name], path + pathStep(each.name), problems)] as const,
    )
    const filled = entries.filter(([, value]) => value !== undefined)
    return Object.fromEntries(filled)
  }
  if (shape.kind === 'list') {
    const items = (draft as Draft[] | undefined) ?? []
    if (!isRequired && items.length === 0) return undefined
    return items.map((each, i) => filledIn(shape.item, each, path + pathStep(i), problems))
  }
  const text = String(draft ?? '')
  if (text.trim() === '') {
    if (isRequired && shape.kind !== 'json') wrong('is needed')
    return undefined
  }
  return READ[shape.kind](text, shape as never, wrong)
}

/** Nothing was typed into it, at any depth. */
function isUntouched(draft: Draft): boolean {
  if (typeof draft === 'object') return Object.values(draft).every(isUntouched)
  return draft === undefined || draft === false || (typeof draft === 'string' && draft.trim() === '')
}

type Read<K extends Shape['kind']> = (
  text: string,
  shape: Extract<Shape, { kind: K }>,
  wrong: (message: string) => void,
) => unknown

const READ: { [K in Exclude<Shape['kind'], 'object' | 'list'>]: Read<K> } = {
  boolean: (text) => text === 'true',
  choice: (text, { values }) => values[Number(text)],
  json(text, _shape, wrong) {
    try {
      return JSON.parse(text)
    } catch (error) {
      return wrong(`is not JSON: ${(error as Error).message}`)
    }
  },
  number(text, { isInteger, min, max }, wrong) {
    const value = Number(text)
    if (Number.isNaN(value)) return wrong('must be a number')
    if (isInteger && !Number.isInteger(value)) return wrong('must be a whole number')
    if (min !== undefined && value < min) return wrong(`must be at least ${min}`)
    if (max !== undefined && value > max) return wrong(`must be at most ${max}`)
    return value
  },
  text(text, { format, minLength, maxLength, pattern }, wrong) {
    if (minLength !== undefined && text.length < minLength) return wrong(`must have at least ${minLength} characters`)
    if (maxLength !== undefined && text.length > maxLength) return wrong(`must have at most ${maxLength} characters`)
    if (format === 'email' && !/^[^\s@]+@[^\s@]+$/.test(text)) return wrong('must be a mail address')
    if (format === 'uri' && !URL.canParse(text)) return wrong('must be an address such as https://example.com')
    if (format === 'date-time')
      return Number.isNaN(Date.parse(text)) ? wrong('must be a date and a time') : new Date(text).toISOString()
    if (pattern !== undefined && !fits(text, pattern)) return wrong(`must fit the pattern ${pattern}`)
    return text
  },
}

/** The server checks a pattern that this browser does not support. */
function fits(text: string, pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(text)
  } catch {
    return true
  }
}
