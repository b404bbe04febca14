/** What the parser makes of a text. Names and values are still placeholders: a text is parsed once and bound often. */

/** An attribute's name, `#name`, or an index. */
export type PathElement = string | number

export type Operand =
  | { kind: 'path'; elements: PathElement[] }
  | { kind: 'value'; name: string }
  | { kind: 'function'; name: string; operands: Operand[] }
  | { kind: 'sum'; operator: '+' | '-'; left: Operand; right: Operand }

export type Comparator = '=' | '<>' | '<' | '<=' | '>' | '>='

export type Condition =
  | { kind: 'and' | 'or'; left: Condition; right: Condition }
  | { kind: 'not'; of: Condition }
  | { kind: 'compare'; comparator: Comparator; left: Operand; right: Operand }
  | { kind: 'between'; of: Operand; low: Operand; high: Operand }
  | { kind: 'in'; of: Operand; list: Operand[] }
  | { kind: 'call'; name: string; operands: Operand[] }

export type Action =
  | { kind: 'SET'; path: PathElement[]; value: Operand }
  | { kind: 'REMOVE'; path: PathElement[] }
  | { kind: 'ADD' | 'DELETE'; path: PathElement[]; value: Operand }
