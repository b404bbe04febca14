import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { findProblems } from '../../sdk/definitions/index.ts'
import { boundedJsonata } from '../../sdk/jsonata/bounded-jsonata.ts'
import { evaluate } from '../../sdk/jsonata/evaluate.ts'
import { ExpressionBounds, MOST } from '../../sdk/jsonata/expression-bounds.ts'
import { deepSnapshot, INTRINSICS, reachable, SHARED } from './shared-state.ts'

const chance = { now: () => 0, random: () => 0.3 }
const INPUT =
  '{"items":[],"one":[{"a":1}],"list":[3,1,2],"o":{"x":{"y":1}},"s":"abc","__proto__":{"own":1},"then":"t","tupleStream":true,"@":1}'
const VICTIM =
  '[$sum(list), $uppercase(s), $string(o), $map(list, function($v) { $v * 2 }), $match(s, /B/i).match, $sort(list), $keys(o)]'

const rejections: unknown[] = []
const heard = (reason: unknown): void => void rejections.push(reason)
const OF_JAVASCRIPT = reachable(INTRINSICS)
let atFirst: string[]
beforeAll(() => {
  process.on('unhandledRejection', heard)
  atFirst = deepSnapshot([...SHARED, ...INTRINSICS])
})
afterAll(() => {
  process.off('unhandledRejection', heard)
  expect(deepSnapshot([...SHARED, ...INTRINSICS]).filter((line, i) => line !== atFirst[i])).toEqual([])
})

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** What it gives or why it fails, as text. JSONata waits for nothing, so after a turn of the event loop it has ended or never will. */
async function outcomeOf(expression: string, data: unknown): Promise<string> {
  let outcome = 'never ends'
  void evaluate(expression, data, chance).then(
    (value) => {
      outcome = JSON.stringify(value) ?? 'nothing'
    },
    (error: Error) => {
      outcome = `! ${error.message}`
    },
  )
  await turn()
  await turn()
  return outcome
}

/** Evaluates it, and says what is different from before. */
async function harmOf(expression: string): Promise<{ outcome: string; harm: unknown }> {
  const data: unknown = JSON.parse(INPUT)
  const victim = await outcomeOf(VICTIM, JSON.parse(INPUT))
  const steps = vi.spyOn(ExpressionBounds.prototype, 'step')
  rejections.length = 0
  const before = deepSnapshot([data, ...SHARED], OF_JAVASCRIPT)
  const outcome = await outcomeOf(expression, data)
  const after = deepSnapshot([data, ...SHARED], OF_JAVASCRIPT)
  const counted = steps.mock.calls.length
  steps.mockRestore()
  const changed = after.filter((line, i) => line !== before[i])
  return {
    outcome,
    harm: {
      ...(changed.length > 0 && { changed }),
      ...(rejections.length > 0 && { rejections: rejections.map(String) }),
      ...(outcome === 'never ends' && { outcome }),
      ...(counted > MOST.steps + 1 && { counted }),
      ...((await outcomeOf(VICTIM, JSON.parse(INPUT))) !== victim && { victim: 'gives something else' }),
      ...((await outcomeOf(expression, JSON.parse(INPUT))) !== outcome && {
        again: 'gives something else the second time',
      }),
    },
  }
}

/** Passes `argument` on raw: in the last call of a function JSONata does not wrap functions. */
const last = (call: string): string => `(function() { ${call} })()`
const members = (of: string): string => last(`$each(?, function($v, $k) { $k })(${of})`)

const TRANSFORMS = [
  '{"a":1} ~> |$sum|{"implementation": function($l){ 1000000 }}|',
  '{} ~> |$uppercase|{"x": {"loot": 1}}|',
  '($f := function($x){$x}; {} ~> |$f|{},["_jsonata_lambda"]|)',
  '$ ~> |$|{"__proto__":{"polluted":1}}|',
  '$ ~> |$.constructor.prototype|{"polluted":1}|',
  '($t := |o|{"y":2}|; $t($))',
  '$map([o], |x|{"y":2}|)',
  '$eval("$ ~> |o|{\\"y\\":2},[\\"x\\"]|")',
  '$eval("$eval(\\"{} ~> |$sum|{}|\\")")',
]

const HOSTILE = [
  // Writing to what it is given.
  'o()',
  'o.x(1, 2)',
  'one(1)',
  last('o()'),
  last('$.o.x()'),
  '$$()',
  '$()',
  'items{"k": 1}',
  'items{"k": $}',
  '$.items{a: $sum(b)}',
  'items[]',
  'list[]',
  '($){"a": 1}',
  '$$[true]{"@": 1}',
  '$${"k": 1}[]',
  'one@$x#$i[$i = 0].{"x": $x}',
  'list^($)#$i',
  'list[0]#$i[$i=0]',
  '$$[true][true]{"k": $}',
  '(items; $append(items, 1); items)',
  '$reduce([items, items], $append)',
  // Prototypes.
  '$.constructor',
  '"".constructor.prototype',
  '__proto__',
  '`__proto__`()',
  '$lookup($, "__proto__")',
  '$lookup({}, "constructor")',
  '{"__proto__": {"polluted": 1}}',
  '$merge([{"__proto__": {"polluted": 1}}, {}])',
  '$spread({"__proto__": {"polluted": 1}})',
  '$sift({"__proto__": {"polluted": 1}}, function() { true })',
  '$.{"constructor": {"prototype": {"polluted": 1}}}',
  '($__proto__ := {"polluted": 1}; $__proto__)',
  '$formatNumber(1, "0", {"__proto__": {"polluted": 1}, "zero-digit": "0"})',
  '$$.constructor.constructor("return 1")()',
  // Functions as objects.
  ...[
    '$sum',
    '$now',
    '$random',
    '$eval',
    'function($x){$x}',
    '$sum(?)',
    '/a/',
    '$string ~> $length',
    '$pad(?, 3)',
  ].flatMap((of) => [
    members(of),
    last(`$sift(?, function() { true })(${of})`),
    last(`$spread(${of})`),
    last(`$merge(?)([${of}])`),
    last(`$keys(${of})`),
    last(`$string([${of}])`),
    last(`$distinct([${of}, ${of}])`),
    `($f := ${of}; [$f.*, $f.**, $f.environment, $f.body, $f.implementation, $lookup($f, "environment")])`,
    `($f := ${of}; $spread([$f, {"f": $f}]))`,
    `($f := ${of}; $f[true].environment)`,
    `($f := ${of}; $f{"a": $})`,
    `($f := ${of}; $f@$v.$v.environment)`,
    `($f := ${of}; [$f] = [$f])`,
    `($f := ${of}; $f ~> $spread)`,
    `($f := ${of}; [$f, 1]^($))`,
  ]),
  'function($x){$x}[$each(?, function($v, $k) { $k })($)]',
  '(function(){ ($sum([1]))[ $each(?, function($v, $k) { $k })($) ] })()',
  'function($x){$x}{"a": $}',
  '$pad(?, 3)[true]',
  '$sum := function($l) { 7 }',
  '[$random := 1, $shuffle([1, 2, 3])]',
  '($e := $map([1, 2], function($x) { $x }); $eval("*", $e))',
  `($e := $map([1, 2], function($x) { $x }); ${members('$e')})`,
  '$eval("$keys(*)", $map([1, 2], function($x) { $x }))',
  '($p := $eval("*[$type($) = \\"function\\"]", $map([1, 2], function($x) { $x })); $p(1, 2, 3))',
  '($m := /a/("abab"); [$keys($m), $m.next(), $m.next.constructor])',
  '$replace("a", /a/, function($m) { $string($m.next) & $keys($m) })',
  // Functions that JavaScript would call.
  '{"then": /a/}',
  '[{"then": /a/}]',
  '(function($f) { {"then": $f} })(function($x) { 1 })',
  '(function($f) { {"then": $f} })(function($x) { $error("boom") })',
  '(function($f) { {"then": $f}[0] })(function($x) { $x(1) })',
  '(function($f) { $.{"then": $f} })(function($x) { 1 })',
  '(function($f) { one{"then": $f} })(function($x) { 1 })',
  '(function($f) { {$join(["th", "en"]): $f} })(function($x) { 1 })',
  '(function($f) { {"then": ($f)[0]} })(function($x) { 1 })',
  '(function($f) { $merge([{"then": $f}, {}]) })(function($x) { 1 })',
  '(function($f) { $f@$then[0] })(function($x) { $error("boom") })',
  '(function($f) { [$f, $f]@$then[0].$then })(function($x) { 1 })',
  '{"then": function($x) { $error("boom") }}',
  '{"then": $sum}',
  '{"next": function() { 1 }, "then": $now}',
  '/a/("abc").{"then": next}',
  '(function($f) { $map(?, ?)([1], {"apply": $f}) })(function($this) { $keys($this) })',
  '(function($f) { {"signature": {"validate": $f}}() })(function($a) { $error("boom") })',
  '(function($f) { {"toJSON": $f} })(function($a) { $error("boom") })',
  '(function($f) { /a/({"length": 5, "charCodeAt": $f}) })(function($a) { $error("boom") })',
  '$match("a", function($s) { {"match": "a", "start": 0, "end": 1, "groups": [], "next": function() { 1 }} })',
  '($n := function($s) { {"match": "a", "start": 0, "end": 1, "groups": [], "next": $n} }; $match("a", $n))',
  // Arguments that no signature has seen.
  last('$reverse(?)({"length": 300000000})'),
  last('$max(?)({"length": 100000000})'),
  last('$map(?, $sum)({"length": 100000000})'),
  last('$pad(?, ?)("x", 1e9)'),
  last('$join(?)({"join": 1})'),
  last('$zip(?)({"length": 1e9})'),
  '/a/(1)',
  '/a/({"length": 1e9})',
  '/a/("a", -1000)',
  '/a/("a", {"x": 1})',
  // Errors.
  '$error($)',
  '$assert(false, $string($))',
  '(null)()',
  '(1)()',
  'undefined()',
  last('(null)()'),
  '$eval("/(a)\\\\1/", "x")',
  '$eval("$sum.implementation")',
  '$eval("$eval")("$eval")',
]

describe('whatever an expression does ends with it', () => {
  it.each([...TRANSFORMS, ...HOSTILE])('%s', async (expression) => {
    expect((await harmOf(expression)).harm).toEqual({})
  })

  it('whatever it is made of', async () => {
    const { value } = fc.letrec((inner) => {
      const of = (make: (...parts: string[]) => string, parts = 1) =>
        fc.tuple(...Array.from({ length: parts }, () => inner('value'))).map((made) => make(...(made as string[])))
      return {
        value: fc.oneof(
          { maxDepth: 5, depthSize: 'medium' },
          fc.constantFrom(
            '$',
            '$$',
            'items',
            'one',
            'list',
            'o',
            's',
            '*',
            '**',
            '`__proto__`',
            '@',
            '$sum',
            '$now',
            '$each',
            '$eval',
            '$spread',
            '$merge',
          ),
          fc.constantFrom(
            'function($x){ $x }',
            'function($f){ $f($f) }',
            '$pad(?, 3)',
            '$append(?, $)',
            '{}',
            '[]',
            '"then"',
            '1',
            'null',
            '"*"',
          ),
          of((a) => `${last(`$each(?, function($v, $k){ $v })(${a})`)}`),
          of((a) => last(`$spread([${a}])`)),
          of((a) => last(`$sift(?, function(){ true })(${a})`)),
          of((a) => last(`$merge(?)([${a}])`)),
          of((a, b) => last(`(${a})(${b})`), 2),
          of((a, b) => `(${a})(${b})`, 2),
          of((a) => `($x := /[a-z]/; {"then": ${a}, "next": $x})`),
          of((a, b) => `(function($f){ {"then": $f, "apply": ${b}} })(${a})`, 2),
          of((a, b) => `(${a})[${b}]`, 2),
          of((a, b) => `(${a}){"k": ${b}, "then": $}`, 2),
          of((a, b) => `(${a})@$then#$i[0].(${b})`, 2),
          of((a, b) => `(${a})^(${b})#$i[true]`, 2),
          of((a, b) => `(${a}).(${b})`, 2),
          of((a, b) => `(${a}) ~> (${b})`, 2),
          of((a, b) => `$map(${a}, ${b})`, 2),
          of((a, b) => `$reduce(${a}, ${b})`, 2),
          of((a, b) => `$eval("*[$]", [${a}, ${b}])`, 2),
          of((a) => `{} ~> |${a}|{"x": 1}|`),
          of((a, b) => `($y := ${a}; $sum := ${b}; $y = $sum)`, 2),
        ),
      }
    })
    await fc.assert(
      fc.asyncProperty(value as fc.Arbitrary<string>, async (expression) => {
        expect((await harmOf(expression)).harm).toEqual({})
      }),
      { numRuns: 150, seed: 20_261_118 },
    )
  })

  it.each(TRANSFORMS)('and the transform operator is refused: %s', async (expression) => {
    expect((await harmOf(expression)).outcome).toContain('transform operator')
  })

  it('and the transform operator is refused when a definition is checked', () => {
    const definition = {
      name: 'w',
      steps: [{ type: 'task', name: 's', lambda: 'f', config: { a: '{{ $ ~> |input|{"a": 1}| }}' } }],
    }
    expect(findProblems(definition, {})).toEqual([
      { path: '$.steps[0].config.a', message: expect.stringContaining('transform operator') },
    ])
  })

  it('a function has no members', async () => {
    for (const of of ['$sum', 'function($x){$x}', '$pad(?, 3)', '$now'])
      expect((await harmOf(members(of))).outcome).toMatch(/^(nothing|! .*does not match)/)
    expect((await harmOf(last('$spread([$sum])'))).outcome).toBe('[]')
  })

  it('and no function comes in with the input', async () => {
    const forged = {
      big: Array.from({ length: 1_000 }, (_, i) => i),
      arguments: [],
      body: { type: 'value', value: 'forged' },
    }
    for (const flag of ['_jsonata_lambda', '_jsonata_function']) {
      const data = { f: { [flag]: true, ...forged }, note: { [flag]: 'only a text' } }
      expect(await outcomeOf('[$type(f), f.body.value, $lookup(note, $keys(note)[0])]', data)).toBe(
        '["object","forged","only a text"]',
      )
      expect(await outcomeOf('f(?)()', data)).toContain('partially apply a non-function')
      expect(await outcomeOf('f()', data)).toContain('invoke a non-function')
      expect(await outcomeOf('$map([1..20000], function() { f })', data)).toContain(
        'more than 5000000 items and characters',
      )
    }
  })

  it('a function cannot be a result', async () => {
    expect((await harmOf('$sum')).outcome).toContain('it gives a function')
    expect((await harmOf('{"f": function($x){$x}, "g": [$sum], "h": 1}')).outcome).toBe('{"g":[null],"h":1}')
  })
})

describe('an expression is refused before it is parsed or matched at length', () => {
  /** `levels` times over what the parser copies. */
  const nested = (levels: number, operator: string): string =>
    `${'('.repeat(levels)}a${`${operator} b)`.repeat(levels)}`

  it.each([
    ['copies of copies', nested(30, '??'), 'too long'],
    ['copies of copies by default', nested(30, '?:'), 'too long'],
    ['copies behind a bracket in a text', `${'('.repeat(30)}a${' & "([{" ?? b)'.repeat(30)}`, 'too long'],
    [
      'copies behind a quote in a regular expression',
      `${'('.repeat(30)}a${' ~> $contains(/["]/) ?? b)'.repeat(30)}`,
      'too long',
    ],
    ['copies behind a comment', `${'('.repeat(30)}a${'/* " */ ?? b)'.repeat(30)}`, 'too long'],
    ['copies behind a name with a quote', `${'('.repeat(30)}a${' + b" ?? c)'.repeat(30)}`, 'too long'],
    ['copies behind a quoted name', `${'('.repeat(30)}a${' + `"(` ?? c)'.repeat(30)}`, 'too long'],
    ['copies behind a wildcard', `${'('.repeat(30)}a${' + * / "(" ?? c)'.repeat(30)}`, 'too long'],
    ['copies behind a signature', `${'('.repeat(30)}a${' + function()<n/"/>{1} ?? c)'.repeat(30)}`, 'signature'],
    ['copies for $eval', `$eval("${nested(30, '??')}")`, 'too long'],
    ['parents of parents', `a.[${'%.%.%.%.b,'.repeat(4_000)} 1]`, 'too long'],
    ['a signature that tries without end', `(function($a)<${'n?'.repeat(28)}s>{1})(${'1,'.repeat(24)}1)`, 'signature'],
    ['a signature with a regular expression in it', '(function($a)<(s]((n)*)*[s)>{1})(1)', 'signature'],
    ['such a signature for $eval', `$eval("(function($a)<${'n?'.repeat(28)}s>{1})(1)")`, 'signature'],
    ['a text of any length', `"${'x'.repeat(500_000)}"`, 'too long'],
    ['many sets that ignore case', `$match("a", /${'[!-\uffff]'.repeat(1_900)}/i)`, 'too large'],
    ['comments that are never closed', `1%2 ${'a/*a'.repeat(50_000)}`, 'failed: '],
  ])('%s', async (_what, expression, why) => {
    expect((await harmOf(expression)).outcome).toMatch(new RegExp(`^! .*${why}`))
  })

  it('and not for being long, or for many of those operators side by side', () => {
    const fields = Array.from({ length: 200 }, (_, i) => `"f${i}": (input.a${i} ?? input.b ?? "?:") & (x ?: "(")`)
    expect(() => boundedJsonata(`{${fields.join(', ')}}`)).not.toThrow()
    expect(() => boundedJsonata(nested(8, '??'))).not.toThrow()
  })
})
