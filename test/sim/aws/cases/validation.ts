import { type Case, condition, inOtherWords, KEY, list, map, n, s, update } from './case.ts'

const item = { a: n(1), b: n(2) }
const v = { ':v': n(1) }

const placeholders: Case[] = [
  condition('a name that is used', item, '#a = :v', v, { '#a': 'a' }),
  condition('a name that is not given', item, '#a = :v', v),
  condition('a name that is not given, beside one that is', item, '#a = :v AND #b = :v', v, { '#b': 'a' }),
  condition('a name that is not used', item, 'a = :v', v, { '#a': 'a' }),
  condition('two names that are not used', item, 'a = :v', v, { '#a': 'a', '#b': 'b' }),
  condition('a value that is not given', item, 'a = :w', v),
  condition('a value when none are given', item, 'a = :w'),
  condition('a value that is not used', item, 'a = :v', { ...v, ':w': n(2) }),
  condition('two values that are not used', item, 'attribute_exists(a)', { ':w': n(2), ':x': n(2) }),
  condition('no names', item, 'a = :v', v, {}),
  condition('no values', item, 'attribute_exists(a)', {}),
  condition('a name without its sign', item, '#a = :v', v, { a: 'a' }),
  condition('a value without its sign', item, 'a = :v', { v: n(1) }),
  condition('a name with a dash', item, '#a-b = :v', v, { '#a-b': 'a' }),
  condition('a value with an underscore and digits', item, 'a = :is_1', { ':is_1': n(1) }),
  condition('an empty name', item, '#a = :v', v, { '#a': '' }),
  condition('the same value in two expressions', item, 'a = :v', v),
  { name: 'names without an expression', call: 'get', item, names: { '#a': 'a' } },
  { name: 'values without an expression', call: 'delete', item, values: v },
  { name: 'a put with values and no expression', call: 'put', put: item, values: v },
  { ...update('a value used in the condition alone', item, 'REMOVE a', v), condition: 'a = :v' },
  { ...update('a name used in the update alone', item, 'REMOVE #a', v, { '#a': 'a' }), condition: 'b <> :v' },
]

const syntax: Case[] = [
  condition('an empty condition', item, ''),
  condition('blanks alone', item, ' '),
  condition('no operand', item, 'a =', v),
  condition('no operator', item, 'a :v', v),
  condition('two operators', item, 'a = = :v', v),
  condition('C likes it', item, 'a == :v', v),
  condition('not equal as in C', item, 'a != :v', v),
  condition('a bracket too many', item, '(a = :v))', v),
  condition('a bracket too few', item, '((a = :v)', v),
  condition('a dangling AND', item, 'a = :v AND', v),
  condition('a leading AND', item, 'AND a = :v', v),
  condition('a lone attribute', item, 'a'),
  condition('a lone value', item, ':v', v),
  condition('a literal number', item, 'a = 1'),
  condition('a literal text', item, "a = '1'"),
  condition('an unknown function', item, 'exists(a)'),
  condition('a function in capitals', item, 'ATTRIBUTE_EXISTS(a)'),
  condition('a function with too few operands', item, 'contains(a)'),
  condition('a function with too many operands', item, 'attribute_exists(a, b)'),
  condition('a function without operands', item, 'attribute_exists()'),
  condition('attribute_exists of a value', item, 'attribute_exists(:v)', v),
  condition('attribute_not_exists of a value', item, 'attribute_not_exists(:v)', v),
  condition('size alone', item, 'size(a)'),
  condition('size of size', item, 'size(size(a)) = :v', v),
  condition('a function that only updates know', item, 'if_not_exists(a, :v) = :v', v),
  condition('plus', item, 'a + :v = :v', v),
  condition('comparison of comparisons', item, '(a = :v) = (b = :v)', v),
  condition('a function as an operand', item, 'a = attribute_exists(b)'),
  condition('the same operand twice', item, 'a = a'),
  condition('the same value twice', item, ':v = :v', v),
  condition('an index without a number', item, 'a[] = :v', v),
  condition('a negative index', item, 'a[-1] = :v', v),
  condition('an index by name', item, 'a[b] = :v', v),
  condition('a blank inside a path', { a: map({ b: n(1) }) }, 'a . b = :v', v),
  condition('a dot too many', item, 'a..b = :v', v),
  condition('a dot at the end', item, 'a. = :v', v),
  condition('an attribute that begins with a digit', item, '1a = :v', v),
  condition('an attribute that begins with an underscore', { _a: n(1) }, '_a = :v', v),
  condition('an attribute with a dash', item, 'a-b = :v', v),
  condition('a strange character', item, 'a = :v ; b', v),
  condition('a placeholder that is only a sign', item, '# = :v', v),
  condition('IN with a trailing comma', item, 'a IN (:v,)', v),
  condition('BETWEEN without AND', item, 'a BETWEEN :v', v),
  condition('NOT without an operand', item, 'NOT', v),
  condition('a condition that is an update', item, 'SET a = :v', v),
  update('an update that is a condition', item, 'a = :v AND b = :v', v),
]

/** Words that are reserved, and some that look as if they were. */
const words =
  'status name value key ttl type data order item life workflow version input output error parent tags progress wakeAt claim commit writer expiresAt epoch secret seed body at after delivery'
const reserved: Case[] = [
  ...words.split(' ').map((word) => condition('as an attribute', { [word]: n(1) }, `${word} = :v`, v)),
  condition('in capitals', item, 'STATUS = :v', v),
  condition('inside a path', { a: map({ status: n(1) }) }, 'a.status = :v', v),
  condition('by name', { status: n(1) }, '#s = :v', v, { '#s': 'status' }),
  update('in an update', item, 'SET status = :v', v),
  { name: 'in a projection', call: 'get', item, projection: 'status' },
]

/** 3 bytes for the list and one for each member; 3 + 1 + 1 + 1 for the map; 2 for each number. */
const containers = list(map({ m: n(1) }), ...Array.from({ length: 20 }, () => n(7)))

const key = (changes: Record<string, unknown>): Pick<Case, 'request'> => ({ request: { Key: { ...KEY, ...changes } } })
const mismatch = inOtherWords('The provided key element does not match the schema')
const keys: Case[] = [
  { name: 'no sort key', call: 'get', request: { Key: { pk: s('p') } }, ...mismatch },
  { name: 'no key', call: 'get', request: { Key: {} }, ...mismatch },
  { name: 'an attribute too many in the key', call: 'get', ...key({ z: s('x') }), ...mismatch },
  { name: 'a number as the key', call: 'get', ...key({ sk: n(1) }), ...mismatch },
  { name: 'an empty partition key', call: 'get', ...key({ pk: s('') }) },
  { name: 'an empty sort key', call: 'get', ...key({ sk: s('') }) },
  { name: 'an empty sort key in an update', call: 'update', ...key({ sk: s('') }) },
  { name: 'an empty sort key in a deletion', call: 'delete', ...key({ sk: s('') }) },
  { name: 'a partition key of 2048 bytes', call: 'get', ...key({ pk: s('x'.repeat(2048)) }) },
  {
    name: 'a partition key of 2049 bytes',
    call: 'get',
    ...key({ pk: s('x'.repeat(2049)) }),
    ...inOtherWords(
      'One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes',
    ),
  },
  { name: 'a sort key of 1024 bytes', call: 'get', ...key({ sk: s('é'.repeat(512)) }) },
  {
    name: 'a sort key of 1025 bytes',
    call: 'get',
    ...key({ sk: s(`${'é'.repeat(512)}x`) }),
    ...inOtherWords(
      'One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of 1024 bytes',
    ),
  },
  {
    name: 'a put without its sort key',
    call: 'put',
    request: { Item: { pk: s('p') } },
    ...inOtherWords('One or more parameter values were invalid: Missing the key sk in the item'),
  },
  {
    name: 'a put with a number as its key',
    call: 'put',
    request: { Item: { pk: s('p'), sk: n(1) } },
    ...inOtherWords('One or more parameter values were invalid: Type mismatch for key sk expected: S actual: N'),
  },
  { name: 'a put with an empty key', call: 'put', request: { Item: { pk: s('p'), sk: s('') } } },
  {
    name: 'a put with a number as the key of an index',
    call: 'put',
    put: { dueShard: n(1), dueKey: s('x') },
    ...inOtherWords(
      'One or more parameter values were invalid: Type mismatch for Index Key dueShard Expected: S Actual: N IndexName: due',
    ),
  },
  { name: 'a put with an empty key of an index', call: 'put', put: { dueShard: s('x'), dueKey: s('') } },
  { name: 'a put with half a key of an index', call: 'put', put: { dueShard: s('x') } },
  { name: 'a put with an empty attribute value', call: 'put', put: { a: {} as never } },
  { name: 'a put with nested values 32 deep', call: 'put', put: { a: nested(31) } },
  { name: 'a put with nested values 33 deep', call: 'put', put: { a: nested(33) } },
  {
    name: 'a table that is not there',
    call: 'get',
    request: { TableName: 'nowhere' },
    ...inOtherWords('Requested resource not found', 'ResourceNotFoundException'),
  },
  { name: 'an item of just under 400 KB', call: 'put', put: { a: s('x'.repeat(409_590)) } },
  { name: 'an item of 400 KB', call: 'put', put: { a: s('x'.repeat(409_593)) } },
  { name: 'an item of 400 KB in two-byte letters', call: 'put', put: { a: s('é'.repeat(204_797)) } },
  {
    name: 'an item with lists and maps of just 400 KB',
    call: 'put',
    put: { l: containers, a: s('x'.repeat(409_600 - 79)) },
  },
  {
    name: 'an item with lists and maps of 400 KB and a byte',
    call: 'put',
    put: { l: containers, a: s('x'.repeat(409_600 - 78)) },
  },
  {
    ...update('an update that makes the item too large', { a: s('x'.repeat(400_000)) }, 'SET b = :v', {
      ':v': s('x'.repeat(10_000)),
    }),
    returns: 'NONE',
  },
  {
    ...update(
      'an update that makes a list too large',
      { a: list(s('x'.repeat(250_000))) },
      'SET a = list_append(a, a)',
    ),
    returns: 'NONE',
  },
]

function nested(depth: number): ReturnType<typeof list> {
  return depth === 0 ? n(1) : list(nested(depth - 1))
}

export const VALIDATION: Case[] = [...placeholders, ...syntax, ...reserved, ...keys]
