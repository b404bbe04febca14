import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ErrorRecord, Frame, FrameEvent } from '../../sdk/base/events.ts'
import { Hash } from '../../sdk/views/hash.ts'
import { readTraceparent, SpanIds, type TracedRun, traceparentOf } from '../../sdk/views/span-ids.ts'
import { type Span, SpanWriter, spansOf } from '../../sdk/views/spans.ts'

const DAY = 86_400_000
const BEGUN = Date.UTC(2026, 0, 1)
const run: TracedRun = {
  runId: 'r-1',
  workflow: 'orders',
  version: 1,
  generation: 0,
  createdAt: BEGUN - 5,
  begunAt: BEGUN,
}
const boom: ErrorRecord = {
  name: 'CardError',
  message: "card 4711 of 'Ada' was declined",
  code: 'E_CARD',
  stack: 'at charge (/app/pay.ts:1:1)',
}

const frame = (seq: number, at: number, epoch: number, ...events: FrameEvent[]): Frame => ({ seq, at, epoch, events })
const named = (spans: readonly Span[]) => spans.map(({ name }) => name)
const only = (spans: readonly Span[], name: string) => spans.find((span) => span.name === name)!

describe('the spans of a history', () => {
  it('begin with a root that is as long as the first thing that happened, and is the parent of everything', () => {
    const spans = spansOf(run, [
      frame(1, BEGUN + 300, 1, { type: 'step.completed', id: 'charge', ms: 250 }, { type: 'run.completed', dt: 1 }),
    ])
    expect(named(spans)).toEqual(['orders', 'charge', 'run completed'])
    const [root, charge, end] = spans as [Span, Span, Span]
    expect(root).toMatchObject({ kind: 'server', startMs: BEGUN + 50, endMs: BEGUN + 300 })
    expect(root.parentSpanId).toBeUndefined()
    expect(charge).toMatchObject({ parentSpanId: root.spanId, startMs: BEGUN + 50, endMs: BEGUN + 300 })
    expect(charge.attributes).toEqual({ 'overwinter.run_id': 'r-1' })
    expect(end).toMatchObject({ startMs: BEGUN + 301, endMs: BEGUN + 301 })
  })

  it('have a trace id that begins with the first second of the generation', () => {
    const { traceId } = new SpanIds(run)
    expect(traceId).toMatch(/^[0-9a-f]{32}$/)
    expect(Number.parseInt(traceId.slice(0, 8), 16)).toBe(BEGUN / 1000)
  })

  it('show a wait of 40 days as two points, the second with a link to the first', () => {
    const spans = spansOf(run, [
      frame(1, BEGUN, 1, { type: 'sleep.started', id: 'cool down', until: BEGUN + 40 * DAY }),
      frame(2, BEGUN + 40 * DAY, 2, { type: 'sleep.completed', id: 'cool down' }),
    ])
    const begins = only(spans, 'sleep cool down begins')
    const ends = only(spans, 'sleep cool down ends')
    expect([begins.startMs, begins.endMs, ends.startMs, ends.endMs]).toEqual([
      BEGUN,
      BEGUN,
      BEGUN + 40 * DAY,
      BEGUN + 40 * DAY,
    ])
    expect(ends.links).toEqual([{ traceId: begins.traceId, spanId: begins.spanId, what: 'begin' }])
  })

  it('say of an error its name, its code and what its kind has in common, and nothing else of it', () => {
    const spans = spansOf(run, [frame(1, BEGUN, 1, { type: 'step.failed', id: 'charge:2', attempt: 3, error: boom })])
    const charge = only(spans, 'charge')
    expect(charge.attributes).toEqual({
      'overwinter.run_id': 'r-1',
      'overwinter.operation': 'charge:2',
      'overwinter.attempt': 3,
    })
    expect(charge.error).toEqual({ name: 'CardError', code: 'E_CARD', says: 'card … of … was declined' })
    expect(JSON.stringify(spans)).not.toMatch(/4711|Ada|pay\.ts/)
  })

  it('carry nothing of any payload', () => {
    const secret = { word: 'CANARY' }
    const spans = spansOf(run, [
      frame(
        1,
        BEGUN,
        1,
        { type: 'step.completed', id: 'a', result: secret, inputDigest: 'CANARY' },
        { type: 'step.paused', id: 'b', name: 'p', until: BEGUN, data: secret },
        { type: 'wait.completed', id: 'c', from: 'm', payload: secret },
        { type: 'callback.completed', id: 'd', result: secret },
        {
          type: 'child.started',
          id: 'e',
          run: 'r-1.e',
          workflow: 'w',
          version: 1,
          input: secret,
          onParentEnd: 'cancel',
        },
        { type: 'child.completed', id: 'e', result: secret },
        { type: 'task.dispatched', id: 'f', task: 't', input: secret },
        { type: 'task.completed', id: 'f', result: secret },
        { type: 'run.cancelRequested', from: 'm2', reason: 'CANARY' },
        {
          type: 'step.failed',
          id: 'g',
          attempt: 1,
          error: { ...boom, fields: secret, cause: { ...boom, fields: secret } },
        },
        { type: 'run.completed', output: secret },
      ),
    ])
    expect(spans).toHaveLength(12)
    expect(JSON.stringify(spans)).not.toContain('CANARY')
  })

  it('link one generation to the root of the next', () => {
    const spans = spansOf(run, [frame(1, BEGUN, 1, { type: 'run.continued', dt: 1_500 })])
    const next = new SpanIds({ ...run, generation: 1, begunAt: BEGUN + 1_500 })
    expect(only(spans, 'run continued').links).toEqual([
      { traceId: next.traceId, spanId: next.root, what: 'next generation' },
    ])
    expect(next.traceId).not.toBe(spans[0]!.traceId)
  })

  it('link the root to the creator of the run, and ignore an invalid traceparent', () => {
    const place = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' }
    const rootWith = (trace: string) => spansOf({ ...run, trace }, [frame(1, BEGUN, 1, { type: 'run.completed' })])[0]!
    expect(rootWith(traceparentOf(place)).links).toEqual([{ ...place, what: 'caller' }])
    expect(rootWith('nonsense').links).toEqual([])
  })

  it('leave to another run what a rerun has taken over from it', () => {
    const taken = frame(
      1,
      BEGUN,
      0,
      { type: 'run.rerun', of: 'r-0', generation: 0, from: 'b' },
      { type: 'step.completed', id: 'a', ms: 5 },
    )
    expect(named(spansOf(run, [taken, frame(2, BEGUN + 9, 2, { type: 'step.completed', id: 'b' })]))).toEqual([
      'orders',
      'b',
    ])
  })

  it('tell an attempt that a pause ended from the one that goes on behind it, as it was known before', () => {
    const writer = new SpanWriter(run)
    const ahead: string[] = []
    const spans: Span[] = []
    const write = (seq: number, event: FrameEvent) => {
      ahead.push(writer.attemptAhead('a', 1).spanId)
      writer.write(frame(seq, BEGUN + seq, seq, event), spans)
    }
    write(1, { type: 'step.paused', id: 'a', name: 'p', until: 0 })
    write(2, { type: 'step.paused', id: 'a', name: 'p', until: 0 })
    write(3, { type: 'step.completed', id: 'a' })
    expect(new Set(ahead).size).toBe(3)
    expect(spans.filter(({ name }) => name === 'a').map(({ spanId }) => spanId)).toEqual(ahead)
  })

  it('tell a step that was stopped between two attempts from its last attempt', () => {
    const spans = spansOf(run, [
      frame(1, BEGUN, 1, { type: 'step.retrying', id: 'a', attempt: 2, error: boom, until: 0 }),
      frame(2, BEGUN, 2, { type: 'step.failed', id: 'a', attempt: 2, error: { name: 'CancelledError', message: '' } }),
    ])
    expect(named(spans)).toEqual(['orders', 'a', 'a stopped'])
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(3)
  })
})

/** What a run could have lived through: steps with retries and pauses, waits, an operator who lets it go on, in visits that may be days apart. */
const visits = fc.array(
  fc.record({
    restMs: fc.nat({ max: 60 * DAY }),
    events: fc.array(
      fc.record({
        kind: fc.constantFrom('step', 'retry', 'pause', 'stop', 'sleep', 'wake', 'operator', 'cancel'),
        op: fc.nat({ max: 3 }),
        ms: fc.nat({ max: 5_000 }),
      }),
      { minLength: 1, maxLength: 6 },
    ),
  }),
  { minLength: 1, maxLength: 8 },
)

interface Lived {
  frames: Frame[]
  begunAt: Map<number, number>
}

function live(plan: typeof visits extends fc.Arbitrary<infer V> ? V : never): Lived {
  let now = BEGUN
  let seq = 0
  let count = 0
  const frames: Frame[] = []
  const begunAt = new Map<number, number>()
  const failures = new Map<string, number>()
  const settled = new Set<string>()
  const asleep = new Set<string>()
  for (const [i, { restMs, events }] of plan.entries()) {
    now += restMs
    begunAt.set(i + 1, now)
    for (const { kind, op, ms } of events) {
      const id = `s${op}`
      const attempt = (failures.get(id) ?? 0) + 1
      let event: FrameEvent | undefined
      if (kind === 'operator') {
        event = { type: 'run.retried', ops: [...settled] }
        settled.clear()
        asleep.clear()
      } else if (kind === 'cancel') event = { type: 'run.cancelRequested', from: `m${count++}` }
      else if (kind === 'sleep' || kind === 'wake') {
        const wait = `w${op}`
        if (settled.has(wait) || asleep.has(wait) !== (kind === 'wake')) continue
        event = kind === 'sleep' ? { type: 'sleep.started', id: wait, until: 0 } : { type: 'sleep.completed', id: wait }
        if (kind === 'sleep') asleep.add(wait)
        else settled.add(wait)
      } else if (settled.has(id)) continue
      else if (kind === 'step') event = { type: 'step.completed', id, attempt, ms }
      else if (kind === 'retry') event = { type: 'step.retrying', id, attempt, ms, error: boom, until: 0 }
      else if (kind === 'pause') event = { type: 'step.paused', id, name: 'p', ms, until: 0 }
      else event = { type: 'step.failed', id, attempt: attempt - 1, error: boom }
      if (kind === 'retry') failures.set(id, attempt)
      if (kind === 'step' || kind === 'stop') settled.add(id)
      now += ms
      frames.push(frame(++seq, now, i + 1, event))
    }
  }
  return { frames, begunAt }
}

describe('the spans of any history', () => {
  it('have ids of their own, a root before everything else, links to what has left before, and end within their visit', () => {
    fc.assert(
      fc.property(visits, (plan) => {
        const { frames, begunAt } = live(plan)
        const writer = new SpanWriter(run)
        const seen = new Set<string>()
        for (const each of frames) {
          const fresh: Span[] = []
          writer.write(each, fresh)
          for (const span of fresh) {
            expect(seen.has(span.spanId), span.name).toBe(false)
            if (span.parentSpanId !== undefined) expect(seen.has(span.parentSpanId)).toBe(true)
            for (const { spanId } of span.links) expect(seen.has(spanId)).toBe(true)
            seen.add(span.spanId)
            expect(span.startMs).toBeGreaterThanOrEqual(begunAt.get(each.epoch)!)
            expect(span.endMs).toBe(each.at)
          }
        }
      }),
      { numRuns: 500 },
    )
  })

  it('are the same whether they are told all at once or visit by visit', () => {
    fc.assert(
      fc.property(visits, fc.nat({ max: 8 }), (plan, split) => {
        const { frames } = live(plan)
        const early = frames.filter(({ epoch }) => epoch <= split)
        const late = frames.filter(({ epoch }) => epoch > split)
        const writer = new SpanWriter(run)
        for (const each of early) writer.note(each)
        const told: Span[] = []
        for (const each of late) writer.write(each, told)
        expect([...spansOf(run, early), ...told]).toEqual(spansOf(run, frames))
      }),
      { numRuns: 200 },
    )
  })
})

describe('a traceparent', () => {
  const good = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

  it('is read as W3C has it', () => {
    expect(readTraceparent(good)).toEqual({ traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' })
    expect(readTraceparent(good.replace(/^00/, 'cc').concat('-what-comes'))).toEqual(readTraceparent(good))
  })

  it('is nothing where it is malformed', () => {
    const bad = [
      '',
      'x',
      good.toUpperCase(),
      `${good}-more`,
      good.replace(/^00/, 'ff'),
      good.replace(/4bf9[0-9a-f]*/, '0'.repeat(32)),
      `${good}\n`,
      `cc${good.slice(2)}-${'x'.repeat(500)}`,
    ]
    expect(bad.map(readTraceparent)).toEqual(bad.map(() => undefined))
  })
})

describe('the hash', () => {
  it('is 64-bit FNV-1a of the UTF-8 bytes', () => {
    expect(
      [new Hash(), new Hash().with('a'), new Hash().with('foobar')].map(({ base36 }) => fromBase36(base36)),
    ).toEqual([0xcbf29ce484222325n, 0xaf63dc4c8601ec8cn, 0x85944171f73967e8n])
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        (text) => fromBase36(new Hash().with(text).base36) === bigHash(text),
      ),
    )
  })
})

/** What 36 digits mean, digit by digit: a number would lose the last of them. */
const fromBase36 = (text: string): bigint =>
  [...text].reduce((sum, digit) => sum * 36n + BigInt(Number.parseInt(digit, 36)), 0n)

function bigHash(text: string): bigint {
  let value = 0xcbf29ce484222325n
  for (const byte of new TextEncoder().encode(text)) value = BigInt.asUintN(64, (value ^ BigInt(byte)) * 0x100000001b3n)
  return value
}
