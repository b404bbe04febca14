import { describe, expect, it } from 'vitest'
import type { InvalidInputError } from '../../sdk/engine/errors.ts'
import { assertSurvivesJson, canonicalJson, digestOf, pathStep, survivesJson, throughJson } from '../../sdk/engine/json.ts'

class Money {
  cents = 1
}
const circle: Record<string, unknown> = {}
circle.self = circle
const shared = { a: 1 }

describe('what the journal can hold', () => {
  it.each([undefined, null, 'text', '', true, false, 0, -1.5, [], {}, [1, 'a', null], { a: { b: [true] } }, { a: undefined }, Object.create(null)])(
    '%j',
    (value) => {
      expect(() => assertSurvivesJson(value, 'x')).not.toThrow()
      expect(survivesJson(value)).toBe(true)
    },
  )

  it('the same object twice, as long as it is not inside itself', () => {
    expect(survivesJson([shared, shared, { again: shared }])).toBe(true)
  })
})

describe('what it cannot hold is named, with its place', () => {
  it.each<[unknown, string, string]>([
    [Number.NaN, '$', 'NaN would become null'],
    [Number.POSITIVE_INFINITY, '$', 'Infinity would become null'],
    [10n, '$', 'a BigInt; return it as a string'],
    [() => {}, '$', 'a function cannot be stored'],
    [Symbol('s'), '$', 'a symbol cannot be stored'],
    [[1, undefined], '$[1]', 'undefined in an array would become null'],
    [{ items: [{ price: 1n }] }, '$.items[0].price', 'a BigInt; return it as a string'],
    [{ 'odd key': { '1st': Number.NaN } }, '$["odd key"]["1st"]', 'NaN would become null'],
    [circle, '$.self', 'a circular reference'],
    [new Date(0), '$', 'a Date instance would lose its type; return its toISOString()'],
    [{ map: new Map() }, '$.map', 'a Map instance would lose its type; return a plain object'],
    [new Money(), '$', 'a Money instance would lose its type; return a plain object'],
    [Object.create(Object.create(null)), '$', 'a class instance would lose its type; return a plain object'],
    [{ toJSON: () => 1 }, '$', 'an object with toJSON would change its shape'],
  ])('%o', (value, path, message) => {
    expect(survivesJson(value)).toBe(false)
    const failing = () => assertSurvivesJson(value, 'the result')
    expect(failing).toThrow('the result does not survive JSON')
    try {
      failing()
    } catch (error) {
      expect((error as InvalidInputError).problems).toEqual([{ path, message }])
    }
  })

  it('names in a path are quoted where they are not plain', () => {
    expect([pathStep('a'), pathStep('_$9'), pathStep(3), pathStep('9a'), pathStep('a-b'), pathStep('')]).toEqual([
      '.a',
      '._$9',
      '[3]',
      '["9a"]',
      '["a-b"]',
      '[""]',
    ])
  })
})

describe('what a replay sees', () => {
  it('is a copy, without what JSON drops', () => {
    const value = { a: undefined, b: [1] }
    const copy = throughJson(value)
    expect(copy).toStrictEqual({ b: [1] })
    expect(copy.b).not.toBe(value.b)
  })

  it('is the value itself where there is nothing to copy, and JSON knows no -0', () => {
    for (const value of [undefined, null, 'a', 7, true]) expect(throughJson(value)).toBe(value)
    expect(Object.is(throughJson(-0), 0)).toBe(true)
  })
})

describe('the canonical text of data', () => {
  it('does not depend on the order of keys, and does on the order of lists', () => {
    expect(canonicalJson({ b: 1, a: { d: [2, 1], c: null } })).toBe('{"a":{"c":null,"d":[2,1]},"b":1}')
    expect(canonicalJson({ c: 1, a: 2, b: 3 })).toBe('{"a":2,"b":3,"c":1}')
    expect(canonicalJson(undefined)).toBe('null')
  })
})

describe('the digest of a list', () => {
  it('tells lists apart, and not the order of keys', () => {
    expect(digestOf([{ a: 1, b: 2 }])).toBe(digestOf([{ b: 2, a: 1 }]))
    const digests = [[], [1], [2], [1, 2], [2, 1], ['1'], [12]].map(digestOf)
    expect(new Set(digests).size).toBe(digests.length)
  })

  it('is the same for good: journals have it', () => {
    expect(digestOf([1, { a: 'b' }])).toMatchInlineSnapshot(`"al2yqz1tlll1b"`)
  })

  it('is none where the items cannot be written down', () => {
    expect(digestOf([1n])).toBeUndefined()
  })
})
