import { deepStrictEqual } from 'node:assert'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { InvalidInputError } from '../../sdk/base/errors.ts'
import type { Json } from '../../sdk/base/json.ts'
import { decode, decodeUncoded, encode, encodePlain } from '../../sdk/base/values.ts'
import { amount } from '../outside/amount.ts'
import { anyValue } from './arbitrary-values.ts'

const throughStore = (value: unknown): unknown => {
  const json = encode(value, 'x')
  return decode(json === undefined ? undefined : (JSON.parse(JSON.stringify(json)) as Json))
}

describe('values', () => {
  it('come back as they were', () => {
    fc.assert(
      fc.property(anyValue(), (value) => {
        // Not vitest's own, which takes a property named `constructor` for a class.
        deepStrictEqual(throughStore(value), value)
      }),
      { numRuns: amount({ few: 1_000, many: 10_000 }) },
    )
  })

  it('that are JSON are stored as they are, byte for byte', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        const json = JSON.parse(JSON.stringify(value)) as Json
        fc.pre(!/"~/.test(JSON.stringify(json)))
        expect(JSON.stringify(encode(json, 'x'))).toBe(JSON.stringify(json))
        expect(JSON.stringify(decode(json))).toBe(JSON.stringify(json))
      }),
      { numRuns: 2_000 },
    )
  })

  it.each<[unknown, string]>([
    [new Date(0), '{"~date":"1970-01-01T00:00:00.000Z"}'],
    [new Date(Number.NaN), '{"~date":null}'],
    [12n, '{"~bigint":"12"}'],
    [-0, '{"~number":"-0"}'],
    [Number.NaN, '{"~number":"NaN"}'],
    [new Map([['a', new Set([1])]]), '{"~map":[["a",{"~set":[1]}]]}'],
    [[undefined], '[{"~undefined":true}]'],
    [new URL('https://example.com/a?b=c'), '{"~url":"https://example.com/a?b=c"}'],
    [/a\/b/gi, '{"~regexp":"/a\\\\/b/gi"}'],
    [new Uint8Array([1, 2, 255]), '{"~bytes":"AQL/"}'],
    [Buffer.from('hi'), '{"~buffer":"aGk="}'],
    [{ '~date': 'a date of mine' }, '{"~plain":{"~date":"a date of mine"}}'],
    [{ a: undefined, b: 1 }, '{"b":1}'],
  ])('%o can be read in a history', (value, json) => {
    expect(JSON.stringify(encode(value, 'x'))).toBe(json)
  })

  it('are errors too, with their fields, causes and the errors they stand for', () => {
    const cause = Object.assign(new RangeError('too far'), { at: new Date(5) })
    const error = Object.assign(new AggregateError([cause, new Error('b')], 'both', { cause }), {
      code: 'E_BOTH',
      tries: 3n,
    })
    const back = throughStore({ error }) as { error: AggregateError & { code: string; tries: bigint } }
    expect(back.error).toBeInstanceOf(AggregateError)
    expect(back.error).toMatchObject({ message: 'both', code: 'E_BOTH', tries: 3n })
    expect(back.error.cause).toBeInstanceOf(RangeError)
    expect(back.error.cause).toMatchObject({ message: 'too far', at: new Date(5) })
    expect(back.error.errors.map(({ message }: Error) => message)).toEqual(['too far', 'b'])
    expect(back.error.stack).toBe(error.stack)
  })

  it('are copies, whichever way they go', () => {
    const value = { list: [new Date(0)] }
    const json = encode(value, 'x')
    value.list[0]!.setTime(9)
    expect(decode(json)).toEqual({ list: [new Date(0)] })
    expect(decode(json)).not.toBe(decode(json))
  })

  it('that only look like ours are plain: their writer meant something else', () => {
    const lookalikes: Json[] = [
      { '~date': 5 },
      { '~date': 'the day after' },
      { '~map': [[1]] },
      { '~url': 'no url' },
      { '~regexp': '/(/' },
      { '~error': 'text' },
      { '~bigint': '1.5' },
      { '~unknown': 1 },
      { '~bytes': '%' },
      { '~coded': 1 },
      { a: [{ '~coded': 'not by a codec, which codes the whole' }] },
    ]
    for (const json of lookalikes) expect(decode(json)).toEqual(json)
  })

  it('that come from outside are never taken for what a codec made, wherever that is in them', () => {
    const lookalikes: Json[] = [
      { '~coded': 'x' },
      { '~set': [{ '~coded': 'x' }] },
      { '~error': { name: 'E', message: 'm', fields: { '~coded': 'x' } } },
    ]
    for (const sent of lookalikes) {
      const value = decodeUncoded(sent)
      expect(throughStore(value)).toEqual(value)
    }
    expect(() => decode({ '~coded': 'x' })).toThrow('encoded by a codec')
  })

  it('keep a key named __proto__ a key', () => {
    const hostile = JSON.parse('{"__proto__":{"isAdmin":true},"~x":1}') as Json
    const back = decode(encode(decode(hostile), 'x')) as Record<string, unknown>
    expect(Object.getPrototypeOf(back)).toBe(Object.prototype)
    expect(back.isAdmin).toBeUndefined()
    expect(JSON.stringify(back)).toBe(JSON.stringify(hostile))
  })
})

class Money {
  cents = 1
}
class Moment extends Date {}
class List extends Array<number> {}
const circle: Record<string, unknown> = {}
circle.self = circle
const deep = () => {
  let value: unknown = 1
  for (let i = 0; i < 1_100; i++) value = [value]
  return value
}

/** What holds itself. */
function within<T>(holder: T, put: (holder: T, it: T) => void): T {
  put(holder, holder)
  return holder
}

function fickle(): unknown {
  let times = 0
  return {
    get a() {
      return times++ === 0 ? () => 1 : 1
    },
  }
}

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

describe('what cannot be stored', () => {
  const refused: [unknown, string, string][] = [
    [() => {}, '$', 'a function cannot be stored; give the data that it works with instead'],
    [Symbol('s'), '$', 'a symbol cannot be stored; give a string instead'],
    [
      { items: [{ price: () => 1 }] },
      '$.items[0].price',
      'a function cannot be stored; give the data that it works with instead',
    ],
    [
      { 'odd key': { '1st': Symbol.iterator } },
      '$["odd key"]["1st"]',
      'a symbol cannot be stored; give a string instead',
    ],
    [circle, '$.self', 'it refers back to what it is in, and would have no end; give an id instead'],
    [
      new Money(),
      '$',
      'an instance of Money would lose its class; give a plain object, and make the instance of it where it is used',
    ],
    [
      new Moment(0),
      '$',
      'an instance of Moment would lose its class; give a plain object, and make the instance of it where it is used',
    ],
    [
      new List(),
      '$',
      'an instance of List would lose its class; give a plain object, and make the instance of it where it is used',
    ],
    [
      new Map([['a', new Money()]]),
      '$.values()[0]',
      'an instance of Money would lose its class; give a plain object, and make the instance of it where it is used',
    ],
    [new Set([Promise.resolve()]), '$.values()[0]', 'a Promise cannot be stored; await it'],
    [new Float64Array(1), '$', 'a Float64Array cannot be stored; store a Uint8Array of its bytes'],
    [new ArrayBuffer(1), '$', 'a ArrayBuffer cannot be stored; store a Uint8Array of its bytes'],
    [
      new WeakMap(),
      '$',
      'an instance of WeakMap would lose its class; give a plain object, and make the instance of it where it is used',
    ],
    [{ toJSON: () => 1 }, '$.toJSON', 'a function cannot be stored; give the data that it works with instead'],
  ]

  it.each<[string, () => unknown, string, string]>([
    [
      'a Map that is in itself',
      () => within(new Map(), (map, it) => map.set('a', it)),
      '$.values()[0]',
      'it refers back to what it is in',
    ],
    [
      'a Set that is in itself',
      () => within(new Set(), (set, it) => set.add(it)),
      '$.values()[0]',
      'it refers back to what it is in',
    ],
    ['a function in a list with holes', () => Object.assign([], { 2: () => 1 }), '$[2]', 'a function cannot be stored'],
    ['a getter that gives something else each time', fickle, '$', 'says something else each time it is read'],
    [
      'a getter that throws',
      () => ({
        a: {
          get b() {
            throw new Error('not now')
          },
        },
      }),
      '$.a',
      'it cannot be read: not now; give plain data instead',
    ],
    ['a proxy that was revoked', () => ({ a: revoked() }), '$.a', 'it cannot be read'],
    [
      'a BigInt that is too long',
      () => [10n ** 10_000n],
      '$[0]',
      'a BigInt of more than 10,000 digits cannot be stored',
    ],
    ['one below zero', () => [-(10n ** 10_000n)], '$[0]', 'a BigInt of more than 10,000 digits cannot be stored'],
    [
      'Maps in Maps',
      () => Array.from({ length: 400 }).reduce((inner) => new Map([['a', inner]]), 1),
      '$',
      'has too many levels',
    ],
  ])('%s is refused, and not by what goes wrong on the way', (_what, make, path, message) => {
    try {
      encode(make(), 'the result')
      expect.unreachable()
    } catch (error) {
      expect(error).toMatchObject({
        name: 'InvalidInputError',
        problems: [{ path, message: expect.stringContaining(message) }],
      })
    }
  })

  it('begins after the longest BigInt and the deepest Maps', () => {
    const longest = 10n ** 10_000n - 1n
    expect(throughStore([longest, -longest])).toEqual([longest, -longest])
    const maps = Array.from({ length: 300 }).reduce((inner) => new Map([['a', inner]]), 1)
    deepStrictEqual(throughStore(maps), maps)
  })

  it.each(refused)('%o is named, with its place and what to do', (value, path, message) => {
    const failing = () => encode(value, 'the result')
    expect(failing).toThrow('the result cannot be stored')
    try {
      failing()
    } catch (error) {
      expect((error as InvalidInputError).problems).toEqual([{ path, message }])
    }
  })

  it('is found wherever it is, 500 times', () => {
    const bad = refused.map(([value]) => value)
    fc.assert(
      fc.property(
        fc.constantFrom(...bad),
        fc.array(fc.oneof(fc.constant(0), fc.string(), fc.constant('map')), { maxLength: 8 }),
        (value, path) => {
          const hidden = path.reduce<unknown>(
            (inside, step) =>
              step === 0 ? [1, inside] : step === 'map' ? new Map([['k', inside]]) : { [step]: inside, other: 1 },
            value,
          )
          try {
            encode(hidden, 'it')
            expect.unreachable()
          } catch (error) {
            expect((error as InvalidInputError).problems[0]!.path).toMatch(/^\$/)
          }
        },
      ),
      { numRuns: 500 },
    )
  })

  it('is more than a thousand levels', () => {
    expect(() => encode(deep(), 'it')).toThrow('more than 1,000 levels')
  })
})

describe('for those who take JSON only', () => {
  it.each<[unknown, string]>([
    [new Date(0), 'its toISOString()'],
    [5n, 'a BigInt is no JSON; give a string'],
    [Number.NaN, 'NaN is no JSON and would become null'],
    [[undefined], 'undefined is no JSON and would become null'],
    [{ m: new Map() }, 'a Map is no JSON; give a plain object'],
  ])('%o is refused', (value, message) => {
    expect(() => encodePlain(value, 'the payload')).toThrow(message)
  })

  it('JSON is taken', () => {
    expect(encodePlain({ a: [1, null, 'x'], b: undefined }, 'x')).toEqual({ a: [1, null, 'x'] })
    expect(encodePlain(undefined, 'x')).toBeUndefined()
  })
})
