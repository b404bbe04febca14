import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CharacterSet } from '../../sdk/jsonata/regex/character-set.ts'
import { LinearRegex } from '../../sdk/jsonata/regex/linear-regex.ts'
import type { Range } from '../../sdk/jsonata/regex/syntax.ts'

/** Every match in order, with its groups. */
function matches(regex: { lastIndex: number; exec(text: string): RegExpExecArray | null }, text: string): unknown[] {
  const found: unknown[] = []
  regex.lastIndex = 0
  for (let match = regex.exec(text); match; match = regex.exec(text)) {
    found.push([match.index, ...match])
    if (match[0] === '') regex.lastIndex = match.index + 1
    if (regex.lastIndex > text.length) break
  }
  return found
}

const workFor = (regex: RegExp, text: string): number => {
  let work = 0
  new LinearRegex(regex, (more) => {
    work += more
  }).exec(text)
  return work
}

describe('regular expressions in one pass', () => {
  it.each([
    [/(\d{4})-(\d\d)-(\d\d)/g, 'from 2026-11-16 to 2027-01-02'],
    [/^\s*(?<key>[\w.-]+)\s*=\s*("[^"]*"|\S+)\s*$/gm, 'a.b = 1\nname = "x y"\nnone'],
    [/(a+)(b*?)(c|$)/g, 'aabbc ab'],
    [/\bfoo\b|\Bbar/g, 'foo foobar bar'],
    [/[^a-z\d]+/gi, 'ABC-def_1 2'],
    [/Ä|\xe9|\u00ff|[À-Ý]/gi, 'ä É ÿ à'],
    [/(?:(a)|b)*/g, 'ab'],
    [/(a*)*|x/g, 'b'],
    [/(a*)?/g, 'b'],
    [/(?:|a)+/g, 'aa'],
    [/x{2,3}?y{0}z{1,}/g, 'xxxzz xxz'],
    [/[\]\-\\^b]+|[a-]|[\w-.]|\cJ|[\b]/g, 'a-\\]^b\n\b.'],
    [/a{,2}|{|}/g, 'a{,2}'],
    [/\$1|\/|\./g, '$1/.'],
  ])('%s finds what JavaScript finds', (regex, text) => {
    expect(matches(new LinearRegex(regex), text)).toEqual(matches(regex, text))
  })

  it('finds what JavaScript finds, whatever the expression', () => {
    const { pattern } = fc.letrec((again) => ({
      atom: fc.oneof(
        {
          weight: 4,
          arbitrary: fc.constantFrom('a', 'b', 'c', '.', '[ab]', '[^a]', '\\w', '\\s', 'A', '-', 'σ', '[µǅ]', '[^ς]'),
        },
        { weight: 1, arbitrary: fc.constantFrom('^', '$', '\\b', '\\B') },
        { weight: 2, arbitrary: again('pattern').map((inner) => `(${inner})`) },
        { weight: 1, arbitrary: again('pattern').map((inner) => `(?:${inner})`) },
      ),
      piece: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        again('atom'),
        fc
          .tuple(again('atom'), fc.constantFrom('*', '+', '?', '*?', '+?', '??', '{2}', '{0,2}', '{1,3}?'))
          .map(([atom, times]) => (/^(\^|\$|\\[bB])$/.test(String(atom)) ? `(?:${atom})${times}` : `${atom}${times}`)),
      ),
      pattern: fc
        .array(
          fc.array(again('piece'), { maxLength: 3 }).map((pieces) => pieces.join('')),
          { minLength: 1, maxLength: 2 },
        )
        .map((branches) => branches.join('|')),
    }))
    fc.assert(
      fc.property(
        pattern as fc.Arbitrary<string>,
        fc.constantFrom('g', 'gi', 'gm'),
        fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'A', '-', '\n', 'σ', 'ς', 'Σ', 'μ', 'ǆ'), maxLength: 8 }),
        (source, flags, text) => {
          const regex = new RegExp(source || '(?:)', flags)
          expect(matches(new LinearRegex(regex), text)).toEqual(matches(regex, text))
        },
      ),
      { numRuns: 2_000 },
    )
  })

  it('ignores case as JavaScript does, for every character', () => {
    const all = String.fromCharCode(...Array.from({ length: 0x10000 }, (_, unit) => unit))
    for (const source of [
      '[σµǅſKßİıÅθΘϴ]',
      '[^σµǅſKßİı]',
      '[a-zα-ω]',
      '[^A-Z\\u0100-\\u0200]',
      '\\w',
      '\\W',
      '[\\W_]',
      '[\\u1c80-\\u1e9f\\u2c00-\\ua7ff]',
    ]) {
      const taken = (regex: { lastIndex: number; exec(text: string): unknown }): string[] =>
        [...all].filter((char) => {
          regex.lastIndex = 0
          return regex.exec(char) !== null
        })
      const regex = new RegExp(source, 'gi')
      expect(taken(new LinearRegex(regex))).toEqual(taken(regex))
    }
  })

  it('looks a character up in a set of many ranges without going through them', () => {
    let reads = 0
    const get = (range: Range, key: string | symbol): unknown => {
      reads++
      return Reflect.get(range, key)
    }
    const counted = (unit: number): Range => new Proxy<Range>([unit, unit], { get })
    const set = new CharacterSet(
      Array.from({ length: 1_900 }, (_, i) => counted(0x2100 + 3 * i)),
      false,
      true,
    )
    reads = 0
    expect([0x2103, 0x2104, 97].map((unit) => set.has(unit))).toEqual([true, false, false])
    expect(reads).toBe(0)
    expect(set.cost).toBeLessThan(5)
  })

  it('looks through nothing but texts, from their beginning on', () => {
    const regex = new LinearRegex(/a/g)
    for (const text of [1, null, undefined, { length: 5 }, ['a']]) expect(regex.exec(text)).toBe(null)
    regex.lastIndex = -1_000_000_000
    expect(regex.exec('ba')?.index).toBe(1)
  })

  it.each([/^(a+)+$/, /^(a|aa)+$/, /^(a|a?)+$/, /(.*)*b/, /^(([a-z])+.)+[A-Z]([a-z])+$/, /(a?){50}a{50}b/])(
    'does an amount of work for %s that grows with the text, and no faster',
    (regex) => {
      const [few, many] = [200, 2_000].map((length) => workFor(regex, `${'a'.repeat(length)}!`)) as [number, number]
      expect(many).toBeLessThan(few * 11)
    },
  )

  it.each([
    [/a(?=b)/, 'looks ahead or behind'],
    [/a(?!b)/, 'looks ahead or behind'],
    [/(?<=a)b/, 'looks ahead or behind'],
    [/(?<!a)b/, 'looks ahead or behind'],
    [/(a)\1/, 'refers back'],
    [/\k<x>(?<x>a)/, 'refers back'],
    [/((a{100}){100}){100}/, 'too large'],
    [/(?:(?:(?:){1000}){1000}){1000}/, 'too large'],
  ])('refuses %s', (regex, why) => {
    expect(() => new LinearRegex(regex)).toThrow(why)
  })
})
