import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import fc from 'fast-check'
import jsonata from 'jsonata'
import { describe, expect, it } from 'vitest'
import { findProblems } from '../../sdk/definitions/index.ts'
import { CHARGES } from '../../sdk/jsonata/bounded-functions.ts'
import { boundedJsonata } from '../../sdk/jsonata/bounded-jsonata.ts'
import { ExpressionBoundError } from '../../sdk/jsonata/expression-bounds.ts'

const BOUND = ' Let the expression do less, or do this in a handler or a worker'

const chance = { now: () => '1970-01-01T00:00:00.000Z', millis: () => 0, random: () => 0.3 }

const evaluate = (expression: string, input: unknown = null): Promise<unknown> =>
  boundedJsonata(expression).evaluate({ input, steps: {} }, chance)

const refusal = (expression: string, input?: unknown): Promise<unknown> =>
  evaluate(expression, input).then(
    (value) => `gave ${JSON.stringify(value)?.slice(0, 100)}`,
    (error: Error) => error,
  )

/** Applies `step` to `$x` so many times over. */
const again = (times: number, step: string, first = '1'): string =>
  `($f := function($n, $x) { $n = 0 ? $x : $f($n - 1, ${step}) }; $f(${times}, ${first}))`

/** `$x` is short, and long when it is written out. */
const GATHERED = '$v := $map([1..1000], function($i) { $i }); $big := {"v": $v}; $x := [1..9000].($big);'

/** Two texts that are the same and not one. */
const LONG = '$x := $pad("", 999999, "a"); $y := $pad("", 999999, "a");'

/** Each would take seconds, hours or gigabytes without bounds. */
const HOSTILE: [what: string, expression: string][] = [
  ['a text padded', '$length($pad("", 300000000))'],
  ['a text padded at the front', '$length($pad("", -300000000, "xy"))'],
  ['a padding function given on', '$map([300000000], $pad("", ?)) ~> $length()'],
  ['a padding function renamed', '($p := $pad; $length($p("", 3e8)))'],
  ['a text doubled', again(60, '$x & $x', '"ab"')],
  ['texts joined', '$length($join($map([1..1000], function() { $pad("", 100000) })))'],
  ['texts joined with a long one', '$length($join($split($pad("", 10000), ""), $pad("", 10000)))'],
  ['text replaced by longer text', '$length($replace($pad("", 1000000, "a"), "a", $pad("", 1000000, "b")))'],
  ['text replaced by many groups', '$length($replace($pad("", 100000, "a"), /a/, $pad("", 100000, "$9")))'],
  ['a range', '$count([1..9999999])'],
  ['a list doubled', again(60, '$append($x, $x)')],
  ['an object of itself twice', again(60, '{ "a": $x, "b": $x }')],
  ['such an object as text', `$length($string(${again(60, '{ "a": $x, "b": $x }')}))`],
  ['a list of itself twice', again(60, '[[$x], [$x]]')],
  ['a list in a list in a list', again(6000, '[[$x]]')],
  [
    'lists of large values gathered by a path',
    '($v := $map([1..1000], function($i) { $i }); $big := {"v": $v}; [1..9000].($big))',
  ],
  ['everything compared with everything', '$count($distinct([1..100000]))'],
  [
    'the same comparison many times',
    '($a := [1..10000]; $b := [1..10000]; $count($map([1..20000], function() { $a = $b })))',
  ],
  ['long texts compared many times', `(${LONG} $count($map([1..20000], function() { $x < $y })))`],
  ['long texts looked for many times', `(${LONG} $count($map([1..20000], function() { $x in [$y] })))`],
  ['long texts put in order many times', `(${LONG} $count($map([1..20000], function() { [$x, $y]^($) })))`],
  ['long texts sorted many times', `(${LONG} $count($map([1..20000], function() { $sort([$x, $y]) })))`],
  [
    'long texts told apart many times',
    `(${LONG} $count($distinct($map([1..100000], function($i) { $i % 2 = 0 ? $x : $y }))))`,
  ],
  ['long keys', `(${LONG} $count($map([1..20000], function($i) { { $x & $i: 1 } })))`],
  ['the same question many times', '($a := [1..100000]; $count($filter([1..20000], function() { $a })))'],
  ['a list made of one after the other', '$count($reduce([1..100000], $append))'],
  ['one large group', '$count([1..100000]{ "a": $ })'],
  ['a product of lists', '$count({ "a": [1..1000], "b": [1..1000] }.a@$x.b@$y)'],
  ['names in a date that could end anywhere', `$toMillis("${'a'.repeat(120)}!", "${'[F]a'.repeat(7)}")`],
  [
    'zones in a date, which have two parts each',
    `$toMillis("1y${`+${'1'.repeat(40)}x`.repeat(5)}!", "[Y]y[Z01?01]x[Z01?01]x[Z01?01]x[Z01?01]x[Z01?01]")`,
  ],
  ['fields of a date that could end anywhere', `$toMillis("${'1'.repeat(60)}x", "${'[f]'.repeat(30)}")`],
  ['a long picture', '$formatNumber(1, $pad("", 100000, "#"))'],
  ['a Roman number', '$formatInteger(1e15, "I")'],
  ['a long expression in an expression', '$eval($pad("", 900000, "(1)+"))'],
  ['an expression in itself without an end', '($e := "$eval($e)"; $eval($e))'],
  ['a list in an expression in an expression', '$eval("$eval(\\"$append([1..200000], [1..200000])\\")")'],
  ['a key that is no text and large', `(${GATHERED} { $x: 1 })`],
  ['what is no number and large, negated', `(${GATHERED} -$x)`],
  ['a recursion without an end', '($f := function($n) { 1 + $f($n + 1) }; $f(0))'],
  ['a loop without an end', '($f := function($n) { $f($n + 1) }; $f(0))'],
  [
    'a regular expression on one text many times',
    '($t := $pad("", 100000, "a"); $count($map([1..1000], function() { $contains($t, /(a|b)*c/) })))',
  ],
]

describe('an expression is bounded', () => {
  it.each(HOSTILE)('by count, and so always at the same place: %s', async (_what, expression) => {
    const refused = (await refusal(expression)) as Error
    expect(refused).toBeInstanceOf(ExpressionBoundError)
    expect(refused.message).toContain(BOUND)
    expect(await refusal(expression)).toEqual(refused)
  })

  it.each([
    [
      'of errors in expressions in expressions',
      '($f := function($n) { $n = 0 ? $error("\\"x") : $eval("$f(" & $string($n - 1) & ")") }; $f(40))',
    ],
    ['that asks for itself', '$error($pad("", 50000, "{{message}}"))'],
    ['of an assertion that asks for itself', '$assert(false, $pad("", 50000, "{{message}}"))'],
  ])('and so is a message: one %s', async (_what, expression) => {
    const { message } = (await refusal(expression)) as Error
    expect(message.length).toBeLessThan(200_000)
  })

  it('and an expression in an expression still says what is wrong with it', async () => {
    expect(await refusal('$eval("1 + \\"a\\"")')).toMatchObject({
      code: 'D3121',
      message: expect.stringContaining('must evaluate to a number'),
    })
    expect(await refusal('$eval("1 +")')).toMatchObject({
      code: 'D3120',
      message: expect.stringContaining('Unexpected end'),
    })
  })

  it.each([/^(a+)+$/, /^(a|a)*$/, /(.*)*x/])('and %s takes no longer than another', async (regex) => {
    expect(await evaluate(`$contains(input, ${regex})`, `${'a'.repeat(5_000)}!`)).toBe(false)
  })

  it('whatever it is made of', async () => {
    const { value } = fc.letrec((inner) => {
      const of = (make: (...parts: string[]) => string, parts = 1) =>
        fc.tuple(...Array.from({ length: parts }, () => inner('value'))).map((made) => make(...(made as string[])))
      return {
        value: fc.oneof(
          { maxDepth: 4, depthSize: 'medium' },
          fc.constantFrom('"ab"', '7', '100000', '[1..100000]', '$pad("x", 900000)', 'input', '{"a": [1, 2]}'),
          of((a, b) => `(${a} & ${b})`, 2),
          of((a, b) => `[${a}, [${b}]]`, 2),
          of((a, b) => `{"a": ${a}, "b": ${b}}`, 2),
          of((a, b) => `($x := ${a}; $map([1..1000], function($i) { [$x, $i, ${b}] }))`, 2),
          of((a) => `($x := ${a}; $reduce([1..30], function($a, $i) { {"l": $a, "r": $a} }, $x))`),
          of((a) => `$string(${a})`),
          of((a) => `$distinct(${a})`),
          of((a, b) => `$append(${a}, ${b})`, 2),
          of((a) => `$sort($string(${a}) ~> $split(""))`),
          of((a) => `$replace($string(${a}), /(a|1)*[^b]/, "$1$1")`),
          of((a, b) => `(${a}).(${b})`, 2),
          of((a, b) => `(${a})[$ = ${b}]`, 2),
          of((a) => `(${a}).**`),
          of((a) => `(${a}).*`),
        ),
      }
    })
    await fc.assert(
      fc.asyncProperty(value as fc.Arbitrary<string>, async (expression) => {
        const outcome = await refusal(expression, 'given')
        if (outcome instanceof ExpressionBoundError) expect(outcome.message).toContain(BOUND)
        expect(String(await refusal(expression, 'given'))).toBe(String(outcome))
      }),
      { numRuns: 20 },
    )
  })

  it('but may look through all of what it is given, however large that is, and hand it on', async () => {
    const items = Array.from({ length: 60_000 }, (_, id) => ({ id, text: 'x'.repeat(200) }))
    expect(await evaluate('$count(input[id >= 0].text)', items.slice(0, 20_000))).toBe(20_000)
    expect(await evaluate('$length($string(input))', items)).toBeGreaterThan(12_000_000)
    expect(await evaluate('{ "all": input, "count": $count(input) }.all[59999].id', items)).toBe(59_999)
  })
})

describe('a bounded expression gives what an unbounded one gives', () => {
  const input = {
    name: 'Ada Lovelace',
    tags: ['b', 'a', 'c'],
    lines: [
      { sku: 'x', price: 3, n: 2 },
      { sku: 'y', price: 5, n: 1 },
    ],
    at: '2026-11-16T10:00:00Z',
  }

  it.each([
    '$sum(lines.(price * n))',
    'lines{sku: $sum(price)}',
    'lines^(>price).sku',
    '$sort(tags)',
    '$sort(lines, function($a, $b) { $a.price < $b.price }).sku',
    '$map(tags, $uppercase)',
    '$map(tags, $pad(?, 3, "-"))',
    '$map(tags, function($v, $i, $a) { $v & $i & $count($a) })',
    '$filter(lines, function($l) { $l.price > 3 }).sku',
    '$reduce([1..5], function($a, $b) { $a * $b })',
    '$single(lines, function($l) { $l.n = 1 }).sku',
    '$replace(name, /(\\w+)\\s(\\w+)/, "$2, $1")',
    '$replace(name, /a/i, function($m) { "<" & $m.match & ">" })',
    '$replace(name, "a", "e", 1)',
    '$match(name, /[A-Z](\\w+)/).groups',
    '$split(at, /[-T:]/)',
    '$contains(name, /love/i)',
    '$string(lines, true)',
    '$eval("lines.price")',
    '$merge(lines) ~> $keys()',
    '$spread(lines[0])',
    '$toMillis("16/11/2026 10:30", "[D01]/[M01]/[Y0001] [H01]:[m01]")',
    '$toMillis("Mon, 16 Nov 2026 10:30:00 +0100", "[FNn,3-3], [D01] [MNn,3-3] [Y0001] [H01]:[m01]:[s01] [Z0000]")',
    '$toMillis("16 November 2026", "[D1] [MNn] [Y0001]")',
    '$toMillis("20261116103000123", "[Y0001][M01][D01][H01][m01][s01][f001]")',
    '$fromMillis(1794826800000, "[FNn], [D1o] [MNn] [Y]")',
    '$formatNumber(1234.5, "#,##0.00")',
    'lines.price ~> $max',
    '**.sku',
    '*[0]',
    'lines#$i[$i = 1].sku',
    'lines@$l.tags@$t.($l.sku & $t)',
    '($fact := function($n) { $n < 2 ? 1 : $n * $fact($n - 1) }; $fact(50))',
    '"b" in tags and $not($exists(none))',
  ])('%s', async (expression) => {
    const bounded = await boundedJsonata(expression).evaluate(input, chance)
    const unbounded: unknown = await jsonata(expression).evaluate(input)
    expect(JSON.stringify(bounded)).toBe(JSON.stringify(unbounded))
  })
})

describe('the bounds', () => {
  it('know every function there is', () => {
    const source = readFileSync(createRequire(import.meta.url).resolve('jsonata'), 'utf8')
    expect(Object.keys(CHARGES).sort()).toEqual(
      [...source.matchAll(/staticFrame\.bind\('(\w+)'/g)].map(([, name]) => name).sort(),
    )
  })

  it('are kept by dice that fall again as they fell', async () => {
    expect(await evaluate('$map([1, 2], $random)')).toMatchObject([0.3, 0.3])
    const shuffled = (await evaluate('$shuffle([1..9])')) as number[]
    expect(shuffled).not.toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect([...shuffled].sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(await evaluate('$shuffle([1..9])')).toEqual(shuffled)
  })

  it('refuse a regular expression that cannot be matched in one pass when the definition is checked', () => {
    const definition = {
      name: 'w',
      steps: [{ type: 'task', name: 's', lambda: 'f', config: { a: '{{ $match(input, /a(?=b)/) }}' } }],
    }
    expect(findProblems(definition, {})).toEqual([
      {
        path: '$.steps[0].config.a',
        message: expect.stringMatching(/the regular expression \/a\(\?=b\)\/ .*looks ahead or behind/),
      },
    ])
  })
})
