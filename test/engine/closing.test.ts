import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { CancelledError, FatalError, UnknownWorkflowError } from '../../sdk/base/errors.ts'
import type { Delivery, JournalEvent, TerminalEvent } from '../../sdk/base/events.ts'
import { deadly } from '../../sdk/engine/closing.ts'
import { Operation, type Request } from '../../sdk/engine/operation.ts'
import type { CodeEnd } from '../../sdk/engine/replay.ts'
import type { Waits } from '../../sdk/engine/waits.ts'
import type { RunRecord } from '../../sdk/ports/run.ts'
import { type AnyWorkflow, workflow } from '../../sdk/workflow.ts'
import { visitOf } from './visit-fixture.ts'

const NOW = 1_000_000
const plain = workflow('order', async () => 1)
const child: JournalEvent = {
  type: 'child.started',
  id: 'kid',
  run: 'run.kid',
  workflow: 'w',
  version: 1,
  onParentEnd: 'cancel',
}
const called = (id: string, request: object) => new Operation(id, request as Request, undefined, 1, 0)

interface Setting {
  end?: CodeEnd
  run?: Partial<RunRecord>
  ok?: boolean
  stop?: Error
  journaled?: JournalEvent[]
  terminal?: TerminalEvent
  operations?: Operation[]
  fresh?: Operation[]
  notes?: JournalEvent[]
  because?: string[]
  opened?: Delivery
}

/** The ways out of a run, and what is committed and said on each. */
function closing({
  end,
  run,
  ok = true,
  stop,
  journaled = [],
  terminal,
  operations = [],
  fresh = [],
  notes = [],
  because = [],
  opened,
}: Setting) {
  const openedIds: string[] = []
  const events = terminal ? [...journaled, terminal] : journaled
  const { visit, commits, said, stops } = visitOf({
    now: NOW,
    run: { version: 3, format: 2, attempt: 1, epoch: 5, createdAt: 1, input: { n: 1 }, parsed: { n: 2 }, ...run },
    claimed: { frames: [{ seq: 7, at: 900, epoch: 4, events }] },
    commit: () => (ok ? { ok, suspended: true, wakes: [] } : { ok }),
  })
  const { replay, buffer, closing: ways } = visit
  if (stop) stops.push(stop)
  for (const operation of operations) replay.operations.set(operation.id, operation)
  Object.defineProperty(replay, 'end', { get: () => end })
  replay.takeFresh = () => fresh
  replay.takeNotes = () => notes
  replay.origins.behind = () => because
  const waits = {
    async open({ id }: Operation) {
      openedIds.push(id)
      return opened
    },
  } as unknown as Waits
  const finish = (of: AnyWorkflow = plain, hasCompensated = false) => ways.finish(of, waits, hasCompensated)
  return { ways, buffer, commits, said, openedIds, finish }
}
const returned: CodeEnd = { kind: 'returned', value: 7 }
const threw: CodeEnd = { kind: 'threw', error: new Error('no') }

describe('code that has ended', () => {
  it('ends its run, in one frame with what it decided in its last turn', async () => {
    const patch: JournalEvent = { type: 'patch', id: 'p' }
    const map: JournalEvent = { type: 'map', id: 'm', count: 1, digest: 'x' }
    const { finish, commits } = closing({ end: returned, notes: [patch, map] })
    expect(await finish()).toEqual({ status: 'completed' })
    const event = { type: 'run.completed', output: 7 }
    expect(commits).toMatchObject([{ next: { kind: 'end', event }, frame: { seq: 8, events: [map, patch, event] } }])
  })

  it('loses its run where another runner has it', async () => {
    expect(await closing({ end: returned, ok: false }).finish()).toEqual({ status: 'superseded' })
  })

  it('by throwing says which operations that goes back to, and whether it has undone its steps', async () => {
    const failing = closing({ end: threw, because: ['a'] })
    expect(await failing.finish(plain, true)).toEqual({ status: 'failed' })
    expect(failing.commits[0]!.next).toMatchObject({ event: { type: 'run.failed', because: ['a'], compensated: true } })
    const bare = closing({ end: threw })
    await bare.finish()
    for (const field of ['because', 'compensated', 'abandoned'])
      expect(bare.commits[0]!.next).not.toHaveProperty(`event.${field}`)
  })

  it('with an output that does not fit goes back to no operation', async () => {
    const strict = workflow('order', { input: z.undefined(), output: z.string() }, async () => 'x')
    const { finish, commits } = closing({ end: returned, because: ['a'] })
    expect(await finish(strict)).toEqual({ status: 'failed' })
    expect(commits[0]!.next).not.toHaveProperty('event.because')
  })

  it('names what it left behind, and warns of steps', async () => {
    const over = called('over', { kind: 'step' })
    over.resolve(undefined)
    const left = closing({
      end: returned,
      operations: [called('nap', { kind: 'sleep' }), called('pay', { kind: 'step' }), over],
    })
    await left.finish()
    expect(left.commits[0]!.next).toMatchObject({ event: { abandoned: ['nap', 'pay'] } })
    expect(left.said).toMatchObject([
      [
        'warn',
        expect.stringContaining("workflow 'order' ended without waiting for step 'pay'"),
        { runId: 'run', steps: ['pay'] },
      ],
    ])
    const quiet = closing({ end: returned, operations: [called('nap', { kind: 'sleep' })] })
    await quiet.finish()
    expect(quiet.said).toEqual([])
  })

  it('has started its last detached children, and says so if one was refused', async () => {
    const fresh = [called('kid', { kind: 'child', options: { detached: true } }), called('nap', { kind: 'sleep' })]
    const fine = closing({ end: returned, fresh, opened: { type: 'child.detached', id: 'kid' } })
    await fine.finish()
    expect([fine.openedIds, fine.said]).toEqual([['kid'], []])
    const refused = closing({
      end: returned,
      fresh,
      opened: { type: 'child.failed', id: 'kid', error: { name: 'Error', message: 'bad input' } },
    })
    await refused.finish()
    expect(refused.said).toMatchObject([
      ['error', expect.stringContaining("detached child 'kid', which was refused: bad input"), { runId: 'run' }],
    ])
  })

  it('tells the children that are open, those of this execution too', async () => {
    const { finish, commits, buffer } = closing({ end: returned, journaled: [child] })
    buffer.add({ ...child, id: 'new', run: 'run.new' } as JournalEvent)
    await finish()
    expect(commits[0]!.outgoing).toMatchObject([{ to: 'run.kid' }, { to: 'run.new' }])
  })

  it('by request was cancelled', async () => {
    const stop = new CancelledError('enough')
    expect(await closing({ end: { kind: 'threw', error: stop }, stop }).finish()).toEqual({ status: 'cancelled' })
  })
})

describe('the next generation', () => {
  it('of a workflow with a retry policy begins after the backoff, with the same input', async () => {
    const retrying = workflow('order', { retry: { attempts: 3, initial: '10s', jitter: false } }, async () => 1)
    const { finish, commits } = closing({ end: threw, run: { attempt: 2 }, journaled: [child] })
    expect(await finish(retrying)).toEqual({ status: 'continued' })
    const until = NOW + 20_000
    expect(commits).toMatchObject([
      {
        next: { kind: 'continue', input: { n: 1 }, parsed: { n: 2 }, attempt: 3, wakeAt: until },
        frame: { events: [{ type: 'run.retrying', attempt: 2, until, error: { message: 'no' } }] },
        outgoing: [{ to: 'run.kid', message: { reason: "its parent run 'run' continued as new" } }],
      },
    ])
    expect(await closing({ end: threw, run: { attempt: 3 } }).finish(retrying)).toEqual({ status: 'failed' })
    expect(await closing({ end: threw, ok: false }).finish(retrying)).toEqual({ status: 'superseded' })
    const stop = new CancelledError('enough')
    expect(await closing({ end: { kind: 'threw', error: stop }, stop }).finish(retrying)).toEqual({
      status: 'cancelled',
    })
  })

  it('is not for an output that does not fit: it would not fit the next time either', async () => {
    const strict = workflow(
      'order',
      { input: z.undefined(), output: z.string(), retry: { attempts: 3 } },
      async () => 'x',
    )
    expect(await closing({ end: returned }).finish(strict)).toEqual({ status: 'failed' })
  })

  it('that the code asks for begins at once, with its input parsed once', async () => {
    const parsing = workflow('order', { input: z.object({ n: z.number().default(9) }) }, async () => 1)
    const { finish, commits } = closing({ end: { kind: 'continued', input: {} }, run: { attempt: 2 } })
    expect(await finish(parsing)).toEqual({ status: 'continued' })
    expect(commits[0]).toMatchObject({
      next: { kind: 'continue', input: {}, parsed: { n: 9 }, attempt: 1, wakeAt: NOW },
      frame: { events: [{ type: 'run.continued', input: {} }] },
    })
    const bare = closing({ end: { kind: 'continued', input: 5 } })
    await bare.finish()
    expect(bare.commits[0]!.next).toStrictEqual({ kind: 'continue', input: 5, attempt: 1, wakeAt: NOW })
  })

  it('whose input does not fit parks the run', async () => {
    const parsing = workflow('order', { input: z.object({ n: z.number() }) }, async () => 1)
    const { finish, commits } = closing({ end: { kind: 'continued', input: {} } })
    expect(await finish(parsing)).toEqual({ status: 'stuck' })
    expect(commits[0]!.next).toMatchObject({
      kind: 'park',
      error: { message: expect.stringContaining("ctx.continueAsNew in workflow 'order'") },
    })
  })
})

describe('an end that the journal has already', () => {
  it('is sent under its own slot, and written to no other', async () => {
    const terminal: TerminalEvent = { type: 'run.completed', output: 7 }
    const parent = { runId: 'parent', op: 'kid' }
    const { ways, commits } = closing({ terminal, run: { parent } })
    expect(await ways.end(terminal)).toEqual({ status: 'completed' })
    expect(commits).toMatchObject([{ next: { kind: 'end' }, outgoing: [{ message: { id: 'child run 7' } }] }])
    expect(commits[0]).not.toHaveProperty('frame')
    const live = closing({ run: { parent } })
    await live.ways.endWith(terminal)
    expect(live.commits).toMatchObject([{ frame: { seq: 8 }, outgoing: [{ message: { id: 'child run 8' } }] }])
  })
})

describe('parking', () => {
  it('leaves the journal as it was, whatever was on its way there', async () => {
    const { ways, buffer, commits, said } = closing({})
    buffer.add(child)
    expect(await ways.park(new FatalError('changed'))).toEqual({ status: 'stuck' })
    expect(commits).toStrictEqual([
      { runId: 'run', epoch: 5, next: { kind: 'park', error: expect.objectContaining({ message: 'changed' }) } },
    ])
    expect(said).toEqual([['error', 'changed', { runId: 'run', workflow: 'order' }]])
    expect(await closing({ ok: false }).ways.park(new FatalError('x'))).toEqual({ status: 'superseded' })
  })

  it('says how many runners died', () => {
    expect(deadly({ id: 'run' } as RunRecord, 10).message).toContain(
      "10 times in a row the process that took up run 'run' died",
    )
  })
})

describe('a run whose code is not here', () => {
  const why = new UnknownWorkflowError('nobody knows it')
  const since = (at: number): RunRecord['waitingFor'] => [
    { kind: 'sleep', id: 'nap' },
    { kind: 'code', id: 'order', on: '3', since: at },
  ]

  it('is left to others, who see since when', async () => {
    const { ways, commits } = closing({})
    expect(await ways.leaveToOthers(why)).toEqual({ status: 'unknown' })
    const waiting = { kind: 'code', id: 'order', on: '3', since: NOW }
    expect(commits[0]!.next).toEqual({ kind: 'release', wakeAt: NOW, waitingFor: [waiting] })
    const later = closing({ run: { waitingFor: since(NOW - 599_999) } })
    await later.ways.leaveToOthers(why, 50)
    expect(later.commits[0]!.next).toMatchObject({ wakeAt: NOW + 50, waitingFor: [{ since: NOW - 599_999 }] })
    expect(await closing({ ok: false }).ways.leaveToOthers(why)).toEqual({ status: 'superseded' })
  })

  it('is parked after ten minutes', async () => {
    expect(await closing({ run: { waitingFor: since(NOW - 600_000) } }).ways.leaveToOthers(why)).toEqual({
      status: 'stuck',
    })
  })
})
