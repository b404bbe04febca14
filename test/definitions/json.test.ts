import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { define, definitionJsonSchema, findProblems, handler, toMermaid } from '../../sdk/definitions/index.ts'
import { FatalError, InvalidInputError, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { HANDLERS, malformedDefinition } from './malformed.ts'

/** The campaign of the page that this format follows, to the byte. */
const DRIP = readFileSync(new URL('../../workflows/drip-campaign.json', import.meta.url), 'utf8')
const DRIP_SHA256 = '4651802949d3ed14b7491dd68f72de98594a3ce1a45d17c34d1b6e0731c696e1'

describe('a definition in JSON', () => {
  const sendEmail = (sent: unknown[]) =>
    handler('sendEmail', ({ config, idempotencyKey }) => sent.push([config, idempotencyKey]))

  it('runs in order: the drip campaign, byte for byte', async () => {
    expect(createHash('sha256').update(DRIP).digest('hex')).toBe(DRIP_SHA256)
    const sent: unknown[] = []
    const drip = define(JSON.parse(DRIP), { handlers: [sendEmail(sent)] })
    const env = await testEnv({ workflows: [drip] })
    const run = await env.start(drip, {}, { id: 'd' })
    expect(await run.get()).toMatchObject({
      status: 'sleeping',
      waitingFor: [{ kind: 'sleep', id: 'wait-2-days', until: env.clock.now() + 172_800_000 }],
    })
    expect(await run.result()).toEqual({
      outputs: { 'send-welcome-email': 1, 'wait-2-days': undefined, 'send-follow-up': 2 },
      skipped: [],
      failed: [],
    })
    expect(sent).toEqual([
      [{ template: 'welcome' }, 'd/send-welcome-email'],
      [{ template: 'follow-up' }, 'd/send-follow-up'],
    ])
    expect((await run.history()).map(({ type }) => type)).toEqual([
      'run.started',
      'step.completed',
      'sleep.started',
      'sleep.completed',
      'step.completed',
      'run.completed',
    ])
  })

  it('a wait until a timestamp in the past completes at once; a duplicate wake of a completed wait changes nothing', async () => {
    const w = define({
      name: 'w',
      steps: [
        { type: 'wait', name: 'past', untilTimestamp: '2020-04-15T09:00:00.000Z' },
        { type: 'wait', name: 'later', durationMs: 60_000 },
      ],
    })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    expect((await run.get()).waitingFor).toMatchObject([{ id: 'later' }])
    await env.store.claim(run.runId, { owner: 'dup', ms: 1 })
    await run.result()
    expect((await run.history()).filter(({ type }) => type === 'sleep.completed')).toHaveLength(2)
  })

  it('fills in templates from the input and earlier outputs, and branches on a condition', async () => {
    const w = define(
      {
        name: 'w',
        steps: [
          { type: 'task', name: 'price', handler: 'echo', config: { cents: '{{ input.amount * 100 }}' }, after: [] },
          {
            type: 'branch',
            name: 'large',
            condition: 'steps.price.cents > 5000',
            ifTrue: ['ask'],
            ifFalse: ['wave through'],
            after: 'price',
          },
          { type: 'task', name: 'ask', handler: 'echo', config: '{{ "ask about " & $string(steps.price.cents) }}' },
          { type: 'task', name: 'wave through', handler: 'echo', config: 'fine' },
          {
            type: 'task',
            name: 'end',
            handler: 'echo',
            config: { all: '{{ $keys(steps) }}' },
            after: ['ask', 'wave through'],
          },
        ],
      },
      { handlers: [handler('echo', ({ config }) => config)] },
    )
    const env = await testEnv({ workflows: [w] })
    expect(await (await env.start(w, { amount: 60 })).result()).toMatchObject({
      outputs: { ask: 'ask about 6000', end: { all: ['price', 'large', 'ask'] } },
      skipped: ['wave through'],
    })
    expect(await (await env.start(w, { amount: 10 })).result()).toMatchObject({
      outputs: { 'wave through': 'fine' },
      skipped: ['ask'],
    })
  })

  it.each([
    ['goes round for ever', '($f := function($n) { $f($n + 1) }; $f(0))', 'more than 200000 steps'],
    [
      'goes ever deeper',
      '($f := function($n) { 1 + $f($n + 1) }; $f(0))',
      'more than 20000 of its parts are under way at once',
    ],
    ['is wrong about its data', '$sum("x" & 1, 2, 3)', 'failed'],
  ])('fails the step, and nothing else, if an expression %s', async (_what, expression, message) => {
    const steps = [
      { type: 'task', name: 'compute', handler: 'echo', config: `{{ ${expression} }}`, after: [] },
      { type: 'task', name: 'beside', handler: 'echo', config: 'fine', after: [] },
      { type: 'task', name: 'after', handler: 'echo', after: 'compute', onParentFailure: 'skip' },
    ]
    const w = define({ name: 'w', steps }, { handlers: [handler('echo', ({ config }) => config)] })
    const env = await testEnv({ workflows: [w] })
    const run = await env.start(w, undefined)
    expect(await run.result()).toEqual({ outputs: { beside: 'fine' }, failed: ['compute'], skipped: ['after'] })
    const fatal = define({ name: 'fatal', steps: steps.slice(0, 1) }, { handlers: [handler('echo', () => 1)] })
    const other = await testEnv({ workflows: [fatal] })
    await expect((await other.start(fatal, undefined)).result()).rejects.toThrow(new RegExp(message))
  })

  it('knows signals, children, maps and lambdas', async () => {
    const child = workflow('child', async (ctx, n: number) => {
      await ctx.sleep('1h')
      return n * 2
    })
    const w = define(
      {
        name: 'w',
        steps: [
          { type: 'signal', name: 'go', timeoutMs: 60_000 },
          { type: 'workflow', name: 'double', workflow: 'child', config: '{{ input.n }}' },
          { type: 'map', name: 'each', items: 'input.list', handler: 'square', concurrency: 2 },
          { type: 'task', name: 'remote', lambda: 'my-function', config: { from: '{{ steps.double }}' } },
        ],
      },
      { handlers: [handler('square', ({ item }) => (item as number) ** 2)], workflows: [child] },
    )
    const env = await testEnv({ workflows: [w, child] })
    env.stub('remote', () => 'called')
    const run = await env.start(w, { n: 21, list: [1, 2, 3] })
    await run.signal('go', 'now')
    expect(await run.result()).toMatchObject({ outputs: { go: 'now', double: 42, each: [1, 4, 9], remote: 'called' } })
  })

  it('gives a failure to the steps after it as they asked for', async () => {
    const fail = handler('fail', () => {
      throw new FatalError('no')
    })
    const ok = handler('ok', () => 'ok')
    const shape = (onParentFailure?: string) => ({
      name: 'w',
      steps: [
        { type: 'task', name: 'bad', handler: 'fail', after: [] },
        { type: 'task', name: 'beside', handler: 'ok', after: [] },
        { type: 'task', name: 'next', handler: 'ok', after: 'bad', ...(onParentFailure && { onParentFailure }) },
      ],
    })
    const cancels = define(shape(), { handlers: [fail, ok] })
    const env = await testEnv({ workflows: [cancels] })
    await expect((await env.start(cancels, undefined)).result()).rejects.toThrow(
      "step 'bad' failed, so 'next' and what comes after it did not run",
    )
    const skips = define({ ...shape('skip'), name: 'skips' }, { handlers: [fail, ok] })
    const other = await testEnv({ workflows: [skips] })
    expect(await (await other.start(skips, undefined)).result()).toEqual({
      outputs: { beside: 'ok' },
      skipped: ['next'],
      failed: ['bad'],
    })
  })

  it('is drawn as Mermaid, and described as JSON Schema', () => {
    const drip = define(JSON.parse(DRIP), { handlers: [sendEmail([])] })
    expect(toMermaid(drip.definition).split('\n')).toEqual([
      'flowchart TD',
      '  s0["send-welcome-email"]',
      '  s1["wait-2-days (wait)"]',
      '  s2["send-follow-up"]',
      '  s0 --> s1',
      '  s1 --> s2',
    ])
    expect(definitionJsonSchema()).toMatchObject({ type: 'object', required: ['name', 'steps'] })
  })
})

describe('a definition that is not valid', () => {
  const known = { handlers: new Set(HANDLERS), workflows: new Set<string>() }
  const task = (name: string, rest: object = {}) => ({ type: 'task', name, handler: 'h', ...rest })

  it.each([
    [
      'a cycle',
      [task('a', { after: 'b' }), task('b', { after: ['c'] }), task('c', { after: 'a' })],
      '$.steps',
      'circle',
    ],
    ['an unknown parent', [task('a', { after: ['x'] })], '$.steps[0].after[0]', "no step 'x'"],
    ['a duplicate name', [task('a'), task('a')], '$.steps[1].name', 'already'],
    ['an unknown handler', [task('a', { handler: 'nope' })], '$.steps[0].handler', 'known: h'],
    ['a wait without a time', [{ type: 'wait', name: 'w' }], '$.steps[0]', 'durationMs'],
    ['a wait of zero', [{ type: 'wait', name: 'w', durationMs: 0 }], '$.steps[0].durationMs', ''],
    [
      'a wait of over 365 days',
      [{ type: 'wait', name: 'w', durationMs: 366 * 86_400_000 }],
      '$.steps[0].durationMs',
      '',
    ],
    ['a step that is its own parent', [task('a', { after: 'a' })], '$.steps[0].after', 'itself'],
    [
      'a condition that does not parse',
      [{ type: 'branch', name: 'b', condition: '1 +', ifTrue: [], after: [] }],
      '$.steps[0].condition',
      'JSONata',
    ],
    [
      'a template that does not parse',
      [task('a', { config: { x: ['{{ ( }}'] } })],
      '$.steps[0].config.x[0]',
      'JSONata',
    ],
    ['a name of 101 characters', [task('x'.repeat(101))], '$.steps[0].name', ''],
    ['an unknown type', [{ type: 'teleport', name: 't' }], '$.steps[0].type', ''],
    ['over 1,000 steps', Array.from({ length: 1001 }, (_, i) => task(`s${i}`)), '$.steps', ''],
  ])('%s is refused with its path', (_what, steps, path, message) => {
    const problems = findProblems({ name: 'w', steps }, known)
    expect(problems).toContainEqual({ path, message: expect.stringContaining(message) })
    expect(() => define({ name: 'w', steps }, { handlers: [handler('h', () => 1)] })).toThrow(InvalidInputError)
  })

  it('of any kind gives problems with paths and never throws anything else (500 made up)', () => {
    fc.assert(
      fc.property(malformedDefinition, (candidate) => {
        const isObject = typeof candidate === 'object' && candidate !== null && !Array.isArray(candidate)
        const problems = findProblems(isObject ? { name: 'made up', ...candidate } : candidate, known)
        expect(problems.length).toBeGreaterThan(0)
        for (const { path } of problems) expect(path).toMatch(/^\$/)
      }),
      { numRuns: 500 },
    )
  })
})
