import { describe, expect, it } from 'vitest'
import { type Duration, milliseconds } from '../../sdk/base/duration.ts'
import { CancelledError, FatalError, TimeoutError } from '../../sdk/base/errors.ts'
import type { StepOptions, StepTools } from '../../sdk/context.ts'
import type { Facts } from '../../sdk/engine/facts.ts'
import { Operation } from '../../sdk/engine/operation.ts'
import { running } from '../../sdk/engine/running.ts'
import { type AttemptHost, type AttemptReport, StepAttempt } from '../../sdk/engine/step-attempt.ts'
import type { RunRecord } from '../../sdk/ports/run.ts'
import { VirtualClock } from '../../sdk/testing/virtual-clock.ts'

const START = Date.parse('2026-01-01T00:00:00Z')
const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

/** One attempt of a step, and everything it says. */
function attempt(body: (tools: StepTools) => unknown, options: StepOptions = {}, facts?: Partial<Facts>) {
  const clock = new VirtualClock(START)
  const reports: AttemptReport[] = []
  const beats: unknown[] = []
  const durable: (() => void)[] = []
  const timeoutMs = options.timeout === undefined ? undefined : milliseconds(options.timeout, 'x')
  const host: AttemptHost = {
    run: { id: 'run', format: 2, generation: 0 } as RunRecord,
    whose: { runId: 'run', workflow: 'order', log: () => {} },
    clock,
    ids: { random: () => 1 } as AttemptHost['ids'],
    report(_operation, report, saved) {
      reports.push(report)
      if (saved) durable.push(saved)
    },
    heartbeat: (_operation, details) => void beats.push(details),
    coolDown: () => {},
  }
  const operation = new Operation(
    'pay',
    { kind: 'step', body, options, timeoutMs },
    facts && { kind: 'step', failures: 0, ...facts },
    1,
    0,
  )
  return { step: new StepAttempt(operation, host), clock, reports, beats, durable }
}
async function reportsOf(body: (tools: StepTools) => unknown, options?: StepOptions, facts?: Partial<Facts>) {
  const { step, reports } = attempt(body, options, facts)
  step.start()
  await settled()
  return reports
}

describe('an attempt that ends', () => {
  it('reports its result, at once or later', async () => {
    for (const body of [() => 7, async () => 7])
      expect(await reportsOf(body)).toStrictEqual([{ type: 'step.completed', id: 'pay', result: 7 }])
    expect(await reportsOf(() => null)).toMatchObject([{ result: null }])
    const almostPromise = JSON.parse('{ "then": 7 }')
    expect(await reportsOf(() => almostPromise)).toMatchObject([{ result: almostPromise }])
  })

  it('says which attempt it was, if not the first, and how long it took', async () => {
    expect(await reportsOf(() => 7, {}, { failures: 2 })).toMatchObject([{ type: 'step.completed', attempt: 3 }])
    const { step, clock, reports } = attempt(() => new Promise((resolve) => clock.at(START + 50, () => resolve(7))))
    step.start()
    clock.moveTo(START + 50)
    await settled()
    expect(reports).toStrictEqual([{ type: 'step.completed', id: 'pay', result: 7, ms: 50 }])
  })

  it('with something that the journal cannot hold has failed', async () => {
    expect(await reportsOf(() => new WeakMap())).toMatchObject([
      { type: 'step.failed', attempt: 1, error: { message: expect.stringContaining("the result of step 'pay'") } },
    ])
  })

  it('by throwing is tried again, as its policy says', async () => {
    const failing = () => {
      throw new Error('no')
    }
    expect(await reportsOf(failing)).toMatchObject([
      { type: 'step.retrying', id: 'pay', attempt: 1, until: START + 1_000, error: { message: 'no' } },
    ])
    expect(await reportsOf(async () => failing())).toMatchObject([{ type: 'step.retrying' }])
    expect(await reportsOf(failing, { retry: { attempts: 1 } })).toMatchObject([{ type: 'step.failed', attempt: 1 }])
    expect((await reportsOf(failing, { retry: { attempts: 1 } }))[0]).not.toHaveProperty('ms')
    expect(await reportsOf(failing, {}, { failures: 2 })).toMatchObject([{ type: 'step.failed', attempt: 3 }])
  })

  it('by giving up says how long it took', () => {
    const { step, clock, reports } = attempt(() => new Promise(() => {}), { timeout: '1s', retry: { attempts: 1 } })
    step.start()
    clock.moveTo(START + 1_000)
    expect(reports).toMatchObject([{ type: 'step.failed', attempt: 1, ms: 1_000 }])
  })

  it('at most once is not tried again, unless it was asked for', async () => {
    const failing = () => {
      throw new Error('no')
    }
    expect(await reportsOf(failing, { semantics: 'at-most-once' })).toMatchObject([{ type: 'step.failed' }])
    expect(await reportsOf(failing, { semantics: 'at-most-once', retry: { attempts: 2 } })).toMatchObject([
      { type: 'step.retrying' },
    ])
  })

  it('with a policy that fails itself has failed with that', async () => {
    const retryIf = () => {
      throw new FatalError('a bad policy')
    }
    const failing = () => {
      throw new Error('no')
    }
    expect(await reportsOf(failing, { retry: { retryIf } })).toMatchObject([
      { type: 'step.failed', error: { message: 'a bad policy' } },
    ])
  })
})

describe('an attempt that takes too long', () => {
  it('sees its signal and is tried again, and whatever it does then is not heard', async () => {
    let tools!: StepTools
    let finish!: (value: number) => void
    const { step, clock, reports } = attempt(
      (given) => {
        tools = given
        expect(given.signal.aborted).toBe(false)
        return new Promise((resolve) => (finish = resolve))
      },
      { timeout: '1s' },
    )
    step.start()
    clock.moveTo(START + 999)
    expect(reports).toEqual([])
    clock.moveTo(START + 1_000)
    expect(tools.signal.reason).toBeInstanceOf(TimeoutError)
    finish(7)
    await settled()
    expect(reports).toMatchObject([
      { type: 'step.retrying', error: { name: 'TimeoutError', message: expect.stringContaining('1000 ms') } },
    ])
    await expect(tools.checkpoint(1)).rejects.toBeInstanceOf(TimeoutError)
  })

  it('is not troubled by its timer once it is over', async () => {
    const { step, clock, reports } = attempt(() => 7, { timeout: '1s' })
    step.start()
    clock.moveTo(START + 5_000)
    expect(reports).toHaveLength(1)
  })
})

describe('an attempt that is stopped', () => {
  const hanging = () => {
    let tools!: StepTools
    let fail!: (error: Error) => void
    const it = attempt((given) => {
      tools = given
      return new Promise((_, reject) => (fail = reject))
    })
    it.step.start()
    return { ...it, tools, fail: (error: Error) => fail(error) }
  }

  it('by a cancellation fails with that, whatever it throws, and is not tried again', async () => {
    const { step, tools, fail, reports } = hanging()
    const reason = new CancelledError('enough')
    step.abort(reason)
    expect(tools.signal.reason).toBe(reason)
    expect(() => tools.heartbeat()).toThrow(reason)
    await expect(tools.pause('rest', '1s')).rejects.toBe(reason)
    fail(new Error('the connection broke'))
    await settled()
    expect(reports).toMatchObject([{ type: 'step.failed', error: { name: 'CancelledError', message: 'enough' } }])
  })

  it('for another reason is tried again', async () => {
    const { step, fail, reports } = hanging()
    step.abort(new Error('shutting down'))
    fail(new Error('no'))
    await settled()
    expect(reports).toMatchObject([{ type: 'step.retrying', error: { message: 'no' } }])
  })

  it('sees the first reason, also where it had looked at its signal before', () => {
    const { step, tools } = hanging()
    const { signal } = tools
    const first = new Error('first')
    step.abort(first)
    step.abort(new CancelledError('second'))
    expect(signal.reason).toBe(first)
    expect(tools.signal).toBe(signal)
  })

  it('after its end sees nothing', () => {
    const { step } = attempt(() => 7)
    step.start()
    step.abort(new CancelledError('late'))
    expect(step.signal.aborted).toBe(false)
  })

  it('and abandoned is not heard any more', async () => {
    const { step, fail, reports, tools, beats } = hanging()
    step.abandon(new CancelledError('let go'))
    expect(tools.signal.aborted).toBe(true)
    fail(new Error('no'))
    await settled()
    expect([reports, beats]).toEqual([[], []])
  })

  it('and cut off counts as an attempt', () => {
    const { step, reports } = hanging()
    step.cutOff(0, new TimeoutError('no time'))
    expect(reports).toMatchObject([{ type: 'step.retrying', attempt: 1, error: { message: 'no time' } }])
  })

  it('and cut off does not count where it got somewhere, or is on record already', async () => {
    const saving = hanging()
    const saved = saving.tools.checkpoint({ page: 3 })
    saving.durable[0]!()
    await saved
    saving.step.cutOff(0, new TimeoutError('no time'))
    expect(saving.reports.map(({ type }) => type)).toEqual(['step.checkpoint'])
    const once = attempt(() => new Promise(() => {}), { semantics: 'at-most-once' })
    once.step.start()
    once.step.cutOff(0, new TimeoutError('no time'))
    expect(once.reports).toEqual([])
    expect(once.step.signal.reason).toBeInstanceOf(TimeoutError)
    await expect(once.step.checkpoint(1)).rejects.toBeInstanceOf(TimeoutError)
  })
})

describe('the tools of a body', () => {
  it('know the attempt, the key and the last checkpoint, which is a copy', () => {
    const checkpoint = { page: 3 }
    const { step } = attempt(() => 7, {}, { failures: 1, checkpoint })
    expect(step).toMatchObject({ attempt: 2, idempotencyKey: 'run/pay', lastCheckpoint: { page: 3 } })
    expect(step.lastCheckpoint).not.toBe(checkpoint)
    expect(attempt(() => 7).step).toMatchObject({ attempt: 1, lastCheckpoint: undefined })
  })

  it('work inside the step, and outside code knows nothing of it', async () => {
    let inside: unknown
    await reportsOf(() => {
      inside = running.getStore()
    })
    expect(inside).toMatchObject({ runId: 'run', workflow: 'order', step: 'pay' })
    expect(running.getStore()).toBeUndefined()
  })

  it('beat, unless the body is over', () => {
    const { step, beats } = attempt(() => 7)
    step.heartbeat({ page: 1 })
    expect(() => step.heartbeat(() => 1)).toThrow("the heartbeat of step 'pay'")
    step.start()
    step.heartbeat({ page: 2 })
    expect(beats).toEqual([{ page: 1 }])
  })

  it('save a checkpoint, which is there once it is durable', async () => {
    const { step, reports, durable } = attempt(() => 7)
    let isSaved = false
    const saving = step.checkpoint({ page: 1 }).then(() => (isSaved = true))
    await settled()
    expect([isSaved, reports]).toEqual([false, [{ type: 'step.checkpoint', id: 'pay', data: { page: 1 } }]])
    durable[0]!()
    await saving
    expect(isSaved).toBe(true)
    void step.checkpoint(undefined)
    expect(reports[1]).toMatchObject({ data: null })
    expect(() => step.checkpoint(() => 1)).toThrow("the checkpoint of step 'pay'")
  })

  it('save nothing for a body that is over', async () => {
    const { step, reports } = attempt(() => 7)
    step.start()
    await expect(step.checkpoint(1)).rejects.toThrow("step 'pay' is over")
    expect(reports).toHaveLength(1)
  })

  it('pause the body: it is over, and is entered again later', async () => {
    const { step, reports } = attempt(({ pause }) => pause('rest', '1m', { page: 3 }), { timeout: '1s' })
    step.start()
    await settled()
    expect(reports).toStrictEqual([
      { type: 'step.paused', id: 'pay', name: 'rest', until: START + 60_000, data: { page: 3 } },
    ])
    void step.pause('again', '1m')
    expect(reports).toHaveLength(1)
  })

  it('refuse a pause that makes no sense', () => {
    const { step, reports } = attempt(() => 7)
    expect(() => step.pause('', '1m')).toThrow("the pause of step 'pay'")
    expect(() => step.pause('rest', 'soon' as Duration)).toThrow("the pause 'rest' of step 'pay'")
    expect(() => step.pause('rest', '1m', () => 1)).toThrow("the data of pause 'rest' in step 'pay'")
    expect(reports).toEqual([])
  })
})
