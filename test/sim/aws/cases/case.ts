import type { AttributeValue, ReturnValue } from '@aws-sdk/client-dynamodb'

export type Attributes = Record<string, AttributeValue>

/** One call against a table, as data: what lies there before, and what is asked. */
export interface Case {
  name: string
  call: 'get' | 'put' | 'update' | 'delete' | 'query'
  /** The attributes of the item under `KEY` before the call, beside its key; undefined where there is none. */
  item?: Attributes
  /** Items of the same partition by sort key, for queries. */
  items?: Record<string, Attributes>
  /** What `put` puts, beside the key. */
  put?: Attributes
  condition?: string
  update?: string
  keys?: string
  filter?: string
  projection?: string
  names?: Record<string, string>
  values?: Attributes
  returns?: ReturnValue
  /** Further members of the request, or other ones. */
  request?: Record<string, unknown>
  /** Where DynamoDB Local is known to answer otherwise than AWS: what AWS says, and that is what is expected. */
  differs?: { why: string; error?: { name: string; message?: string }; output?: unknown }
}

/** The words are AWS's own; DynamoDB Local has others for the same refusal. */
export const inOtherWords = (message: string, name = 'ValidationException'): Pick<Case, 'differs'> => ({
  differs: { why: 'DynamoDB Local refuses it too, in other words', error: { name, message } },
})

export const PARTITION = 'p'
export const KEY: Attributes = { pk: { S: PARTITION }, sk: { S: 's' } }

export const s = (text: string): AttributeValue => ({ S: text })
export const n = (number: number | string): AttributeValue => ({ N: String(number) })
export const b = (text: string): AttributeValue => ({ B: new TextEncoder().encode(text) })
export const yes: AttributeValue = { BOOL: true }
export const no: AttributeValue = { BOOL: false }
export const nil: AttributeValue = { NULL: true }
export const list = (...members: AttributeValue[]): AttributeValue => ({ L: members })
export const map = (members: Attributes): AttributeValue => ({ M: members })
export const ss = (...members: string[]): AttributeValue => ({ SS: members })
export const ns = (...members: (number | string)[]): AttributeValue => ({ NS: members.map(String) })
export const bs = (...members: string[]): AttributeValue => ({
  BS: members.map((text) => new TextEncoder().encode(text)),
})

/** A deletion that says whether its condition holds. */
export function condition(
  name: string,
  item: Attributes | undefined,
  text: string,
  values?: Attributes,
  names?: Record<string, string>,
): Case {
  return {
    name: `${name}: ${text}`,
    call: 'delete',
    ...(item && { item }),
    condition: text,
    ...(values && { values }),
    ...(names && { names }),
  }
}

export function update(
  name: string,
  item: Attributes | undefined,
  text: string,
  values?: Attributes,
  names?: Record<string, string>,
): Case {
  return {
    name: `${name}: ${text}`,
    call: 'update',
    ...(item && { item }),
    update: text,
    ...(values && { values }),
    ...(names && { names }),
    returns: 'ALL_NEW',
  }
}
