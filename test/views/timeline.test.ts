import { expect, test } from 'vitest'
import type { HistoryEvent } from '../../sdk/index.ts'
import { RetryableError, workflow } from '../../sdk/index.ts'
import { testEnv } from '../../sdk/testing/index.ts'
import { timeline } from '../../sdk/views/timeline.ts'

type Loose = { type: HistoryEvent['type']; at: number; visit?: number; [field: string]: unknown }

const history = (...events: Loose[]): HistoryEvent[] =>
  [{ type: 'run.started', at: 0, workflow: 'w', version: 1 }, ...events].map(
    (event, i) => ({ n: `${i}.0`, ...event }) as HistoryEvent,
  )

const error = { name: 'Error', message: 'no' }

test('a step is a bar as long as it took', () => {
  const { rows } = timeline(history({ type: 'step.completed', id: 'charge', at: 100, ms: 30, visit: 1 }))
  expect(rows).toEqual([
    {
      id: 'charge',
      kind: 'step',
      outcome: 'done',
      from: 70,
      to: 100,
      bars: [{ kind: 'attempt', from: 70, to: 100, outcome: 'done', attempt: 1, n: '1.0' }],
      marks: [],
      first: '1.0',
      last: '1.0',
    },
  ])
})

test('attempts and what is between them are bars of one row', () => {
  const { rows } = timeline(
    history(
      { type: 'step.retrying', id: 'charge', at: 10, ms: 10, attempt: 1, error, until: 1_000 },
      { type: 'step.paused', id: 'charge', at: 1_020, ms: 20, name: 'nap', until: 5_000 },
      { type: 'step.failed', id: 'charge', at: 5_040, ms: 30, attempt: 2, error },
    ),
  )
  expect(rows[0]!.bars.map(({ kind, from, to, outcome }) => [kind, from, to, outcome])).toEqual([
    ['attempt', 0, 10, 'failed'],
    ['backoff', 10, 1_000, 'done'],
    ['attempt', 1_000, 1_020, 'done'],
    ['pause', 1_020, 5_010, 'done'],
    ['attempt', 5_010, 5_040, 'failed'],
  ])
  expect(rows[0]).toMatchObject({ outcome: 'failed', error })
})

test('a wait that was not ended is open, and ends with the run', () => {
  const waiting = history({ type: 'wait.started', id: 'approval', signal: 'approved', at: 5 })
  expect(timeline(waiting).rows[0]).toMatchObject({
    outcome: 'open',
    on: 'approved',
    bars: [{ kind: 'wait', from: 5, outcome: 'open' }],
  })
  expect(timeline([...waiting, ...history({ type: 'run.cancelled', at: 50 }).slice(1)]).rows[0]).toMatchObject({
    outcome: 'taken back',
    to: 50,
  })
})

test('what lost a race is taken back when it is decided', () => {
  const { rows } = timeline(
    history(
      { type: 'sleep.started', id: 'race/a/sleep', until: 10, at: 1 },
      { type: 'wait.started', id: 'race/b/signal', signal: 's', at: 1 },
      { type: 'sleep.completed', id: 'race/a/sleep', at: 10 },
      { type: 'decided', id: 'race', won: ['a'], withdrawn: ['race/b/signal'], at: 10 },
    ),
  )
  expect(rows.map(({ id, outcome }) => [id, outcome])).toEqual([
    ['race/a/sleep', 'done'],
    ['race/b/signal', 'taken back'],
  ])
})

test('repeats and the items of a map are one row, with how many, how many failed and the median', () => {
  const items = [10, 20, 90].map(
    (ms, i): Loose => ({ type: 'step.completed', id: `orders/key-${i}/charge`, at: 100 + ms, ms }),
  )
  const { rows } = timeline(
    history(
      { type: 'map', id: 'orders/', count: 4, digest: '', at: 0 },
      ...items,
      { type: 'step.failed', id: 'orders/key-3/charge', at: 200, ms: 1, attempt: 1, error },
      { type: 'step.completed', id: 'tick', at: 210, ms: 1 },
      { type: 'step.completed', id: 'tick:1', at: 220, ms: 1 },
    ),
  )
  expect(rows.map(({ id, folded }) => [id, folded?.members.length, folded?.failures, folded?.medianMs])).toEqual([
    ['orders/…/charge', 4, 1, 20],
    ['tick', 2, 0, 1],
  ])
  expect(rows[0]!.bars).toMatchObject([
    { from: 100, to: 190, outcome: 'done' },
    { from: 199, to: 200, outcome: 'failed' },
  ])
})

test('a step whose name is a number is not taken for the item of a map', () => {
  const { rows } = timeline(
    history({ type: 'step.completed', id: '1', at: 1 }, { type: 'step.completed', id: '2', at: 2 }),
  )
  expect(rows.map(({ id }) => id)).toEqual(['1', '2'])
})

test('what was retried by request is open again', () => {
  const events = history(
    { type: 'step.failed', id: 'charge', at: 10, ms: 1, attempt: 1, error },
    { type: 'run.failed', at: 10, error },
    { type: 'run.retried', ops: ['charge'], at: 20 },
  )
  expect(timeline(events)).toMatchObject({ rows: [{ outcome: 'open' }] })
  expect(timeline(events).to).toBeUndefined()
})

test('a run that sleeps for 30 days is awake for as long as its runners had it', async () => {
  let tries = 0
  const long = workflow('long', async (ctx) => {
    const flaky = () => {
      if (tries++ === 0) throw new RetryableError('not yet')
    }
    await ctx.step('flaky', flaky, { retry: { attempts: 2 } })
    await ctx.sleep('30d')
    await ctx.step('after', () => 1)
  })
  const env = await testEnv({ workflows: [long] })
  const run = await env.start(long, undefined)
  await run.result()
  const { visits, awakeMs, from, to, rows } = timeline(await run.history())
  expect(rows.map(({ id, outcome }) => [id, outcome])).toEqual([
    ['flaky', 'done'],
    ['sleep', 'done'],
    ['after', 'done'],
  ])
  expect(visits.length).toBeGreaterThanOrEqual(2)
  expect(to! - from).toBeGreaterThanOrEqual(30 * 86_400_000)
  expect(awakeMs).toBeLessThan(60_000)
})
