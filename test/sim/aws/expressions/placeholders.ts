import type { DynamoDBServiceException } from '@aws-sdk/client-dynamodb'
import { invalid } from '../errors.ts'
import type { Attributes } from '../values/attribute-value.ts'
import { normalize } from '../values/normalize.ts'
import { isReserved } from './reserved-words.ts'
import type { PathElement } from './syntax.ts'
import type { ExpressionKind } from './tokens.ts'

export interface Placeholders {
  ExpressionAttributeNames?: Record<string, string> | undefined
  ExpressionAttributeValues?: Attributes | undefined
}

/** The names and values of one request, and which of them its expressions have used: DynamoDB wants them all used. */
export class Scope {
  private readonly names: Record<string, string>
  private readonly values: Attributes
  private readonly usedNames = new Set<string>()
  private readonly usedValues = new Set<string>()

  constructor({ ExpressionAttributeNames: names, ExpressionAttributeValues: values }: Placeholders) {
    this.names = names ?? {}
    this.values = values ? normalValues(values) : {}
    if (names) checkNames(names)
  }

  path(kind: ExpressionKind, elements: readonly PathElement[]): PathElement[] {
    return elements.map((element) => (typeof element === 'number' ? element : this.name(kind, element)))
  }

  value(kind: ExpressionKind, placeholder: string): Attributes[string] {
    const value = this.values[placeholder]
    if (!value)
      throw error(
        kind,
        `An expression attribute value used in expression is not defined; attribute value: ${placeholder}`,
      )
    this.usedValues.add(placeholder)
    return value
  }

  private name(kind: ExpressionKind, element: string): string {
    if (!element.startsWith('#')) {
      if (isReserved(element)) throw error(kind, `Attribute name is a reserved keyword; reserved keyword: ${element}`)
      return element
    }
    const name = this.names[element]
    if (name === undefined)
      throw error(
        kind,
        `An expression attribute name used in the document path is not defined; attribute name: ${element}`,
      )
    this.usedNames.add(element)
    return name
  }

  /** Once all expressions of the request are bound. */
  refuseUnused(): void {
    refuseUnused('ExpressionAttributeNames', this.names, this.usedNames)
    refuseUnused('ExpressionAttributeValues', this.values, this.usedValues)
  }
}

export function error(kind: ExpressionKind, reason: string): DynamoDBServiceException {
  return invalid(`Invalid ${kind}: ${reason}`)
}

/** A request without expressions may bring none. `expressions` are those it could have had. */
export function refusePlaceholders(placeholders: Placeholders, expressions: readonly ExpressionKind[]): void {
  if (placeholders.ExpressionAttributeNames)
    throw invalid('ExpressionAttributeNames can only be specified when using expressions')
  if (!placeholders.ExpressionAttributeValues) return
  throw invalid(
    `ExpressionAttributeValues can only be specified when using expressions: ${expressions.map((one) => `${one} is null`).join(', ')}`,
  )
}

function refuseUnused(member: string, given: object, used: Set<string>): void {
  const names = Object.keys(given)
  if (used.size === names.length) return
  const unused = names.filter((name) => !used.has(name))
  throw invalid(`Value provided in ${member} unused in expressions: keys: {${unused.join(', ')}}`)
}

function checkNames(names: Record<string, string>): void {
  if (Object.keys(names).length === 0) throw invalid('ExpressionAttributeNames must not be empty')
  for (const key in names) {
    if (!/^#\w+$/.test(key)) throw invalid(`ExpressionAttributeNames contains invalid key: Syntax error; key: "${key}"`)
    if (names[key] === '')
      throw invalid(`ExpressionAttributeNames contains invalid value: Empty attribute name for key ${key}`)
  }
}

function normalValues(values: Attributes): Attributes {
  if (Object.keys(values).length === 0) throw invalid('ExpressionAttributeValues must not be empty')
  const normal: Attributes = {}
  for (const key in values) {
    if (!/^:\w+$/.test(key))
      throw invalid(`ExpressionAttributeValues contains invalid key: Syntax error; key: "${key}"`)
    try {
      normal[key] = normalize(values[key]!)
    } catch (reason) {
      throw invalid(`ExpressionAttributeValues contains invalid value: ${(reason as Error).message} for key ${key}`)
    }
  }
  return normal
}
