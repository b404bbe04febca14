import type { Json } from '../../sdk/base/json.ts'
import { ERROR, PLAIN } from '../../sdk/base/values.ts'

/**
 * The errors among values, which are to keep to themselves where in the code they come from. What an object
 * of the user's says stays.
 */
export function withoutStacks(json: Json): Json {
  if (typeof json !== 'object' || json === null) return json
  if (Array.isArray(json)) return json.map(withoutStacks)
  const [[key, value] = [], another] = Object.entries(json)
  if (another === undefined && isObject(value)) {
    if (key === ERROR) return { [ERROR]: bare(value) }
    if (key === PLAIN) return { [PLAIN]: inEach(value) }
  }
  return inEach(json)
}

type JsonObject = { [key: string]: Json }

function bare({ stack: _, cause, errors, fields, ...rest }: JsonObject): JsonObject {
  return {
    ...rest,
    ...(isObject(cause) && { cause: bare(cause) }),
    ...(Array.isArray(errors) && { errors: errors.map((each) => (isObject(each) ? bare(each) : each)) }),
    ...(isObject(fields) && { fields: inEach(fields) }),
  }
}

const inEach = (object: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, withoutStacks(value)]))

const isObject = (json: Json | undefined): json is JsonObject =>
  typeof json === 'object' && json !== null && !Array.isArray(json)
