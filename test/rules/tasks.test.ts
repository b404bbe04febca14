import { describe, expect, it } from 'vitest'
import type { Storage } from '../../sdk/rules/storage.ts'
import { dispatchTask, settleTask, withdrawTask } from '../../sdk/rules/tasks.ts'
import { asWaiting, type NewTask, type Task } from '../../sdk/tasks/task.ts'
import { decide, NOW, script, stored } from './scripted-storage.ts'

const run = stored()
const task: NewTask = {
  id: 'run.step',
  runId: 'run',
  op: 'step',
  life: NOW,
  generation: 1,
  round: 1,
  type: 'mail',
  input: 'hello',
  policy: { retry: {}, heartbeatMs: 1, maxIterations: 1 },
  dispatchedAt: NOW,
}
const there = (changes: Partial<Task> = {}): Task => ({ ...asWaiting(task, 1), ...changes })
type Answers = Partial<Record<keyof Storage, unknown>>

describe('handing a task out', () => {
  const dispatching = (answers: Answers) => decide((storage) => dispatchTask(storage, run, task), answers)

  it('tells the workers, with its input', () => {
    expect(dispatching({ putTask: { ok: true, task: there() } }).calls).toEqual([
      ['putTask', run, task],
      ['announceTask', there(), 'hello'],
    ])
  })

  it('a second time notifies workers again while it waits: the first sender may have died', () => {
    expect(dispatching({ putTask: { ok: false, there: there() } }).calls.slice(1)).toEqual([
      ['announceTask', there(), 'hello'],
    ])
  })

  it('a second time says nothing once a worker has it', () => {
    expect(dispatching({ putTask: { ok: false, there: there({ state: 'taken' }) } }).named('announceTask')).toEqual([])
  })

  it('says nothing where a later round is out already', () => {
    expect(dispatching({ putTask: { ok: false, there: there({ round: 2 }) } }).calls).toHaveLength(1)
  })

  it('takes the place of an earlier round, however often that one changes meanwhile', () => {
    const [first, second] = [there({ round: 0 }), there({ round: 0, version: 2 })]
    const { calls } = dispatching({
      putTask: script({ ok: false, there: first }, { ok: false, there: second }, { ok: true, task: there() }),
    })
    expect(calls.slice(1)).toEqual([
      ['putTask', run, task, first],
      ['putTask', run, task, second],
      ['announceTask', there(), 'hello'],
    ])
  })

  it('is tried again where the one in its place is gone', () => {
    const { named } = dispatching({ putTask: script({ ok: false, there: undefined }, { ok: true, task: there() }) })
    expect(named('announceTask')).toHaveLength(1)
  })
})

describe('taking a task back', () => {
  const withdrawing = (answers: Answers) => decide((storage) => withdrawTask(storage, task), answers)

  it('settles it for good', () => {
    const { named } = withdrawing({ findTask: there(), writeTask: true })
    expect(named('writeTask')).toEqual([[expect.objectContaining({ state: 'settled', outcome: 'withdrawn' })]])
  })

  it('leaves alone what is gone, settled, or of a later round', () => {
    for (const findTask of [undefined, there({ state: 'settled' }), there({ round: 2 })])
      expect(withdrawing({ findTask }).named('writeTask')).toEqual([])
  })

  it('looks again when a worker changed it meanwhile', () => {
    expect(
      withdrawing({ findTask: script(there(), there({ version: 2 })), writeTask: script(false, true) }).named(
        'writeTask',
      ),
    ).toHaveLength(2)
  })
})

describe('settling a task', () => {
  const settling = (settled: Task, answers: Answers) =>
    decide((storage) => settleTask(storage, settled), {
      find: run,
      putMessage: 'new',
      update: { ok: true, run },
      ...answers,
    })
  const done = there({ state: 'settled', outcome: { result: 7 } })

  it('notifies the run, and then no worker needs to hear of it', () => {
    const { result, calls } = settling(done, { writeTask: true })
    expect(result).toEqual({ saved: true, outcome: 'accepted', wakes: [] })
    expect(calls.map(([name]) => name)).toEqual(['writeTask', 'find', 'putMessage', 'update', 'dismissTask'])
  })

  it('says nothing when another process was faster', () => {
    const { result, calls } = settling(done, { writeTask: false })
    expect(result).toEqual({ saved: false, wakes: [] })
    expect(calls).toHaveLength(1)
  })

  it('that was taken back tells the run nothing', () => {
    const { result, calls } = settling(there({ state: 'settled', outcome: 'withdrawn' }), { writeTask: true })
    expect(result).toEqual({ saved: true, wakes: [] })
    expect(calls.map(([name]) => name)).toEqual(['writeTask', 'dismissTask'])
  })
})
