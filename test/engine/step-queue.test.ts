import { describe, expect, it } from 'vitest'
import { CancelledError } from '../../sdk/base/errors.ts'
import type { StepOptions, StepTools } from '../../sdk/context.ts'
import type { Facts } from '../../sdk/engine/facts.ts'
import { Operation, type Request } from '../../sdk/engine/operation.ts'
import { Starts } from '../../sdk/engine/starts.ts'
import { Steps } from '../../sdk/engine/steps.ts'
import type { Waits } from '../../sdk/engine/waits.ts'
import { visitOf } from './visit-fixture.ts'

const START = Date.parse('2026-01-01T00:00:00Z')
/** No request to stop is meant for it. */
const CLEAN_UP = { stopsBefore: Number.POSITIVE_INFINITY }
const hang = () => new Promise(() => {})
const fail = () => {
  throw new Error('no')
}

/** The steps of a run, and all that they journal and watch. */
function steps() {
  const { visit, clock, journaled, stops, beats, wakes } = visitOf({ now: START })
  const { operations } = visit.replay
  const watched = new Map<Operation, number>()
  const waits = {
    resumeLater: (operation: Operation, until: number) => void watched.set(operation, until),
    forget: (operation: Operation) => void watched.delete(operation),
    dueSteps: (now: number) => [...watched].filter(([, until]) => until <= now).map(([operation]) => operation),
  } as unknown as Waits
  const starts = new Starts(visit)
  const all = new Steps(visit, waits, starts)
  const called = (
    id: string,
    body: (tools: StepTools) => unknown = () => 7,
    {
      facts,
      options = {},
      stopsBefore = 0,
    }: { facts?: Partial<Facts>; options?: StepOptions; stopsBefore?: number } = {},
  ) => {
    const request: Request = { kind: 'step', body, options, timeoutMs: undefined }
    const operation = new Operation(id, request, facts && { kind: 'step', failures: 0, ...facts }, 1, stopsBefore)
    operations.set(id, operation)
    return operation
  }
  const prepared = (...given: Parameters<typeof called>) => {
    const operation = called(...given)
    all.prepare(operation)
    return operation
  }
  return { all, starts, visit, called, prepared, clock, journaled, watched, stops, beats, operations, reports: wakes }
}

describe('a step that the code asks for', () => {
  it('runs once it is started, and not before', () => {
    const { all, starts, prepared, reports } = steps()
    let runs = 0
    prepared('a', () => ++runs)
    expect([runs, starts.any, all.areRunning, all.haveReported]).toEqual([0, true, false, false])
    all.begin()
    expect([runs, starts.any, all.areRunning, all.haveReported, reports()]).toEqual([1, false, true, true, 1])
    expect(all.nextSettled()).toEqual({ type: 'step.completed', id: 'a', result: 1 })
    expect([all.areRunning, all.haveReported]).toEqual([false, false])
    expect(all.nextSettled()).toBeUndefined()
    all.begin()
    expect(runs).toBe(1)
  })

  it('is not started when it is over by then', () => {
    const { all, prepared } = steps()
    prepared('a').resolve(undefined)
    all.begin()
    expect(all.areRunning).toBe(false)
  })

  it('at most once is on record before it runs (I4)', () => {
    const { all, prepared, journaled } = steps()
    prepared('a', hang, { options: { semantics: 'at-most-once' } })
    prepared('b', hang, { options: { semantics: 'at-most-once' }, facts: { failures: 2 } })
    prepared('c', hang)
    // Not before there is time for it: a runner that finds it on record takes it to have run.
    expect(journaled).toEqual([])
    all.announce()
    expect(journaled).toEqual([
      { type: 'step.started', id: 'a', attempt: 1 },
      { type: 'step.started', id: 'b', attempt: 3 },
    ])
  })

  it('at most once that was under way when its runner died is interrupted (I4)', () => {
    const { all, starts, prepared } = steps()
    prepared('a', () => 7, { facts: { underWay: 2 } })
    expect(starts.any).toBe(false)
    expect(all.nextSettled()).toMatchObject({
      type: 'step.failed',
      id: 'a',
      attempt: 2,
      error: { name: 'StepInterruptedError' },
    })
  })

  it('that has to wait for its time is watched, and then runs', () => {
    const { all, starts, prepared, clock, watched } = steps()
    const operation = prepared('a', () => 7, { facts: { until: START + 5 } })
    expect([...watched]).toEqual([[operation, START + 5]])
    all.queueDue()
    expect(starts.any).toBe(false)
    clock.moveTo(START + 5)
    all.queueDue()
    expect(starts.any).toBe(true)
  })

  it('after the run was asked to stop has failed, unless it is a clean-up or was called since', () => {
    const { all, starts, prepared, stops } = steps()
    stops.push(new CancelledError('enough'))
    prepared('a', () => 7, { facts: { failures: 1 } })
    prepared('b')
    prepared('clean', () => 7, CLEAN_UP)
    prepared('since', () => 7, { stopsBefore: 1 })
    expect(all.nextSettled()).toMatchObject({
      type: 'step.failed',
      id: 'a',
      attempt: 1,
      error: { name: 'CancelledError', message: 'enough' },
    })
    expect(all.nextSettled()).toMatchObject({ id: 'b', attempt: 0 })
    expect(all.nextSettled()).toBeUndefined()
    expect(starts.any).toBe(true)
  })
})

describe('what bodies report', () => {
  it('is journaled on the way to the next end, and learnt', () => {
    const { all, prepared, journaled, watched } = steps()
    const operation = prepared('a', fail)
    all.begin()
    expect(all.nextSettled()).toBeUndefined()
    expect(journaled).toMatchObject([{ type: 'step.retrying', id: 'a', attempt: 1, until: START + 1_000 }])
    expect(watched.get(operation)).toBe(START + 1_000)
    expect(operation.facts).toMatchObject({ failures: 1 })
    expect(all.areRunning).toBe(false)
  })

  it('as a checkpoint leaves the body running, and tells it when that is durable', async () => {
    const { all, visit, prepared, journaled, watched } = steps()
    let isSaved = false
    const operation = prepared('a', async ({ checkpoint }) => {
      await checkpoint({ page: 3 })
      isSaved = true
      await hang()
    })
    all.begin()
    expect(all.nextSettled()).toBeUndefined()
    expect(journaled).toMatchObject([{ type: 'step.checkpoint', data: { page: 3 } }])
    expect([all.areRunning, watched.size, operation.facts?.checkpoint]).toEqual([true, 0, { page: 3 }])
    await new Promise((resolve) => setImmediate(resolve))
    expect(isSaved).toBe(false)
    await visit.buffer.save()
    await new Promise((resolve) => setImmediate(resolve))
    expect(isSaved).toBe(true)
  })

  it('as a sign of life is passed on once a second', () => {
    const { all, called, clock, beats } = steps()
    const operation = called('a')
    all.heartbeat(operation, { page: 1 })
    clock.moveTo(START + 999)
    all.heartbeat(operation, { page: 2 })
    clock.moveTo(START + 1_000)
    all.heartbeat(operation, undefined)
    expect(beats).toStrictEqual([
      { step: 'a', at: START, details: { page: 1 } },
      { step: 'a', at: START + 1_000 },
    ])
  })
})

describe('a request to stop', () => {
  it('reaches running bodies by their signal, and ends steps between two attempts at once', () => {
    const { all, starts, prepared, stops, watched, operations, called } = steps()
    const signals: AbortSignal[] = []
    const running = ({ signal }: StepTools) => {
      signals.push(signal)
      return hang()
    }
    prepared('running', running)
    prepared('undo', running, CLEAN_UP)
    all.begin()
    prepared('queued')
    prepared('kept', () => 7, CLEAN_UP)
    prepared('waiting', () => 7, { facts: { until: START + 5, failures: 2 } })
    called('over').resolve(undefined)
    operations.set('nap', new Operation('nap', { kind: 'sleep', ms: 1 }, undefined, 1, 0))
    const reason = new CancelledError('enough')
    stops.push(reason)
    all.stop(reason)
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
    expect(signals[0]!.reason).toMatchObject({ name: 'CancelledError', message: 'enough', cause: reason })
    expect([all.nextSettled(), all.nextSettled(), all.nextSettled()]).toMatchObject([
      { id: 'queued', attempt: 0 },
      { id: 'waiting', attempt: 2 },
      undefined,
    ])
    expect(watched.size).toBe(0)
    expect(starts.any).toBe(true)
    all.begin()
    expect(all.nextSettled()).toMatchObject({ id: 'kept', type: 'step.completed' })
  })

  it('that is repeated reaches what was called after the first, but no clean-up', () => {
    const { all, prepared, stops } = steps()
    stops.push(new CancelledError('enough'))
    prepared('since', () => 7, { stopsBefore: 1 })
    prepared('later', () => 7, { stopsBefore: 2 })
    prepared('clean', () => 7, CLEAN_UP)
    expect(all.nextSettled()).toBeUndefined()
    stops.push(new CancelledError('really'))
    all.stop(stops[1]!)
    expect(all.nextSettled()).toMatchObject({ type: 'step.failed', id: 'since', error: { message: 'really' } })
    expect(all.nextSettled()).toBeUndefined()
    all.begin()
    expect([all.nextSettled(), all.nextSettled(), all.nextSettled()]).toMatchObject([
      { id: 'later' },
      { id: 'clean' },
      undefined,
    ])
  })

  it('does not end a second time what has already reported', () => {
    const { all, prepared, stops } = steps()
    prepared('a', () => 7, { facts: { underWay: 1 } })
    stops.push(new CancelledError('enough'))
    all.stop(stops[0]!)
    expect(all.nextSettled()).toMatchObject({ error: { name: 'StepInterruptedError' } })
    expect(all.nextSettled()).toBeUndefined()
  })
})

describe('a runner that lets go', () => {
  it('cuts bodies off, which counts as an attempt, and tells what they came to', () => {
    const { all, prepared, journaled } = steps()
    prepared('a', hang)
    prepared('b', hang, { options: { retry: { attempts: 1 } } })
    all.begin()
    all.cutOff(0)
    expect(all.nextSettled()).toMatchObject({ type: 'step.failed', id: 'b' })
    expect(all.nextSettled()).toBeUndefined()
    expect(journaled).toMatchObject([
      {
        type: 'step.retrying',
        id: 'a',
        error: { name: 'TimeoutError', message: expect.stringContaining("step 'a' was cut off") },
      },
    ])
    expect(all.areRunning).toBe(false)
  })

  it('abandons bodies: they see their signal and are not heard any more', () => {
    const { all, prepared, reports } = steps()
    let signal!: AbortSignal
    prepared('a', (tools) => {
      signal = tools.signal
      return hang()
    })
    all.begin()
    all.abandon('let go')
    expect(signal.reason).toMatchObject({ name: 'CancelledError', message: 'let go' })
    expect([all.areRunning, reports()]).toEqual([false, 0])
  })
})
