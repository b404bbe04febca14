import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import type { JournalEvent } from '../../sdk/base/events.ts'
import type { Facts } from '../../sdk/engine/facts.ts'
import type { FrameBuffer } from '../../sdk/engine/frame-buffer.ts'
import { Mailbox } from '../../sdk/engine/mailbox.ts'
import { Operation, type Request } from '../../sdk/engine/operation.ts'
import type { Replay } from '../../sdk/engine/replay.ts'
import type { Message } from '../../sdk/ports/run.ts'
import type { World } from '../../sdk/ports/world.ts'
import { type AnySignal, request, signal } from '../../sdk/workflow.ts'

const error = { name: 'Error', message: 'no' }
const go = signal('go', z.object({ n: z.number() }))

/** A mailbox of a run in its third generation that was retried once, and all that it says. */
function mailbox() {
  const operations = new Map<string, Operation>()
  const consumed: string[] = []
  const journaled: JournalEvent[] = []
  const warnings: unknown[][] = []
  const journal = { consumed: new Set<string>(), retries: 1 }
  const replay = { run: { id: 'run', workflow: 'order', generation: 2 }, journal, operations } as unknown as Replay
  const buffer = {
    consume: (id: string) => void consumed.push(id),
    add: (event: JournalEvent) => void journaled.push(event),
  } as unknown as FrameBuffer
  const world = { log: (...said: unknown[]) => void warnings.push(said) } as unknown as World
  const sleeps: Operation[] = []
  const box = new Mailbox(world, replay, buffer, () => sleeps.filter(({ settled }) => !settled))
  const called = (id: string, request: Partial<Request>, turn = 1, opened?: Facts['opened']): Operation => {
    const facts = opened && { kind: request.kind!, failures: 0, opened }
    const operation = new Operation(id, request as Request, facts, turn, 0)
    operations.set(id, operation)
    return operation
  }
  const waiting = (id: string, turn = 1, awaited: AnySignal = go) => {
    const operation = called(id, { kind: 'wait', signal: awaited } as Partial<Request>, turn)
    box.awaitSignal(awaited.name, operation)
    return operation
  }
  return { box, called, waiting, sleeps, consumed, journaled, warnings, journal }
}
const sent = (id: string, n: unknown = 1): Message => ({ id, kind: 'signal', name: 'go', payload: { n } as never })

describe('a signal', () => {
  it('goes to the wait for it, and is consumed with that', async () => {
    const { box, waiting, consumed } = mailbox()
    box.receive([sent('m1')])
    waiting('w')
    expect(await box.next()).toEqual({ type: 'wait.completed', id: 'w', from: 'm1', payload: { n: 1 } })
    expect(consumed).toEqual(['m1'])
  })

  it('is kept until a wait for it opens', async () => {
    const { box, waiting, consumed } = mailbox()
    box.receive([sent('m1'), sent('m2')])
    expect(box.hasUnmatched).toBe(true)
    expect(await box.next()).toBeUndefined()
    expect([box.hasUnmatched, consumed]).toEqual([false, []])
    waiting('w')
    expect(box.hasUnmatched).toBe(true)
    expect(await box.next()).toMatchObject({ from: 'm1' })
  })

  it('of another name is not for this wait', async () => {
    const { box, waiting } = mailbox()
    box.receive([{ id: 'm0', kind: 'signal', name: 'other' }, sent('m1')])
    waiting('w')
    expect(await box.next()).toMatchObject({ from: 'm1' })
  })

  it('goes to the wait that was opened last; of those opened in one breath, to the first', async () => {
    const { box, waiting } = mailbox()
    waiting('loser', 1)
    const first = waiting('first', 2)
    const second = waiting('second', 2)
    box.receive([sent('m1'), sent('m2'), sent('m3')])
    const ids: unknown[] = []
    for (const operation of [first, second, undefined]) {
      ids.push(await box.next())
      operation?.resolve(undefined)
    }
    expect(ids).toMatchObject([
      { id: 'first', from: 'm1' },
      { id: 'second', from: 'm2' },
      { id: 'loser', from: 'm3' },
    ])
  })

  it('that does not fit is set aside on record, and the next one is tried', async () => {
    const { box, waiting, journaled, consumed, warnings } = mailbox()
    waiting('w')
    box.receive([sent('m1', 'x'), sent('m2')])
    expect(await box.next()).toMatchObject({ from: 'm2' })
    expect(journaled).toMatchObject([
      {
        type: 'signal.rejected',
        id: 'w',
        from: 'm1',
        reason: expect.stringContaining("signal 'go' does not fit its schema"),
      },
    ])
    expect(consumed).toEqual(['m1', 'm2'])
    expect(warnings).toMatchObject([
      ['warn', expect.stringContaining('set aside'), { runId: 'run', workflow: 'order', signal: 'go', message: 'm1' }],
    ])
  })

  it('alone that does not fit leaves the run waiting', async () => {
    const { box, waiting } = mailbox()
    waiting('w')
    box.receive([sent('m1', 'x')])
    expect(await box.next()).toBeUndefined()
  })
})

describe('messages of different names', () => {
  const [pause, resume] = [signal('pause'), signal('resume')]
  const bare = (id: string, name: string): Message => ({ id, kind: 'signal', name })

  it('are taken in the order in which they arrived', async () => {
    const { box, waiting } = mailbox()
    box.receive([bare('m1', 'pause'), bare('m2', 'resume'), bare('m3', 'pause'), bare('m4', 'resume')])
    const taken: unknown[] = []
    for (let round = 0; round < 4; round++) {
      const open = [waiting(`r${round}`, round, resume), waiting(`p${round}`, round, pause)]
      taken.push(await box.next())
      for (const operation of open) operation.resolve(undefined)
    }
    expect(taken).toMatchObject([{ from: 'm1' }, { from: 'm2' }, { from: 'm3' }, { from: 'm4' }])
  })

  it('that came later do not wait for one that the code does not wait for', async () => {
    const { box, waiting } = mailbox()
    box.receive([bare('m1', 'pause'), bare('m2', 'resume')])
    waiting('r', 1, resume)
    expect(await box.next()).toMatchObject({ from: 'm2' })
  })

  it.each(['signal', 'answer'] as const)('are taken in that order beside answers: the %s came first', async (first) => {
    const { box, waiting, called } = mailbox()
    const answer = { id: 'a', kind: 'callback', op: 'c', generation: 2, result: 1 } as Message
    waiting('r', 1, resume)
    called('c', { kind: 'callback' })
    box.receive(first === 'signal' ? [bare('s', 'resume'), answer] : [answer, bare('s', 'resume')])
    expect(await box.next()).toMatchObject(
      first === 'signal' ? { type: 'wait.completed' } : { type: 'callback.completed' },
    )
  })
})

describe('a signal that carries nothing', () => {
  it('gives the code `true`, which a timeout never does', async () => {
    const { box, waiting } = mailbox()
    waiting('w', 1, signal('bare'))
    box.receive([{ id: 'm1', kind: 'signal', name: 'bare' }])
    expect(await box.next()).toEqual({ type: 'wait.completed', id: 'w', from: 'm1', payload: true })
  })

  it('is `true` also where its schema makes nothing of it', async () => {
    const { box, waiting } = mailbox()
    waiting('w', 1, signal('note', z.string().optional()))
    box.receive([{ id: 'm1', kind: 'signal', name: 'note' }])
    expect(await box.next()).toMatchObject({ payload: true })
  })

  it('stays what its schema makes of it, where that is something', async () => {
    const { box, waiting } = mailbox()
    waiting('w', 1, signal('note', z.string().default('none')))
    box.receive([{ id: 'm1', kind: 'signal', name: 'note' }])
    expect(await box.next()).toMatchObject({ payload: 'none' })
  })

  it.each([null, false, 0, ''])('is not one that carries %o', async (payload) => {
    const { box, waiting } = mailbox()
    waiting('w', 1, signal('bare'))
    box.receive([{ id: 'm1', kind: 'signal', name: 'bare', payload }])
    expect(await box.next()).toMatchObject({ payload })
  })

  it('has no payload as a request: a request that timed out is no object', async () => {
    const { box, waiting } = mailbox()
    waiting('w', 1, request('look'))
    box.receive([{ id: 'm1', kind: 'signal', name: 'look', asks: true }])
    expect(await box.next()).toEqual({ type: 'wait.completed', id: 'w', from: 'm1' })
  })
})

describe('a signal that the replay returns', () => {
  it('is taken as its schema made it, and not held against the schema again', async () => {
    const { box, waiting, journaled } = mailbox()
    waiting(
      'w',
      1,
      signal(
        'when',
        z.string().transform((text) => text.length),
      ),
    )
    box.receive([{ id: 'm1', kind: 'signal', name: 'when', payload: 4, isReturned: true }])
    expect(await box.next()).toMatchObject({ from: 'm1', payload: 4 })
    expect(journaled).toEqual([])
  })
})

describe('a message that is there twice', () => {
  it('is taken in once', async () => {
    const { box, waiting } = mailbox()
    box.receive([sent('m1')])
    box.receive([sent('m1')])
    waiting('w').resolve(undefined)
    const next = waiting('next')
    expect(await box.next()).toMatchObject({ from: 'm1' })
    next.resolve(undefined)
    waiting('last')
    expect(await box.next()).toBeUndefined()
  })

  it('in the journal and in the store is only marked', async () => {
    const { box, waiting, journal, consumed } = mailbox()
    journal.consumed.add('m1')
    box.receive([sent('m1')])
    expect([box.hasUnmatched, consumed]).toEqual([false, ['m1']])
    waiting('w')
    expect(await box.next()).toBeUndefined()
  })
})

describe('a request to stop', () => {
  it('comes before signals, with its reason', async () => {
    const { box, waiting, consumed } = mailbox()
    waiting('w')
    box.receive([sent('m1'), { id: 'c1', kind: 'cancel', reason: 'enough' }, { id: 'c2', kind: 'cancel' }])
    expect(await box.next()).toStrictEqual({ type: 'run.cancelRequested', from: 'c1', reason: 'enough' })
    expect(await box.next()).toStrictEqual({ type: 'run.cancelRequested', from: 'c2' })
    expect(consumed).toEqual(['c1', 'c2'])
  })
})

describe('a message that wakes the run', () => {
  it('skips every sleep the run is in, and is consumed after the last', async () => {
    const { box, called, sleeps, consumed } = mailbox()
    sleeps.push(called('a', { kind: 'sleep' }), called('b', { kind: 'sleep' }))
    box.receive([{ id: 'w1', kind: 'wake' }])
    for (const sleep of sleeps) {
      expect(await box.next()).toEqual({ type: 'sleep.completed', id: sleep.id, skippedBy: 'w1' })
      expect(consumed).toEqual([])
      sleep.resolve(undefined)
    }
    expect(await box.next()).toBeUndefined()
    expect(consumed).toEqual(['w1'])
  })
})

describe('an answer', () => {
  const task = { kind: 'task', op: 't', attempt: 1, iteration: 0, generation: 2, round: 1 } as const

  it('of a task is its result, with attempt and iteration where they say something', async () => {
    const { box, called } = mailbox()
    called('t', { kind: 'task' })
    box.receive([
      { ...task, id: 'm1', result: 7 },
      { ...task, id: 'm2', attempt: 2, iteration: 1 },
    ])
    expect(await box.next()).toStrictEqual({ type: 'task.completed', id: 't', result: 7 })
    expect(await box.next()).toStrictEqual({ type: 'task.completed', id: 't', attempt: 2, iteration: 1 })
  })

  it('of a task that failed for good counts, unless an operator has retried the run since', async () => {
    const { box, called, consumed } = mailbox()
    called('t', { kind: 'task' })
    const { iteration: _, ...failed } = { ...task, kind: 'task.failed' as const, error }
    box.receive([
      { ...failed, id: 'm1', round: 0 },
      { ...failed, id: 'm2', attempt: 3 },
    ])
    expect(await box.next()).toStrictEqual({ type: 'task.failed', id: 't', attempt: 3, error })
    expect(consumed).toEqual(['m1', 'm2'])
  })

  it('of a child is its result or its error', async () => {
    const { box, called } = mailbox()
    called('kid', { kind: 'child' })
    const child = { kind: 'child', run: 'run.kid', op: 'kid' } as const
    box.receive([
      { ...child, id: 'm1', status: 'completed', result: 7 },
      { ...child, id: 'm2', status: 'failed', error },
      { ...child, id: 'm3', status: 'cancelled', generation: 2 },
    ])
    expect(await box.next()).toEqual({ type: 'child.completed', id: 'kid', result: 7 })
    expect(await box.next()).toMatchObject({
      type: 'child.failed',
      id: 'kid',
      error: { name: 'ChildRunError', runId: 'run.kid', status: 'failed', cause: error },
    })
    const cancelled = await box.next()
    expect(cancelled).toMatchObject({ error: { status: 'cancelled' } })
    expect(cancelled).not.toHaveProperty('error.cause')
  })

  it('of a child that is not the one in the journal is dropped', async () => {
    const { box, called, consumed } = mailbox()
    const opened = {
      type: 'child.started',
      id: 'kid',
      run: 'run.kid~r1',
      workflow: 'w',
      version: 1,
      onParentEnd: 'cancel',
    } as const
    called('kid', { kind: 'child' }, 1, opened)
    box.receive([
      { id: 'm1', kind: 'child', run: 'run.kid', op: 'kid', status: 'completed' },
      { id: 'm2', kind: 'child', run: 'run.kid~r1', op: 'kid', status: 'completed' },
    ])
    expect(await box.next()).toMatchObject({ type: 'child.completed' })
    expect(consumed).toEqual(['m1', 'm2'])
  })

  it('of another generation, or to something that is over, is dropped', async () => {
    const { box, called, consumed } = mailbox()
    called('t', { kind: 'task' }).resolve(undefined)
    called('u', { kind: 'task' })
    box.receive([
      { ...task, id: 'm1' },
      { ...task, id: 'm2', op: 'u', generation: 1 },
    ])
    expect(await box.next()).toBeUndefined()
    expect(consumed).toEqual(['m1', 'm2'])
  })

  it('to something that the code has not called yet is kept, unless it is of a child, and does not hold up others', async () => {
    const { box, called, consumed } = mailbox()
    box.receive([
      { ...task, id: 'm1', op: 'later' },
      { id: 'm2', kind: 'child', run: 'x', op: 'gone', status: 'completed' },
      { id: 'm3', kind: 'cancel' },
    ])
    expect(box.isAnswered('later')).toBe(true)
    expect(await box.next()).toMatchObject({ from: 'm3' })
    expect(consumed).toEqual(['m2', 'm3'])
    expect(await box.next()).toBeUndefined()
    expect([box.isAnswered('later'), box.isAnswered('other')]).toEqual([true, false])
    called('later', { kind: 'task' })
    box.look()
    expect(box.hasUnmatched).toBe(true)
    expect(await box.next()).toMatchObject({ type: 'task.completed', id: 'later' })
    expect(await box.next()).toBeUndefined()
    box.look()
    expect(box.hasUnmatched).toBe(false)
  })

  it('that the run gives itself needs no store', async () => {
    const { box, called } = mailbox()
    called('kid', { kind: 'child' })
    box.receiveOwn({ id: 'invalid kid', kind: 'child', run: 'x', op: 'kid', status: 'failed', error })
    expect(box.hasUnmatched).toBe(true)
    expect(await box.next()).toMatchObject({ type: 'child.failed' })
  })
})

describe('a callback', () => {
  const callback = { kind: 'callback', op: 'cb', generation: 2 } as const
  const request = { kind: 'callback', schema: z.object({ n: z.number().default(7) }) } as Partial<Request>

  it('completes with what its schema makes of it', async () => {
    const { box, called } = mailbox()
    called('cb', request)
    box.receive([{ ...callback, id: 'm1', result: {} }])
    expect(await box.next()).toEqual({ type: 'callback.completed', id: 'cb', result: { n: 7 } })
  })

  it('that does not fit is set aside on record, and the run waits on', async () => {
    const { box, called, journaled, consumed, warnings } = mailbox()
    called('cb', request)
    box.receive([{ ...callback, id: 'm1', result: { n: 'x' } }])
    expect(await box.next()).toBeUndefined()
    expect(journaled).toMatchObject([
      {
        type: 'callback.rejected',
        id: 'cb',
        from: 'm1',
        reason: expect.stringContaining("callback 'cb' does not fit its schema"),
      },
    ])
    expect(consumed).toEqual(['m1'])
    expect(warnings).toMatchObject([['warn', expect.stringContaining('set aside'), { callback: 'cb' }]])
  })

  it('may fail', async () => {
    const { box, called } = mailbox()
    called('cb', request)
    box.receive([{ ...callback, id: 'm1', kind: 'callback.failed', error }])
    expect(await box.next()).toEqual({ type: 'callback.failed', id: 'cb', error })
  })
})
