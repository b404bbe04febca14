/**
 * Pieces of DynamoDB expressions, each with the values it needs. In all of them `#name` stands for the attribute
 * `name`, so words that DynamoDB reserves need no thought.
 */
export interface Expression {
  text: string
  values?: Record<string, unknown>
}

export function all(...parts: Expression[]): Expression {
  return join(parts, ' AND ')
}

export function any(...parts: Expression[]): Expression {
  return join(parts, ' OR ')
}

/** There is an item, or there is none. */
export const absent: Expression = { text: 'attribute_not_exists(#pk)' }
export const exists: Expression = { text: 'attribute_exists(#pk)' }

/** Sets the attributes that have a value and removes those that are undefined; `computed` are further SET clauses. */
export function change(attributes: Record<string, unknown>, ...computed: Expression[]): Expression {
  const names = Object.keys(attributes)
  const set = [
    ...names.filter((name) => attributes[name] !== undefined).map((name) => `#${name} = :set_${name}`),
    ...computed.map(({ text }) => text),
  ]
  const remove = names.filter((name) => attributes[name] === undefined).map((name) => `#${name}`)
  const values = Object.fromEntries(
    names.filter((name) => attributes[name] !== undefined).map((name) => [`:set_${name}`, attributes[name]]),
  )
  const text = `${set.length > 0 ? `SET ${set.join(', ')}` : ''}${remove.length > 0 ? ` REMOVE ${remove.join(', ')}` : ''}`
  return { text, values: Object.assign(values, ...computed.map((part) => part.values)) }
}

/** What a request needs to carry beside the texts of its expressions. */
export function namesAndValues(...parts: (Expression | undefined)[]): {
  ExpressionAttributeNames?: Record<string, string>
  ExpressionAttributeValues?: Record<string, unknown>
} {
  const names: Record<string, string> = {}
  for (const part of parts)
    for (const [placeholder] of part?.text.matchAll(/#\w+/g) ?? []) names[placeholder] = placeholder.slice(1)
  const values: Record<string, unknown> = Object.assign({}, ...parts.map((part) => part?.values))
  return {
    ...(Object.keys(names).length > 0 && { ExpressionAttributeNames: names }),
    ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: values }),
  }
}

function join(parts: Expression[], word: string): Expression {
  return {
    text: parts.map(({ text }) => `(${text})`).join(word),
    values: Object.assign({}, ...parts.map(({ values }) => values)),
  }
}
