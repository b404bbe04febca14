import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import type { Duration } from '../../sdk/base/duration.ts'
import type { FrameEvent, JournalEvent } from '../../sdk/base/events.ts'
import type { Context, Logger, RunInfo, StepTools } from '../../sdk/context.ts'
import { readCallbackToken } from '../../sdk/engine/callback-token.ts'
import { Journal } from '../../sdk/engine/journal.ts'
import type { Request } from '../../sdk/engine/operation.ts'
import { Replay } from '../../sdk/engine/replay.ts'
import { replayAwareLogger, type Shared } from '../../sdk/engine/run-context.ts'
import { replaySilently } from '../../sdk/engine/silent-replay.ts'
import { startCode } from '../../sdk/engine/workflow-code.ts'
import type { RunRecord } from '../../sdk/ports/run.ts'
import { signal, workflow } from '../../sdk/workflow.ts'

const NOW = 1_000_000
const run = {
  id: 'run',
  workflow: 'order',
  version: 1,
  format: 2,
  generation: 0,
  attempt: 1,
  secret: 's',
  tags: [],
  baseSeq: 0,
  createdAt: NOW,
} as unknown as RunRecord
const settle = (id: string, result: number): JournalEvent => ({ type: 'step.completed', id, result })
const failed = (id: string): JournalEvent => ({
  type: 'step.failed',
  id,
  attempt: 1,
  error: { name: 'Error', message: `${id} failed` },
})
const framed = (events: FrameEvent[]) => (events.length === 0 ? [] : [{ seq: 1, at: NOW, epoch: 1, events }])

/** Takes code through a journal, and tells what it asked for and how it ended. */
async function code(
  body: (ctx: Context) => unknown,
  events: FrameEvent[] = [],
  changes: Partial<Omit<Shared, 'replay'>> = {},
) {
  const replay = new Replay(run, new Journal(framed(events), 0, NOW))
  const said: unknown[][] = []
  const progress: unknown[] = []
  const shared = {
    info: { runId: 'run', workflow: 'order' } as RunInfo,
    log: replayAwareLogger(replay, (...each) => void said.push(each)),
    compensations: [],
    setProgress: (value: unknown) => void progress.push(value),
    functions: undefined,
    publicUrl: undefined,
    stubs: undefined,
    ...changes,
  }
  const state = await startCode(
    workflow('order', async (ctx) => body(ctx)),
    undefined,
    replay,
    shared,
  )
  const ids = [...replay.operations.keys()]
  const requests = [...replay.operations.values()].map(({ request }) => request)
  return { replay, ids, requests, end: replay.end, state, said, progress, shared }
}
const refusal = async (body: (ctx: Context) => unknown) =>
  ((await code(body)).end as { error?: Error } | undefined)?.error?.message

describe('what ctx asks for', () => {
  it('is a step with its body, its options and its timeout', async () => {
    const body = () => 7
    const { requests } = await code((ctx) =>
      Promise.all([ctx.step('a', body), ctx.step('b', body, { timeout: '1s', retry: { attempts: 2 } })]),
    )
    expect(requests).toEqual([
      { kind: 'step', body, options: {}, timeoutMs: undefined },
      { kind: 'step', body, options: { timeout: '1s', retry: { attempts: 2 } }, timeoutMs: 1_000 },
    ])
  })

  it('is what stands in for a step, where something does', async () => {
    const stub = () => 8
    const { requests } = await code((ctx) => ctx.step('a', () => 7), [], { stubs: new Map([['a', stub]]) })
    expect(requests).toMatchObject([{ body: stub }])
  })

  it('are sleeps, by name or not, for a while or until a time', async () => {
    const { ids, requests } = await code((ctx) =>
      Promise.all([
        ctx.sleep('1s'),
        ctx.sleep('nap', 0),
        ctx.sleepUntil(NOW + 5),
        ctx.sleepUntil('till', new Date(NOW + 6)),
        ctx.sleep({ seconds: 2 }),
      ]),
    )
    expect(ids).toEqual(['sleep', 'nap', 'sleep:1', 'till', 'sleep:2'])
    expect(requests).toEqual([
      { kind: 'sleep', ms: 1_000 },
      { kind: 'sleep', ms: 0 },
      { kind: 'sleep', until: NOW + 5 },
      { kind: 'sleep', until: NOW + 6 },
      { kind: 'sleep', ms: 2_000 },
    ])
  })

  it('are signals, callbacks and tasks, with a timeout or without', async () => {
    const go = signal('go')
    const schema = z.number()
    const { requests } = await code((ctx) => {
      const { token } = ctx.callback('c', { schema, timeout: '2s' })
      expect(readCallbackToken(token)).toMatchObject({ runId: 'run', generation: 0, opId: 'c' })
      expect(readCallbackToken(token).isFrom(run)).toBe(true)
      void ctx.callback('d')
      return Promise.all([
        ctx.waitFor(go),
        ctx.waitFor(go, { timeout: '1s' }),
        ctx.task('mail', 1),
        ctx.task('mail', 2, { name: 'm', timeout: '3s' }),
      ])
    })
    expect(requests).toMatchObject([
      { kind: 'callback', ms: 2_000, schema },
      { kind: 'callback', ms: undefined },
      { kind: 'wait', signal: go, ms: undefined },
      { kind: 'wait', signal: go, ms: 1_000 },
      { kind: 'task', type: 'mail', input: 1, policy: { maxIterations: 100 } },
      { kind: 'task', type: 'mail', input: 2, policy: { timeoutMs: 3_000 } },
    ])
  })

  it('is another function, as a step named after it, with the key', async () => {
    const calls: unknown[] = []
    const functions = {
      invoke: async (...given: unknown[]) => void calls.push(given),
    } as unknown as Shared['functions']
    const { ids, requests } = await code(
      (ctx) =>
        Promise.all([ctx.invoke('arn:aws:lambda:pay', { n: 1 }), ctx.invoke('mail', 1, { name: 'm', timeout: '1s' })]),
      [],
      { functions },
    )
    expect(ids).toEqual(['pay', 'm'])
    expect(requests).toMatchObject([{ timeoutMs: undefined }, { options: { timeout: '1s' }, timeoutMs: 1_000 }])
    const tools = { idempotencyKey: 'key', signal: new AbortController().signal } as StepTools
    await (requests[0] as Extract<Request, { kind: 'step' }>).body(tools)
    expect(calls).toEqual([['arn:aws:lambda:pay', { n: 1 }, tools]])
    const none = await code((ctx) => ctx.invoke('pay'))
    expect(() => (none.requests[0] as Extract<Request, { kind: 'step' }>).body(tools)).toThrow(
      "there are no functions here that ctx.invoke('pay') could call",
    )
  })

  it('is a child, which may be taken for granted where format 1 did', async () => {
    const child = workflow('child', async () => 1)
    const started = (changes: object): JournalEvent => ({
      type: 'child.started',
      id: 'child',
      run: 'kid',
      workflow: 'child',
      version: 1,
      onParentEnd: 'abandon',
      ...changes,
    })
    const start = (ctx: Context) => ctx.run(child, 1, { id: 'kid', detached: true })
    expect((await code((ctx) => ctx.run(child, 1))).requests).toEqual([
      { kind: 'child', workflow: child, input: 1, options: {} },
    ])
    expect((await code(start)).requests).toEqual([
      { kind: 'child', workflow: child, input: 1, options: { id: 'kid', detached: true } },
    ])
    expect((await code(start, [started({ detached: true })])).end).toEqual({
      kind: 'returned',
      value: { runId: 'kid' },
    })
    expect((await code(start, [started({})])).end).toBeUndefined()
    const accepted = await code(start, [started({ detached: true }), { type: 'child.detached', id: 'child' }])
    expect([accepted.end, accepted.replay.pending]).toEqual([{ kind: 'returned', value: { runId: 'kid' } }, 0])
  })

  it.each<[string, (ctx: Context) => unknown]>([
    ['a step name', (ctx) => ctx.step('', () => 1)],
    ['the second argument must be the function to run', (ctx) => ctx.step('a', 7 as never)],
    ["step 'a': retry.attempts", (ctx) => ctx.step('a', () => 1, { retry: { attempts: 0 } })],
    ["the timeout of step 'a'", (ctx) => ctx.step('a', () => 1, { timeout: 'late' as Duration })],
    ["the payload for function 'f'", (ctx) => ctx.invoke('f', 1n)],
    ['a task type', (ctx) => ctx.task('')],
    ['a task name', (ctx) => ctx.task('mail', 1, { name: '' })],
    ["task 'm': maxIterations", (ctx) => ctx.task('mail', 1, { name: 'm', maxIterations: 0 })],
    ['a sleep name', (ctx) => ctx.sleep('', '1s')],
    ['a sleep name', (ctx) => ctx.sleepUntil('', NOW)],
    ["the sleep 'nap'", (ctx) => ctx.sleep('nap', -1)],
    ["the sleep 'sleep'", (ctx) => ctx.sleepUntil('never')],
    ["the timeout of the wait for 'go'", (ctx) => ctx.waitFor(signal('go'), { timeout: 0 })],
    ['a callback name', (ctx) => ctx.callback('')],
    ["the timeout of callback 'c'", (ctx) => ctx.callback('c', { timeout: 0 })],
    [
      'a run id has',
      (ctx) =>
        ctx.run(
          workflow('child', async () => 1),
          1,
          { id: '' },
        ),
    ],
    ['a scope name', (ctx) => ctx.scope('', async () => 1)],
    ['a map name', (ctx) => ctx.map('', [], async () => 1)],
    ["map 'm': concurrency must be at least 1, got 0", (ctx) => ctx.map('m', [1], async () => 1, { concurrency: 0 })],
    ['a compensation name', (ctx) => ctx.compensate('', () => 1)],
    ['the input of ctx.continueAsNew', (ctx) => ctx.continueAsNew(() => 1)],
    ['a patch id', (ctx) => ctx.patched('')],
    ["the progress of workflow 'order'", (ctx) => ctx.progress(() => 1)],
  ])('is refused: %s', async (why, body) => {
    expect(await refusal(body)).toContain(why)
  })
})

describe('scopes and maps', () => {
  it('give operations a path of their own', async () => {
    const { ids } = await code((ctx) =>
      ctx.scope('a/b', (inner) => inner.scope('c', (deep) => deep.step('d', () => 1))),
    )
    expect(ids).toEqual(['a~1b/c/d'])
  })

  const each = (ctx: Context, item: number) => ctx.step(`s${item}`, () => item)

  it('go over items so many at a time, and keep their order', async () => {
    const two = await code((ctx) => ctx.map('m', [1, 2, 3], each, { concurrency: 2 }), [])
    expect(two.ids).toEqual(['m/0/s1', 'm/1/s2'])
    const all = await code((ctx) => ctx.map('m', [1, 2, 3], each))
    expect(all.ids).toEqual(['m/0/s1', 'm/1/s2', 'm/2/s3'])
    expect(all.replay.takeNotes()).toMatchObject([{ type: 'map', id: 'm/', count: 3 }])
    const done = await code((ctx) => ctx.map('m', [1, 2], each), [settle('m/1/s2', 20), settle('m/0/s1', 10)])
    expect(done.end).toEqual({ kind: 'returned', value: [10, 20] })
    expect((await code((ctx) => ctx.map('m', [], each))).end).toEqual({ kind: 'returned', value: [] })
    const indexes: number[] = []
    await code((ctx) => ctx.map('m', ['a', 'b'], async (_ctx, _item, index) => indexes.push(index)))
    expect(indexes).toEqual([0, 1])
  })

  it('end with the first failure, or with one more than is tolerated, and begin nothing more', async () => {
    const items = [1, 2, 3]
    const first = await code((ctx) => ctx.map('m', items, each, { concurrency: 1 }), [failed('m/0/s1')])
    expect(first.end).toMatchObject({ kind: 'threw', error: { step: 'm/0/s1' } })
    expect(first.ids).toEqual(['m/0/s1'])
    const tolerated = await code(
      (ctx) => ctx.map('m', items, each, { tolerate: 1 }),
      [failed('m/0/s1'), settle('m/1/s2', 20), settle('m/2/s3', 30)],
    )
    expect(tolerated.end).toMatchObject({
      value: {
        reason: 'all',
        results: [
          { status: 'rejected', reason: { step: 'm/0/s1' } },
          { status: 'fulfilled', value: 20 },
          { status: 'fulfilled', value: 30 },
        ],
      },
    })
    const tooMany = await code(
      (ctx) => ctx.map('m', items, each, { tolerate: 1, concurrency: 1 }),
      [failed('m/0/s1'), failed('m/1/s2')],
    )
    expect(tooMany.end).toMatchObject({
      kind: 'returned',
      value: { reason: 'too many failed', failed: 2, withdrawn: 1 },
    })
    expect(tooMany.ids).toHaveLength(2)
    const others = await code(
      (ctx) => ctx.map('m', items, each, { concurrency: 2 }).catch(() => ctx.sleep('1s')),
      [failed('m/0/s1'), settle('m/1/s2', 20)],
    )
    expect(others.ids).not.toContain('m/2/s3')
  })
})

describe('compensation', () => {
  const saga = (ctx: Context) => {
    ctx.compensate('first', () => 1)
    ctx.compensate('second', () => 2, { retry: { attempts: 1 } })
    return ctx.step('pay', () => 1)
  }

  it('runs after a failure, last first, and the error stays', async () => {
    const begun = await code(saga, [failed('pay')])
    expect([begun.ids, begun.state.compensated, begun.end]).toEqual([['pay', 'compensate/second'], true, undefined])
    const [pay, undo] = [...begun.replay.operations.values()]
    expect([pay, undo].map((operation) => (operation!.request as { options: object }).options)).toEqual([
      {},
      { retry: { attempts: 1 } },
    ])
    expect([pay!.isStoppedBy(0), pay!.isStoppedBy(1), undo!.isStoppedBy(99)]).toEqual([false, true, false])
    const over = await code(saga, [failed('pay'), failed('compensate/second'), settle('compensate/first', 1)])
    expect(over.end).toMatchObject({ kind: 'threw', error: { step: 'pay' } })
  })

  it('is not needed after success, nor where there is nothing to undo', async () => {
    const fine = await code(saga, [settle('pay', 1)])
    expect([fine.end, fine.state.compensated]).toEqual([{ kind: 'returned', value: 1 }, false])
    const bare = await code((ctx) => ctx.step('pay', () => 1), [failed('pay')])
    expect([bare.end, bare.state.compensated]).toMatchObject([{ kind: 'threw' }, false])
  })

  it('that fails is logged, and the others still run', async () => {
    const { replay, ids, said } = await code(saga, [failed('pay')])
    await replay.deliver(failed('compensate/second') as never, NOW)
    expect([...replay.operations.keys()].at(-1)).toBe('compensate/first')
    expect(ids).toHaveLength(2)
    expect(said).toMatchObject([
      ['error', "compensation 'second' failed; the others still run", { runId: 'run', workflow: 'order' }],
    ])
  })
})

describe('the rest of ctx', () => {
  it('tells time, numbers and where the code runs', async () => {
    let seen: unknown[] = []
    await code(
      async (ctx) => {
        await ctx.step('a', () => 1)
        seen = [ctx.now(), ctx.info, ctx.patched('p'), typeof ctx.random(), ctx.uuid().length]
      },
      [{ ...settle('a', 1), dt: 5 }],
    )
    expect(seen).toEqual([NOW + 5, { runId: 'run', workflow: 'order' }, false, 'number', 36])
  })

  it('may not be used after the end', async () => {
    let ctx!: Context
    const { replay } = await code((given) => {
      ctx = given
    })
    replay.close('the end')
    for (const [what, use] of [
      ['ctx.random', () => ctx.random()],
      ['ctx.uuid', () => ctx.uuid()],
      ["ctx.compensate('x')", () => ctx.compensate('x', () => 1)],
    ] as const)
      expect(use).toThrow(`${what} was called after the end`)
  })

  it('continues as new and shows progress with copies', async () => {
    const value = { n: 1, none: undefined }
    const { end, progress } = await code((ctx) => {
      ctx.progress(value)
      return ctx.continueAsNew(value)
    })
    expect(end).toStrictEqual({ kind: 'continued', input: { n: 1 } })
    expect(progress).toStrictEqual([{ n: 1 }])
  })

  it('logs what is new, at every level, and nothing in replay', async () => {
    const levels = ['debug', 'info', 'warn', 'error'] as const
    const talk = (log: Logger) => levels.forEach((level) => void log[level](`it is ${level}`, { n: 1 }))
    const { said } = await code((ctx) => talk(ctx.log))
    expect(said).toEqual(levels.map((level) => [level, `it is ${level}`, { runId: 'run', workflow: 'order', n: 1 }]))
    expect((await code((ctx) => talk(ctx.log), [settle('x', 1)])).said).toEqual([])
  })
})

describe('a look at what code would do', () => {
  const order = workflow('order', { input: z.object({ n: z.number().default(7) }) }, async (ctx, { n }) => {
    ctx.log.info('silent')
    ctx.progress(n)
    await ctx.step(`step ${n}`, () => n)
  })
  const asked = async (changes: Partial<RunRecord>) => [
    ...(await replaySilently(order, { ...run, ...changes }, [])).operations.keys(),
  ]

  it('is on the input as it was parsed, or as it is parsed at every wake', async () => {
    expect(await asked({ input: {}, parsed: { n: 3 } })).toEqual(['step 3'])
    expect(await asked({ input: { n: 4 } })).toEqual(['step 4'])
    expect(await asked({ input: {}, parsed: { n: 3 }, reparse: true })).toEqual(['step 7'])
    expect(await asked({ input: {}, format: 1 })).toEqual(['step 7'])
    expect(await asked({ input: { n: 'x' }, format: 1 })).toEqual(['step x'])
  })

  it('goes through the frames of the generation, and no further', async () => {
    const frames = [1, 2, 3].map((seq) => ({ seq, at: NOW + seq, epoch: 1, events: [settle(`step ${seq}`, 1)] }))
    const replay = await replaySilently(order, { ...run, input: { n: 3 }, baseSeq: 2, startedAt: NOW - 5 }, frames)
    expect([replay.violation, replay.end]).toEqual([undefined, { kind: 'returned', value: undefined }])
    expect(() => replay.assertCallable('ctx.x')).toThrow('after the code was only looked at')
  })

  it('begins when the generation before it ended; the first one, when the run was first taken up', async () => {
    const heading = { seq: 2, at: NOW + 2, epoch: 1, events: [{ type: 'run.continued' as const, dt: 5 }] }
    const begunAt = async (changes: Partial<RunRecord>) =>
      (await replaySilently(order, { ...run, input: { n: 3 }, ...changes }, [heading])).journal.begunAt
    expect(await begunAt({ baseSeq: 2, startedAt: NOW - 5 })).toBe(NOW + 7)
    expect(await begunAt({ baseSeq: 3, startedAt: NOW - 5 })).toBe(NOW - 5)
    expect((await replaySilently(order, { ...run, input: { n: 3 }, startedAt: NOW - 5 }, [])).journal.begunAt).toBe(
      NOW - 5,
    )
    expect((await replaySilently(order, { ...run, input: { n: 3 }, createdAt: NOW - 9 }, [])).journal.begunAt).toBe(
      NOW - 9,
    )
  })
})
