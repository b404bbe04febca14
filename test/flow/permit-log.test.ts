import { describe, expect, it } from 'vitest'
import type { Frame, JournalEvent } from '../../sdk/base/events.ts'
import { FORMAT, idempotencyKey } from '../../sdk/base/names.ts'
import { openPermits, releasedSince } from '../../sdk/flow/limiter/permit-log.ts'
import { holderOf } from '../../sdk/flow/limiter/queue.ts'

const run = { id: 'run', format: FORMAT, generation: 0 }
const holder = (op: string, nth?: number) => holderOf(run, idempotencyKey(run, op), nth)
const error = { name: 'Error', message: 'no' }

const queued = (id: string, nth = 1, limit = 'api'): JournalEvent => ({ type: 'step.queued', id, limit, order: 5, nth })
const admitted = (id: string): JournalEvent => ({ type: 'step.admitted', id, limit: 'api', order: 5 })
const completed = (id: string): JournalEvent => ({ type: 'step.completed', id })
const retrying = (id: string): JournalEvent => ({ type: 'step.retrying', id, attempt: 1, error, until: 9 })
const paused = (id: string): JournalEvent => ({ type: 'step.paused', id, name: 'rest', until: 9 })
const failed = (id: string): JournalEvent => ({ type: 'step.failed', id, attempt: 1, error })
const task = (type: 'task.queued' | 'task.admitted', id = 't'): JournalEvent =>
  ({ type, id, limit: 'api', order: 5, ...(type === 'task.queued' && { nth: 1 }) }) as JournalEvent
const decided = (...withdrawn: string[]) =>
  ({ type: 'decided', id: 'race', winner: 'a', withdrawn }) as unknown as JournalEvent
const retried: JournalEvent = { type: 'run.retried' }

const open = (...events: JournalEvent[]) => openPermits(run, events).map((permit) => permit.holder)

describe('a permit that a run may hold', () => {
  it('is what it has asked for and not released', () => {
    expect(openPermits(run, [queued('a'), { ...queued('b'), key: 'k' } as JournalEvent])).toEqual([
      { op: 'a', limiter: { limit: 'api' }, holder: holder('a', 1), order: 5 },
      { op: 'b', limiter: { limit: 'api', key: 'k' }, holder: holder('b', 1), order: 5 },
    ])
    expect(open(queued('a'), queued('b'), completed('a'))).toEqual([holder('b', 1)])
  })

  it.each([
    ['completes', completed('a')],
    ['fails', failed('a')],
    ['is tried again later', retrying('a')],
    ['pauses', paused('a')],
    ['loses a race', decided('a')],
  ])('is released when its step %s', (_, event) => {
    expect(open(queued('a'), event)).toEqual([])
  })

  it('is kept where something else is decided, saved or settled', () => {
    const checkpoint: JournalEvent = { type: 'step.checkpoint', id: 'a', data: 1 }
    expect(open(queued('a'), checkpoint, completed('b'), decided('c'))).toEqual([holder('a', 1)])
    expect(open(queued('a'), { type: 'decided', id: 'race', winner: 'b' } as unknown as JournalEvent)).toHaveLength(1)
  })

  it('is another one with each request of the same step', () => {
    expect(open(queued('a', 1), retrying('a'), queued('a', 2))).toEqual([holder('a', 2)])
    expect(holder('a', 1)).not.toBe(holder('a', 2))
  })

  it('is the same once it is granted: a slot is held in the name of the request', () => {
    expect(open(queued('a', 2), admitted('a'))).toEqual([holder('a', 2)])
    expect(open(task('task.queued'), task('task.admitted'))).toEqual([holder('t', 1)])
  })

  it('of an earlier version is known since it was granted, without a number', () => {
    expect(open(admitted('a'))).toEqual([holder('a')])
    expect(open(admitted('a'), retrying('a'), admitted('a'))).toEqual([holder('a')])
    expect(open(admitted('a'), retrying('a'), queued('a', 1))).toEqual([holder('a', 1)])
  })

  it('of a task is kept while the task is out, and released with its end', () => {
    const out: JournalEvent[] = [
      task('task.queued'),
      task('task.admitted'),
      { type: 'task.dispatched', id: 't', task: 'mail' },
    ]
    expect(open(...out)).toEqual([holder('t', 1)])
    expect(open(...out, { type: 'task.completed', id: 't' } as JournalEvent)).toEqual([])
    expect(open(...out, { type: 'task.failed', id: 't', attempt: 1, error } as JournalEvent)).toEqual([])
  })

  it('is none where the run was retried after its end, which released all', () => {
    expect(open(queued('a'), task('task.queued'), retried)).toEqual([])
    expect(open(queued('a'), retried, queued('a', 2))).toEqual([holder('a', 2)])
  })

  it('is never held in the name of another run, generation or step', () => {
    const of = (changes: Partial<typeof run>, id = 'a') => openPermits({ ...run, ...changes }, [queued(id)])[0]!.holder
    const holders = [of({}), of({ id: 'other' }), of({ generation: 1 }), of({}, 'b')]
    expect(new Set(holders).size).toBe(4)
    expect(holders.map((each) => each.split('/')[0])).toEqual(['run', 'other', 'run', 'run'])
  })
})

describe('what runners that died may not have released', () => {
  const frame = (epoch: number, ...events: JournalEvent[]): Frame => ({ seq: epoch, at: 1, epoch, events })
  const toRepeat = (lastGoodEpoch: number, ...frames: Frame[]) =>
    releasedSince(run, frames, lastGoodEpoch).map((permit) => permit.holder)

  it('is what their frames say was released, and nothing of runners that gave the run up', () => {
    const frames = [frame(1, queued('a'), queued('b')), frame(2, completed('a')), frame(3, completed('b'))]
    expect(toRepeat(1, ...frames)).toEqual([holder('a', 1), holder('b', 1)])
    expect(toRepeat(2, ...frames)).toEqual([holder('b', 1)])
    expect(toRepeat(3, ...frames)).toEqual([])
  })

  it('is nothing that is still held or waits', () => {
    expect(toRepeat(0, frame(1, queued('a')), frame(2, admitted('a')))).toEqual([])
    expect(toRepeat(0, frame(1, completed('a')))).toEqual([])
  })

  it('is the permit of each attempt', () => {
    const frames = [frame(1, queued('a'), retrying('a'), queued('a', 2)), frame(2, paused('a'), queued('a', 3))]
    expect(toRepeat(0, ...frames)).toEqual([holder('a', 1), holder('a', 2)])
  })

  it('is an earlier request of a step that asks anew, though nothing has happened to the step', () => {
    expect(toRepeat(1, frame(1, queued('a')), frame(2, queued('a', 2)))).toEqual([holder('a', 1)])
    expect(toRepeat(2, frame(1, queued('a')), frame(2, queued('a', 2)))).toEqual([])
  })

  it('is what a race withdrew, and all permits of a run that was retried', () => {
    expect(toRepeat(1, frame(1, queued('a'), queued('b')), frame(2, decided('b')))).toEqual([holder('b', 1)])
    expect(toRepeat(1, frame(1, queued('a'), queued('b')), frame(2, retried))).toEqual([holder('a', 1), holder('b', 1)])
  })
})
