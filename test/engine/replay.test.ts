import { describe, expect, it } from 'vitest'
import {
  CancelledError,
  ForeignAwaitError,
  MisplacedCallError,
  NonDeterminismError,
  StepError,
  TimeoutError,
} from '../../sdk/base/errors.ts'
import type { FrameEvent, JournalEvent } from '../../sdk/base/events.ts'
import { Journal } from '../../sdk/engine/journal.ts'
import type { Request } from '../../sdk/engine/operation.ts'
import { Replay } from '../../sdk/engine/replay.ts'
import { running } from '../../sdk/engine/running.ts'
import type { RunRecord } from '../../sdk/ports/run.ts'

const error = { name: 'Error', message: 'no' }
const step = { kind: 'step', body: () => {}, options: {}, timeoutMs: undefined } as Request
const sleep = { kind: 'sleep', ms: 1 } as Request
const wait = { kind: 'wait', signal: { name: 'w', schema: undefined } } as Request
const done = (id: string, result: number | object = 1): JournalEvent =>
  ({ type: 'step.completed', id, result }) as JournalEvent
const never = () => new Promise<never>(() => {})

/** Code on a journal: each group is a frame, a second apart. */
function replayOf(groups: FrameEvent[][] = [], run: Partial<RunRecord> = {}, onStray?: () => void): Replay {
  const frames = groups.map((events, i) => ({ seq: i + 1, at: (i + 1) * 1_000, epoch: 1, events }))
  return new Replay(
    { id: 'run', workflow: 'order', version: 1, format: 2, generation: 0, ...run } as RunRecord,
    new Journal(frames, 0, 500),
    onStray,
  )
}
const call = (replay: Replay, name: string, request: Request = step, isCleanUp?: boolean) =>
  replay.call('', name, request, isCleanUp).promise

describe('code on an empty journal', () => {
  it('asks for what it needs, gets it, and ends', async () => {
    const replay = replayOf()
    expect(replay.replaying).toBe(false)
    await replay.begin(async () => (await call(replay, 'a')) as number)
    expect([replay.pending, replay.end, replay.now]).toEqual([1, undefined, 500])
    expect(replay.takeFresh().map(({ id }) => id)).toEqual(['a'])
    expect(replay.takeFresh()).toEqual([])
    await replay.deliver({ type: 'step.completed', id: 'a', result: 7 }, 900)
    expect([replay.pending, replay.end, replay.now]).toEqual([0, { kind: 'returned', value: 7 }, 900])
  })

  it('that throws has thrown an error, whatever it was', async () => {
    const replay = replayOf()
    await replay.begin(() => Promise.reject('text'))
    expect(replay.end).toMatchObject({ kind: 'threw', error: { message: 'text' } })
  })

  it('gives every call an identity, repeats too', async () => {
    const replay = replayOf()
    await replay.begin(async () => {
      for (const name of ['a', 'a', 'a', 'b', 'x/y']) void call(replay, name)
      void replay.call('scope/', 'a', step)
      await never()
    })
    expect([...replay.operations.keys()]).toEqual(['a', 'a:1', 'a:2', 'b', 'x~1y', 'scope/a'])
    expect(replay.takeFresh().map(({ turn }) => turn)).toEqual([1, 1, 1, 1, 1, 1])
  })

  it('may settle something at once', async () => {
    const replay = replayOf()
    await replay.begin(async () => {
      const operation = replay.call('', 'kid', step)
      replay.settleAtOnce(operation, { runId: 'x' })
      return operation.promise
    })
    expect([replay.pending, replay.end]).toEqual([0, { kind: 'returned', value: { runId: 'x' } }])
  })

  it('that continues as new has ended with that, whatever it does afterwards', async () => {
    const replay = replayOf()
    await replay.begin(async () => {
      void replay.continueAsNew({ n: 2 })
      return 'ignored'
    })
    expect(replay.end).toEqual({ kind: 'continued', input: { n: 2 } })
  })
})

describe('what is delivered to the code', () => {
  const told = async (request: Request, event: JournalEvent) => {
    const replay = replayOf([[event]])
    let outcome: unknown
    await replay.begin(async () => {
      outcome = await call(replay, 'a', request).catch((thrown: unknown) => thrown)
    })
    expect(replay.violation).toBeUndefined()
    return outcome
  }
  const callback = { kind: 'callback' } as Request
  const child = { kind: 'child', options: {} } as unknown as Request
  const task = { kind: 'task' } as Request

  it.each<[Request, JournalEvent, unknown]>([
    [step, done('a', 7), 7],
    [callback, { type: 'callback.completed', id: 'a', result: 7 }, 7],
    [child, { type: 'child.completed', id: 'a', result: 7 }, 7],
    [task, { type: 'task.completed', id: 'a', result: 7 }, 7],
    [sleep, { type: 'sleep.completed', id: 'a' }, undefined],
    [wait, { type: 'wait.timedOut', id: 'a' }, undefined],
    [wait, { type: 'wait.completed', id: 'a', from: 'm', payload: 7 }, 7],
    [child, { type: 'child.detached', id: 'a' }, { runId: '' }],
  ])('%o of %j', async (request, event, expected) => {
    expect(await told(request, event)).toEqual(expected)
  })

  it('of a detached child is its id', async () => {
    const replay = replayOf([
      [{ type: 'child.started', id: 'a', run: 'kid', workflow: 'w', version: 1, onParentEnd: 'abandon' }],
      [{ type: 'child.detached', id: 'a' }],
    ])
    await replay.begin(() => call(replay, 'a', child))
    expect(replay.end).toEqual({ kind: 'returned', value: { runId: 'kid' } })
  })

  it('are errors as they were, a step’s with its step', async () => {
    for (const [request, type] of [
      [callback, 'callback.failed'],
      [child, 'child.failed'],
    ] as const)
      expect(await told(request, { type, id: 'a', error } as JournalEvent)).toMatchObject({
        name: 'Error',
        message: 'no',
      })
    for (const [request, type] of [
      [step, 'step.failed'],
      [task, 'task.failed'],
    ] as const) {
      const failed = await told(request, { type, id: 'a', attempt: 3, error } as JournalEvent)
      expect(failed).toBeInstanceOf(StepError)
      expect(failed).toMatchObject({ step: 'a', attempts: 3, cause: { message: 'no' } })
      const cancelled = await told(request, {
        type,
        id: 'a',
        attempt: 3,
        error: { name: 'CancelledError', message: 'enough' },
      } as JournalEvent)
      expect(cancelled).toBeInstanceOf(CancelledError)
    }
  })

  it('is a copy: what the code does to it has no effect elsewhere', async () => {
    const event = done('a', { list: [1] })
    expect(await told(step, event)).not.toBe((event as { result: unknown }).result)
  })
})

describe('replaying', () => {
  it('takes the code through the journal, each delivery at its time', async () => {
    const replay = replayOf([[done('a', 1), { ...done('b', 2), dt: 30 }], [done('c', 3)]])
    expect(replay.replaying).toBe(true)
    const seen: unknown[] = []
    await replay.begin(async () => {
      for (const name of ['a', 'b', 'c', 'd']) seen.push([await call(replay, name), replay.now])
    })
    expect(seen).toEqual([
      [1, 1_000],
      [2, 1_030],
      [3, 2_000],
    ])
    expect(replay.replaying).toBe(true)
    await replay.deliver({ type: 'step.completed', id: 'd' }, 9_000)
    expect([replay.replaying, replay.now]).toEqual([false, 9_000])
  })

  it('counts turns: what is called later knows more', async () => {
    const replay = replayOf([[done('a'), done('b')]])
    await replay.begin(async () => {
      for (const name of ['a', 'b', 'c']) await call(replay, name)
    })
    await replay.deliver({ type: 'step.completed', id: 'c' }, 1)
    expect([...replay.operations.values()].map(({ turn }) => turn)).toEqual([1, 2, 3])
  })

  it('delivers once: a second word on the same operation changes nothing', async () => {
    const replay = replayOf([[done('a', 1), done('a', 2)]])
    let value: unknown
    await replay.begin(async () => {
      value = await call(replay, 'a')
      await never()
    })
    expect([value, replay.pending, replay.violation]).toEqual([1, 0, undefined])
  })

  const broken = async (groups: FrameEvent[][], code: (replay: Replay) => Promise<unknown>) => {
    const replay = replayOf(groups)
    await replay.begin(() => code(replay))
    expect(replay.violation).toBeInstanceOf(NonDeterminismError)
    return replay.violation!.message
  }

  it('notices another kind under the same name', async () => {
    expect(await broken([[{ type: 'sleep.started', id: 'a', until: 9 }]], (replay) => call(replay, 'a'))).toContain(
      "after its start, its history has a sleep 'a', but the code calls a step of that name",
    )
    expect(await broken([[{ type: 'sleep.completed', id: 'a' }]], (replay) => call(replay, 'a'))).toContain(
      "its history has a sleep 'a', but the code calls a step of that name",
    )
  })

  it('notices what the code no longer asks for', async () => {
    const first = (replay: Replay) => call(replay, 'a')
    expect(await broken([[done('a')], [done('b')]], (replay) => first(replay).then(never))).toContain(
      "after step 'a', its history goes on with step 'b', but the code waits for nothing",
    )
    expect(await broken([[done('a')], [done('b')]], first)).toContain(
      "its history goes on with step 'b', but the code had already ended",
    )
    const six = async (replay: Replay) => Promise.all(['1', '2', '3', '4', '5', '6'].map((name) => call(replay, name)))
    expect(await broken([[done('b')]], six)).toContain(
      "after its start, its history goes on with step 'b', but the code waits for step '1', step '2', step '3', step '4', step '5'. ",
    )
    expect(await broken([[{ type: 'sleep.started', id: 'nap', until: 9 }]], first)).toContain(
      "its history goes on with sleep 'nap', but the code waits for step 'a'",
    )
    expect(await broken([[{ type: 'sleep.started', id: 'nap', until: 9 }]], async () => 7)).toContain(
      "sleep 'nap', but the code had already ended",
    )
    expect(await broken([[{ type: 'run.cancelRequested', from: 'm' }]], async () => 7)).toContain(
      'its history goes on with the cancellation of the run, but',
    )
    expect(await broken([[{ type: 'run.timedOut' }]], async () => 7)).toContain(
      'its history goes on with the timeout of the run, but',
    )
  })

  it('stops at the first thing that does not fit', async () => {
    const replay = replayOf([[done('x')], [done('a')]])
    await replay.begin(async () => {
      void call(replay, 'a')
      await never()
    })
    expect(replay.operations.get('a')!.settled).toBe(false)
  })
})

describe('a request to stop', () => {
  it('ends waits with its reason, not steps, clean-ups or what was called since', async () => {
    const replay = replayOf()
    const thrown: unknown[] = []
    await replay.begin(async () => {
      void call(replay, 'step')
      void call(replay, 'undo', sleep, true)
      void call(replay, 'over', sleep)
      await call(replay, 'nap', sleep).catch((reason: unknown) => thrown.push(reason))
      await call(replay, 'since', sleep).catch((reason: unknown) => thrown.push(reason))
      await never()
    })
    await replay.deliver({ type: 'sleep.completed', id: 'over' }, 1)
    await replay.deliver({ type: 'run.cancelRequested', from: 'm', reason: 'enough' }, 1)
    expect(thrown).toMatchObject([{ name: 'CancelledError', message: 'enough' }])
    expect([replay.pending, replay.stopsRequested, replay.stopRequested]).toEqual([3, 1, thrown[0]])
    await replay.deliver({ type: 'run.timedOut' }, 2)
    expect(thrown[1]).toBeInstanceOf(TimeoutError)
    expect([replay.pending, replay.stopsRequested]).toEqual([2, 2])
    await replay.deliver({ type: 'run.cancelRequested', from: 'n' }, 3)
    expect(replay.stopRequested).toMatchObject({ message: "run 'run' was cancelled" })
  })
})

describe('where the code may not call', () => {
  const refused = async (act: (replay: Replay) => void) => {
    const replay = replayOf()
    await replay.begin(never)
    try {
      act(replay)
    } catch (thrown) {
      return { thrown, replay }
    }
    throw new Error('it was not refused')
  }

  it('is inside a step’s body', async () => {
    const { thrown, replay } = await refused((each) =>
      running.run({ runId: 'run', workflow: 'order', log: () => {}, step: 'pay' }, () => each.assertCallable('ctx.x')),
    )
    expect(thrown).toBeInstanceOf(MisplacedCallError)
    expect((thrown as Error).message).toContain("ctx.x was called inside the body of step 'pay'")
    expect(replay.violation).toBeUndefined()
  })

  it('is after its end', async () => {
    const { thrown } = await refused((replay) => {
      replay.close('the run ended')
      replay.assertCallable('ctx.x')
    })
    expect(thrown).toBeInstanceOf(MisplacedCallError)
    expect((thrown as Error).message).toContain('ctx.x was called after the run ended')
  })

  it('is before its beginning, between two turns and after its end, for whatever it may call', async () => {
    const uses: ((replay: Replay) => unknown)[] = [
      (replay) => call(replay, 'x'),
      (replay) => replay.patched('p'),
      (replay) => replay.continueAsNew(1),
    ]
    for (const use of uses) {
      const replay = replayOf()
      expect(() => use(replay)).toThrow(ForeignAwaitError)
      await replay.begin(() => call(replay, 'a').then(never))
      await replay.deliver({ type: 'step.completed', id: 'a' }, 1)
      expect(() => use(replay)).toThrow(ForeignAwaitError)
      replay.close('the end')
      expect(() => use(replay)).toThrow(MisplacedCallError)
    }
  })

  it('is after something that was not ours, which parks the run', async () => {
    const { thrown, replay } = await refused((each) => each.assertCallable('ctx.x'))
    expect(thrown).toBeInstanceOf(ForeignAwaitError)
    expect(replay.violation).toBe(thrown)
  })

  it('nor may it end there: a foreign promise that wins a race parks the run, and its waiters get the error', async () => {
    let strays = 0
    const replay = replayOf([], {}, () => strays++)
    let finish!: () => void
    await replay.begin(() => new Promise<void>((resolve) => (finish = resolve)))
    finish()
    await new Promise((resolve) => setImmediate(resolve))
    expect([strays, replay.end]).toEqual([1, undefined])
    expect(replay.violation).toMatchObject({
      name: 'ForeignAwaitError',
      message: expect.stringContaining('after its start'),
    })
  })

  it('and after its end nothing counts', async () => {
    let strays = 0
    const replay = replayOf([], {}, () => strays++)
    let finish!: () => void
    await replay.begin(() => new Promise<void>((resolve) => (finish = resolve)))
    replay.close('the end')
    finish()
    await new Promise((resolve) => setImmediate(resolve))
    expect([strays, replay.end, replay.violation]).toEqual([0, undefined, undefined])
  })
})

describe('a patch', () => {
  it('is in force for a new run, and noted once', async () => {
    const replay = replayOf()
    const answers: boolean[] = []
    await replay.begin(async () => {
      answers.push(replay.patched('p'), replay.patched('p'))
    })
    expect(answers).toEqual([true, true])
    expect(replay.takeNotes()).toEqual([{ type: 'patch', id: 'p' }])
    expect(replay.takeNotes()).toEqual([])
  })

  it('stays in force', async () => {
    const replay = replayOf()
    const answers: boolean[] = []
    await replay.begin(async () => {
      for (const name of ['a', 'b', 'c']) {
        await call(replay, name)
        answers.push(replay.patched('p'))
      }
    })
    for (const id of ['a', 'b', 'c']) await replay.deliver({ type: 'step.completed', id }, 1)
    expect(answers).toEqual([true, true, true])
  })

  it('is not in force where the run has been before, and is from where it was noted', async () => {
    const replay = replayOf([[done('a')], [{ type: 'patch', id: 'p' }], [done('b')]])
    const answers: boolean[] = []
    await replay.begin(async () => {
      answers.push(replay.patched('p'), replay.patched('q'))
      await call(replay, 'a')
      answers.push(replay.patched('p'), replay.patched('q'))
      await call(replay, 'b')
    })
    expect(answers).toEqual([false, false, true, false])
    expect(replay.takeNotes()).toEqual([])
  })
})

describe('a map', () => {
  it('is noted where it is new, and compared where it is not', async () => {
    const live = replayOf()
    live.groups.checkMap('m', ['a', 'b'])
    const [noted, ...more] = live.takeNotes()
    expect(noted).toMatchObject({ type: 'map', id: 'm', count: 2 })
    expect(more).toEqual([])
    const compared = (items: unknown[]) => {
      const replay = replayOf([[noted!, done('x')]])
      replay.groups.checkMap('m', items)
      return replay.violation?.message
    }
    expect(compared(['a', 'b'])).toBeUndefined()
    expect(compared(['a', 'b', 'c'])).toBeUndefined()
    expect(compared(['b', 'a'])).toContain("map 'm' went over 2 items, but the code has others, or in another order")
    expect(compared(['a'])).toContain("map 'm' went over 2 items, but the code has 1")
  })

  it('that is repeated is noted and compared each time for itself', () => {
    const live = replayOf()
    for (const [path, items] of [
      ['m', ['a']],
      ['m', ['b', 'c']],
      ['n', ['d']],
      ['m', ['a']],
    ] as const)
      live.groups.checkMap(path, items)
    const notes = live.takeNotes()
    expect(notes).toMatchObject([
      { id: 'm', count: 1 },
      { id: 'm:1', count: 2 },
      { id: 'n', count: 1 },
      { id: 'm:2', count: 1 },
    ])
    const compared = (...rounds: string[][]) => {
      const replay = replayOf([[...notes, done('x')]])
      for (const items of rounds) replay.groups.checkMap('m', items)
      return replay.violation?.message
    }
    expect(compared(['a'], ['b', 'c'], ['a'])).toBeUndefined()
    expect(compared(['a'], ['c', 'b'])).toContain(
      "map 'm:1' went over 2 items, but the code has others, or in another order",
    )
    expect(compared(['a'], ['b', 'c'], ['z'])).toContain("map 'm:2' went over 1 items")
  })

  it('is not noted in replay, nor where its items cannot be written down', () => {
    const replay = replayOf([[done('x')]])
    replay.groups.checkMap('m', ['a'])
    expect(replay.takeNotes()).toEqual([])
    const live = replayOf()
    live.groups.checkMap('m', [() => 1])
    expect(live.takeNotes()).toEqual([])
  })
})

describe('random numbers', () => {
  it('depend on the operation before them, and on how many there were since', async () => {
    const numbers = async (run: Partial<RunRecord>, names: string[]) => {
      const replay = replayOf([], run)
      const drawn: number[] = [replay.random().next(), replay.random().next()]
      await replay.begin(async () => {
        for (const name of names) void call(replay, name)
        drawn.push(replay.random().next())
      })
      return drawn
    }
    const drawn = await numbers({}, ['a'])
    expect(new Set(drawn).size).toBe(3)
    expect(await numbers({}, ['a'])).toEqual(drawn)
    expect((await numbers({}, ['b']))[2]).not.toBe(drawn[2])
    expect((await numbers({ generation: 1 }, ['a']))[2]).not.toBe(drawn[2])
    const old = await numbers({ format: 1 }, ['a'])
    expect(await numbers({ format: 1 }, ['b'])).toEqual(old)
    expect(new Set(old).size).toBe(3)
  })
})

describe('the failures behind an error', () => {
  it('are found along causes and lists, once each, in circles too', async () => {
    const replay = replayOf([
      [
        { type: 'step.failed', id: 'a', attempt: 1, error },
        { type: 'child.failed', id: 'b', error },
      ],
    ])
    let behind: string[][] = []
    await replay.begin(async () => {
      const [a, b] = await Promise.all([
        call(replay, 'a').catch((thrown: unknown) => thrown),
        call(replay, 'b', { kind: 'child' } as Request).catch((thrown: unknown) => thrown),
      ])
      const round = new Error('round', { cause: a })
      const circle = new AggregateError([round, b, a, 'text', null])
      circle.errors.push(circle)
      behind = [a, round, circle, new Error('x'), 'text', undefined].map((each) => replay.origins.behind(each))
    })
    expect(behind).toEqual([['a'], ['a'], ['a', 'b'], [], [], []])
  })
})

describe('a failure that an operator undid', () => {
  const retried: JournalEvent = { type: 'run.retried', ops: ['a'] }
  const failed: JournalEvent = { type: 'step.failed', id: 'a', attempt: 1, error }
  const ended: JournalEvent = { type: 'run.failed', error }

  it('never happened; what happened beside it stands', async () => {
    const replay = replayOf([
      [failed, done('b', 2), { type: 'sleep.started', id: 'nap', until: 9 }],
      [ended],
      [retried],
    ])
    const seen: unknown[] = []
    await replay.begin(async () => {
      void call(replay, 'nap', sleep)
      void call(replay, 'a').then((value) => seen.push(['a', value]))
      seen.push(['b', await call(replay, 'b')])
      await never()
    })
    expect([seen, replay.violation, replay.pending]).toEqual([[['b', 2]], undefined, 2])
    expect(replay.operations.get('nap')!.facts).toMatchObject({ opened: { until: 9 } })
    await replay.deliver({ type: 'step.completed', id: 'a', result: 1 }, 9_000)
    expect(seen.at(-1)).toEqual(['a', 1])
  })

  it('returns the signals that were consumed on the forgotten way (I9)', async () => {
    const waited: JournalEvent[] = [
      { type: 'wait.started', id: 'w', signal: 'go' },
      { type: 'wait.completed', id: 'w', from: 'm1', payload: 7 },
      { type: 'wait.started', id: 'v', signal: 'stop' },
      { type: 'wait.completed', id: 'v', from: 'm2' },
    ]
    const replay = replayOf([[failed, ...waited], [ended], [retried]])
    await replay.begin(() => call(replay, 'a'))
    expect(replay.violation).toBeUndefined()
    expect(replay.takeReturned()).toStrictEqual([
      { id: 'm1', kind: 'signal', name: 'go', payload: 7, isReturned: true },
      { id: 'm2', kind: 'signal', name: 'stop', isReturned: true },
    ])
    expect(replay.takeReturned()).toEqual([])
  })

  it('keeps a signal that a wait beside it consumed', async () => {
    const replay = replayOf([
      [
        { type: 'wait.started', id: 'w', signal: 'go' },
        failed,
        { type: 'wait.completed', id: 'w', from: 'm1', payload: 7 },
      ],
      [ended],
      [retried],
    ])
    let value: unknown
    await replay.begin(async () => {
      void call(replay, 'a')
      value = await call(replay, 'w', wait)
      await never()
    })
    expect([value, replay.takeReturned(), [...replay.journal.consumed]]).toEqual([7, [], ['m1']])
  })

  it('gives nothing back that the journal has consumed since', async () => {
    const waited: JournalEvent[] = [
      { type: 'wait.started', id: 'w', signal: 'go' },
      { type: 'wait.completed', id: 'w', from: 'm1', payload: 7 },
    ]
    const replay = replayOf([[failed, ...waited], [ended], [retried], [done('a')], waited])
    await replay.begin(async () => {
      await call(replay, 'a')
      return call(replay, 'w', wait)
    })
    expect([replay.end, replay.takeReturned()]).toEqual([{ kind: 'returned', value: 7 }, []])
  })

  it('twice in one place returns the signals of both (I9)', async () => {
    const waited = (id: string, from: string): JournalEvent[] => [
      { type: 'wait.started', id, signal: 'go' },
      { type: 'wait.completed', id, from },
    ]
    const replay = replayOf([
      [failed, ...waited('w', 'm1')],
      [ended],
      [retried],
      [failed, ...waited('w', 'm2')],
      [ended],
      [retried],
    ])
    await replay.begin(() => call(replay, 'a'))
    expect(replay.takeReturned().map(({ id }) => id)).toEqual(['m1', 'm2'])
  })

  it('may be followed by another, and by a request to stop that is forgotten with it', async () => {
    const cancel: JournalEvent = { type: 'run.cancelRequested', from: 'm9' }
    const replay = replayOf([
      [failed, cancel, done('b', 2)],
      [ended],
      [retried],
      [failed, done('c', 3)],
      [ended],
      [retried],
      [done('a', 1)],
    ])
    const seen: unknown[] = []
    await replay.begin(async () => {
      for (const name of ['b', 'c']) void call(replay, name).then((value) => seen.push(value))
      return call(replay, 'a')
    })
    expect([seen, replay.end, replay.violation, replay.stopsRequested]).toEqual([
      [2, 3],
      { kind: 'returned', value: 1 },
      undefined,
      0,
    ])
  })
})
