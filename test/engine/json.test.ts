import { describe, expect, it } from 'vitest'
import { canonicalJson, digestOf, pathStep } from '../../sdk/base/json.ts'

describe('a path', () => {
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
    const digests = [[], [1], [2], [1, 2], [2, 1], ['1'], [12]].map((items) => digestOf(items))
    expect(new Set(digests).size).toBe(digests.length)
  })

  it('is the same for good: journals have it', () => {
    expect(digestOf([1, { a: 'b' }])).toMatchInlineSnapshot(`"al2yqz1tlll1b"`)
  })

  it('is none where the items cannot be written down', () => {
    expect(digestOf([() => 1])).toBeUndefined()
  })
})
