import { b, bs, type Case, condition, list, map, n, nil, no, ns, s, ss, yes } from './case.ts'

/** One value of each type, and another that sorts behind it where the type has an order. */
const OF_TYPE = {
  S: [s('apple'), s('pear')],
  N: [n(9), n(10)],
  B: [b('apple'), b('pear')],
  BOOL: [no, yes],
  NULL: [nil, nil],
  L: [list(n(1)), list(n(1), n(2))],
  M: [map({ a: n(1) }), map({ a: n(2) })],
  SS: [ss('a'), ss('a', 'b')],
  NS: [ns(1), ns(1, 2)],
  BS: [bs('a'), bs('a', 'b')],
} as const
type Type = keyof typeof OF_TYPE
const TYPES = Object.keys(OF_TYPE) as Type[]

const COMPARATORS = ['=', '<>', '<', '<=', '>', '>=']

/** Every comparator on every type, with the smaller, the same and the greater value. */
const sameType: Case[] = TYPES.flatMap((type) =>
  COMPARATORS.flatMap((comparator) => {
    const [low, high] = OF_TYPE[type]
    return [
      condition(`${type} beside a greater one`, { a: low }, `a ${comparator} :v`, { ':v': high }),
      condition(`${type} beside an equal one`, { a: low }, `a ${comparator} :v`, { ':v': low }),
      condition(`${type} beside a smaller one`, { a: high }, `a ${comparator} :v`, { ':v': low }),
    ]
  }),
)

const otherTypes: Case[] = COMPARATORS.flatMap((comparator) => [
  condition('a string beside a number', { a: s('9') }, `a ${comparator} :v`, { ':v': n(9) }),
  condition('nothing beside a number', { b: n(9) }, `a ${comparator} :v`, { ':v': n(9) }),
  condition('no item at all', undefined, `a ${comparator} :v`, { ':v': n(9) }),
  condition('two attributes', { a: n(1), b: n(2) }, `a ${comparator} b`),
  condition('an attribute beside nothing', { a: n(1) }, `a ${comparator} b`),
  condition('nothing beside nothing', { c: n(1) }, `a ${comparator} b`),
  condition('two values', { a: n(1) }, `:v ${comparator} :w`, { ':v': n(1), ':w': n(2) }),
  condition('a list beside a map', { a: list() }, `a ${comparator} b`),
])

const functions: Case[] = [
  ...TYPES.flatMap((type) => [
    condition(`the type of ${type}`, { a: OF_TYPE[type][0] }, 'attribute_type(a, :t)', { ':t': s(type) }),
    condition(`the type of ${type} is not S or is`, { a: OF_TYPE[type][0] }, 'attribute_type(a, :t)', { ':t': s('S') }),
    condition(`size of ${type}`, { a: OF_TYPE[type][1] }, 'size(a) >= :v', { ':v': n(2) }),
    condition(`${type} begins with itself`, { a: OF_TYPE[type][1] }, 'begins_with(a, :v)', { ':v': OF_TYPE[type][1] }),
    condition(`${type} contains its like`, { a: OF_TYPE[type][1] }, 'contains(a, :v)', { ':v': OF_TYPE[type][0] }),
  ]),
  condition('there', { a: n(1) }, 'attribute_exists(a)'),
  condition('not there', { a: n(1) }, 'attribute_exists(b)'),
  condition('there', { a: n(1) }, 'attribute_not_exists(a)'),
  condition('not there', { a: n(1) }, 'attribute_not_exists(b)'),
  condition('NULL is there', { a: nil }, 'attribute_exists(a)'),
  condition('nested, there', { a: map({ b: list(n(1), n(2)) }) }, 'attribute_exists(a.b[1])'),
  condition('nested, behind the end', { a: map({ b: list(n(1), n(2)) }) }, 'attribute_exists(a.b[2])'),
  condition('nested, in a scalar', { a: n(1) }, 'attribute_exists(a.b)'),
  condition('index of a map', { a: map({ b: n(1) }) }, 'attribute_exists(a[0])'),
  condition('member of a list', { a: list(n(1)) }, 'attribute_exists(a.b)'),
  condition('no item', undefined, 'attribute_not_exists(pk)'),
  condition('no item', undefined, 'attribute_exists(pk)'),
  condition('of nothing', { b: n(1) }, 'attribute_type(a, :t)', { ':t': s('S') }),
  condition('no such type', { a: n(1) }, 'attribute_type(a, :t)', { ':t': s('X') }),
  condition('type not a string', { a: n(1) }, 'attribute_type(a, :t)', { ':t': n(1) }),
  {
    ...condition('type from a path', { a: n(1), b: s('N') }, 'attribute_type(a, b)'),
    differs: {
      why: 'DynamoDB Local lists the types of another database in its words',
      error: { name: 'ValidationException' },
    },
  },
  condition('of a value', { a: n(1) }, 'attribute_type(:v, :t)', { ':v': n(1), ':t': s('N') }),
  condition('prefix', { a: s('apple pie') }, 'begins_with(a, :v)', { ':v': s('apple') }),
  condition('not the prefix', { a: s('apple pie') }, 'begins_with(a, :v)', { ':v': s('pie') }),
  condition('prefix of another type', { a: s('1') }, 'begins_with(a, :v)', { ':v': b('1') }),
  condition('prefix of nothing', { b: s('1') }, 'begins_with(a, :v)', { ':v': s('1') }),
  condition('prefix a number', { a: s('1') }, 'begins_with(a, :v)', { ':v': n(1) }),
  condition('empty prefix', { a: s('1') }, 'begins_with(a, :v)', { ':v': s('') }),
  condition('prefix from an attribute', { a: s('apple'), b: s('app') }, 'begins_with(a, b)'),
  condition('prefix of a value', { a: s('apple') }, 'begins_with(:v, a)', { ':v': s('apple pie') }),
  condition('part of a string', { a: s('apple pie') }, 'contains(a, :v)', { ':v': s('le p') }),
  condition('not part of a string', { a: s('apple pie') }, 'contains(a, :v)', { ':v': s('pear') }),
  condition('a number in a string', { a: s('a1') }, 'contains(a, :v)', { ':v': n(1) }),
  condition('part of binary', { a: b('apple pie') }, 'contains(a, :v)', { ':v': b('le p') }),
  condition('member of a set', { a: ss('x', 'y') }, 'contains(a, :v)', { ':v': s('y') }),
  condition('not a member of a set', { a: ss('x', 'y') }, 'contains(a, :v)', { ':v': s('z') }),
  condition('number in a set of numbers', { a: ns(1, 2) }, 'contains(a, :v)', { ':v': n('2.0') }),
  condition('number in a set of strings', { a: ss('1') }, 'contains(a, :v)', { ':v': n(1) }),
  condition('set in a set', { a: ss('1', '2') }, 'contains(a, :v)', { ':v': ss('1') }),
  condition('member of a list', { a: list(n(1), s('x'), map({ b: n(1) })) }, 'contains(a, :v)', {
    ':v': map({ b: n('1.0') }),
  }),
  condition('not a member of a list', { a: list(n(1), s('x')) }, 'contains(a, :v)', { ':v': n(2) }),
  condition('part of a member of a list', { a: list(s('xyz')) }, 'contains(a, :v)', { ':v': s('y') }),
  condition('contains in a number', { a: n(11) }, 'contains(a, :v)', { ':v': n(1) }),
  condition('contains in nothing', { b: n(11) }, 'contains(a, :v)', { ':v': n(1) }),
  condition('contains of an attribute', { a: s('apple'), b: s('pp') }, 'contains(a, b)'),
  condition('contains with the same operand twice', { a: s('apple') }, 'contains(a, a)'),
  condition('contains in a value', { a: s('x') }, 'contains(:v, a)', { ':v': ss('x', 'y') }),
  condition('texts do not count in bytes', { a: s('é😀') }, 'size(a) = :v', { ':v': n(6) }),
  condition('one letter counts one', { a: s('é') }, 'size(a) = :v', { ':v': n(1) }),
  condition('a pair of surrogates counts two', { a: s('😀') }, 'size(a) = :v', { ':v': n(2) }),
  condition('size of nothing', { b: s('x') }, 'size(a) = :v', { ':v': n(0) }),
  condition('size of a value', { b: s('x') }, 'size(:v) = :w', { ':v': s('abc'), ':w': n(3) }),
  condition('size of a number', { a: n(100) }, 'size(a) = :w', { ':w': n(3) }),
  condition('size of a boolean', { a: yes }, 'size(a) = :w', { ':w': n(1) }),
  condition('size of a map', { a: map({ x: n(1), y: n(2), z: n(3) }) }, 'size(a) = :w', { ':w': n(3) }),
  condition('size in BETWEEN', { a: s('abc') }, 'size(a) BETWEEN :v AND :w', { ':v': n(3), ':w': n(4) }),
  condition('size in IN', { a: s('abc') }, 'size(a) IN (:v, :w)', { ':v': n(1), ':w': n(3) }),
  condition('size beside size', { a: s('abc'), b: s('abd') }, 'size(a) = size(b)'),
  condition('size beside a string', { a: s('abc') }, 'size(a) = :w', { ':w': s('3') }),
]

const between: Case[] = [
  condition('inside', { a: n(5) }, 'a BETWEEN :v AND :w', { ':v': n(1), ':w': n(9) }),
  condition('at the lower end', { a: n(1) }, 'a BETWEEN :v AND :w', { ':v': n(1), ':w': n(9) }),
  condition('at the upper end', { a: n(9) }, 'a BETWEEN :v AND :w', { ':v': n(1), ':w': n(9) }),
  condition('outside', { a: n(10) }, 'a BETWEEN :v AND :w', { ':v': n(1), ':w': n(9) }),
  condition('ends the wrong way round', { a: n(5) }, 'a BETWEEN :v AND :w', { ':v': n(9), ':w': n(1) }),
  condition('ends of two types', { a: n(5) }, 'a BETWEEN :v AND :w', { ':v': n(1), ':w': s('9') }),
  condition('ends of a type without order', { a: n(5) }, 'a BETWEEN :v AND :w', { ':v': yes, ':w': yes }),
  condition('another type', { a: s('5') }, 'a BETWEEN :v AND :w', { ':v': n(1), ':w': n(9) }),
  condition('of nothing', { b: n(5) }, 'a BETWEEN :v AND :w', { ':v': n(1), ':w': n(9) }),
  condition('of attributes', { a: n(5), b: n(4), c: n(6) }, 'a BETWEEN b AND c'),
  condition('of a value', { b: n(4), c: n(6) }, ':v BETWEEN b AND c', { ':v': n(5) }),
  condition('attributes the wrong way round', { a: n(5), b: n(6), c: n(4) }, 'a BETWEEN b AND c'),
  condition('NOT BETWEEN', { a: n(5) }, 'NOT a BETWEEN :v AND :w', { ':v': n(1), ':w': n(9) }),
  condition('a NOT BETWEEN', { a: n(5) }, 'a NOT BETWEEN :v AND :w', { ':v': n(1), ':w': n(9) }),
  condition('of texts', { a: s('m') }, 'a BETWEEN :v AND :w', { ':v': s('a'), ':w': s('z') }),
]

const inList: Case[] = [
  condition('one of', { a: n(2) }, 'a IN (:v, :w)', { ':v': n(1), ':w': n(2) }),
  condition('none of', { a: n(3) }, 'a IN (:v, :w)', { ':v': n(1), ':w': n(2) }),
  condition('of other types', { a: n(3) }, 'a IN (:v, :w)', { ':v': s('3'), ':w': list(n(3)) }),
  condition('of nothing', { b: n(3) }, 'a IN (:v)', { ':v': n(3) }),
  condition('an attribute', { a: n(3), b: n(3) }, 'a IN (b, c)'),
  condition('itself', { a: n(3) }, 'a IN (a)'),
  condition('an empty list', { a: n(3) }, 'a IN ()'),
  condition('without brackets', { a: n(3) }, 'a IN :v', { ':v': n(3) }),
  condition('lists', { a: list(n(3)) }, 'a IN (:v)', { ':v': list(n(3)) }),
  condition('sets in another order', { a: ss('x', 'y') }, 'a IN (:v)', { ':v': ss('y', 'x') }),
  condition('not one of', { a: n(2) }, 'NOT (a IN (:v))', { ':v': n(1) }),
]

const item = { a: n(1), b: n(2), c: n(3) }
const values = { ':v': n(1) }
const logic: Case[] = [
  condition('AND', item, 'a = :v AND b = :v', values),
  condition('OR', item, 'a = :v OR b = :v', values),
  condition('NOT', item, 'NOT a = :v', values),
  condition('NOT NOT', item, 'NOT NOT a = :v', values),
  condition('AND binds tighter than OR', item, 'a = :v OR b = :v AND c = :v', values),
  condition('brackets', item, '(a = :v OR b = :v) AND c = :v', values),
  condition('NOT binds tighter than AND', item, 'NOT a = :v AND b = :v', values),
  condition('NOT binds tighter than OR', item, 'NOT a = :v OR a = :v', values),
  condition('brackets in brackets', item, '((NOT (a = :v)) OR (a = :v AND (b <> :v)))', values),
  condition('redundant brackets', item, '((a = :v))', values),
  condition('operands in brackets', item, '(a) = :v', values),
  condition('a value in brackets', item, 'a = (:v)', values),
  condition('words in small letters', item, 'a = :v and not b = :v or c = :v', values),
  condition('between in small letters', item, 'b between :v and c', values),
  condition('no blanks', item, 'a=:v AND(b<>:v)', values),
  condition('newlines and tabs', item, 'a\n=\t:v', values),
  condition('a missing attribute and NOT', item, 'NOT d = :v', values),
  condition('a missing attribute and <>', item, 'd <> :v', values),
  condition('attribute_exists is not compared', item, 'attribute_exists(a) = :v', values),
]

const numbers: Case[] = [
  condition('1 is 1.0', { a: n(1) }, 'a = :v', { ':v': n('1.00') }),
  condition('1e2 is 100', { a: n('1e2') }, 'a = :v', { ':v': n(100) }),
  condition('-0 is 0', { a: n('-0') }, 'a = :v', { ':v': n(0) }),
  condition('beyond doubles', { a: n('9007199254740993') }, 'a > :v', { ':v': n('9007199254740992') }),
  condition('38 digits', { a: n('12345678901234567890123456789012345678') }, 'a < :v', {
    ':v': n('12345678901234567890123456789012345679'),
  }),
  condition('39 digits', { a: n(1) }, 'a < :v', { ':v': n('123456789012345678901234567890123456789') }),
  condition('small against large', { a: n('1e-130') }, 'a < :v', {
    ':v': n('9.9999999999999999999999999999999999999e+125'),
  }),
  condition('too large', { a: n(1) }, 'a < :v', { ':v': n('1e126') }),
  condition('too small', { a: n(1) }, 'a < :v', { ':v': n('1e-131') }),
  condition('not a number', { a: n(1) }, 'a < :v', { ':v': n('one') }),
  condition('negative ones', { a: n(-10) }, 'a < :v', { ':v': n(-9) }),
  condition('negative fractions', { a: n('-0.5') }, 'a > :v', { ':v': n('-0.51') }),
  condition('sets of numbers', { a: ns(1, 2) }, 'a = :v', { ':v': ns('2.0', '1e0') }),
  condition('texts sort by their bytes', { a: s('Z') }, 'a < :v', { ':v': s('a') }),
  condition('texts sort by UTF-8, not by UTF-16', { a: s('\uffee') }, 'a < :v', { ':v': s('😀') }),
  condition('binary sorts unsigned', { a: { B: new Uint8Array([0x7f]) } }, 'a < :v', {
    ':v': { B: new Uint8Array([0x80]) },
  }),
]

export const CONDITIONS: Case[] = [
  ...sameType,
  ...otherTypes,
  ...functions,
  ...between,
  ...inList,
  ...logic,
  ...numbers,
]
