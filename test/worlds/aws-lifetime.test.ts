import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { FORMAT, taskId } from '../../sdk/base/names.ts'
import type { Commit, Next } from '../../sdk/ports/commit.ts'
import type { NewRun } from '../../sdk/ports/run.ts'
import type { Claimed } from '../../sdk/ports/run-store.ts'
import { RUN_PAYLOADS } from '../../sdk/worlds/aws/payloads.ts'
import { openAwsInMemory } from '../sim/aws/open-world.ts'

const DAY = 86_400_000
const BUCKET_KEEPS = 800 * DAY

/** The AWS world on a DynamoDB whose TTL strikes at the earliest moment, and a bucket that clears away what is old. */
function world() {
  const lifecycle = [{ prefix: RUN_PAYLOADS, afterMs: BUCKET_KEEPS, lagMs: [0, 0] as [number, number] }]
  const { clock, table, world: opened } = openAwsInMemory({ seed: 'lifetime', lifecycle, taskTypes: ['chore'] })
  const { store, tasks } = opened
  const newRun = (changes: Partial<NewRun> = {}): NewRun => ({
    id: 'r',
    workflow: 'w',
    version: 1,
    format: FORMAT,
    input: { n: 1 },
    secret: 's',
    createdAt: clock.now(),
    wakeAt: clock.now(),
    tags: [],
    retentionMs: 30 * DAY,
    ...changes,
  })
  const claim = async () => {
    const claimed = await store.claim('r', { owner: 'a', ms: 30_000 })
    if (!claimed) throw new Error('the claim was refused')
    return claimed
  }
  const commit = (claimed: Claimed, next: Next, rest: Partial<Commit> = {}) =>
    store.commit({ runId: 'r', epoch: claimed.run.epoch, next, ...rest })
  const sleep = (claimed: Claimed, ms: number): Next => ({
    kind: 'suspend',
    status: 'sleeping',
    wakeAt: clock.now() + ms,
    waitingFor: [],
    seen: claimed.run.stimulus,
  })
  const frame = (claimed: Claimed, seq: number, result: unknown) => ({
    frame: {
      seq,
      at: clock.now(),
      epoch: claimed.run.epoch,
      events: [{ type: 'step.completed' as const, id: `s${seq}`, result: result as never }],
    },
  })
  /** When the first thing that belongs to the run goes. */
  const firstExpiry = () =>
    Math.min(...[...table.items()].map(({ ttl }) => (ttl === undefined ? Number.POSITIVE_INFINITY : ttl * 1_000)))
  return { clock, store, tasks, newRun, claim, commit, sleep, frame, firstExpiry }
}

const large = (bytes: number) => randomBytes(bytes / 2).toString('hex')

describe('nothing of an open run expires (I8)', () => {
  it('progress beside a sleep of many months', async () => {
    const { clock, store, newRun, claim, commit, sleep, frame } = world()
    await store.create(newRun({ input: large(2_000) }))
    const claimed = await claim()
    const progress = large(1_000)
    await commit(claimed, sleep(claimed, 300 * DAY), { ...frame(claimed, 1, large(1_000)), progress })
    clock.moveTo(clock.now() + 300 * DAY)
    expect((await store.get('r'))?.progress).toBe(progress)
    expect((await claim()).frames).toHaveLength(1)
  })

  it('an input that a task shares', async () => {
    const { clock, store, tasks, newRun, claim, commit, sleep } = world()
    const input = large(5_000)
    await store.create(newRun({ input }))
    const first = await claim()
    await commit(first, sleep(first, 200 * DAY))
    clock.moveTo(clock.now() + 200 * DAY)
    const second = await claim()
    const id = taskId({ id: 'r', format: FORMAT }, 'ask')
    const task = {
      id,
      runId: 'r',
      op: 'ask',
      life: 1,
      generation: 0,
      round: 0,
      type: 'chore',
      input,
      dispatchedAt: clock.now(),
    }
    const policy = { retry: {}, heartbeatMs: 1_000, maxIterations: 1 }
    await commit(second, sleep(second, 20 * DAY), { outgoing: [{ kind: 'dispatch', task: { ...task, policy } }] })
    clock.moveTo(clock.now() + 20 * DAY)
    expect((await claim()).run.input).toBe(input)
    expect(await tasks.inputOf((await tasks.get(id))!)).toBe(input)
  })

  it('a message that is put while the run prepares for a long sleep', async () => {
    const { clock, store, newRun, claim, commit, sleep, frame } = world()
    await store.create(newRun())
    const claimed = await claim()
    // Sent before the run is given up, and counted only afterwards.
    const [delivered] = await Promise.all([
      store.deliver('r', { id: 'm', kind: 'signal', name: 'go', payload: 'kept' }),
      commit(claimed, sleep(claimed, 360 * DAY), frame(claimed, 1, 1)),
    ])
    expect(delivered.outcome).toBe('accepted')
    const again = await store.claim('r', { owner: 'b', ms: 30_000 })
    if (again) await commit(again, { ...sleep(again, 360 * DAY), seen: again.run.stimulus } as Next)
    clock.moveTo(clock.now() + 359 * DAY)
    expect((await store.inbox('r')).messages).toMatchObject([{ id: 'm', payload: 'kept' }])
  })

  it('a run that is stuck for three years, until an operator retries it', async () => {
    const { clock, store, newRun, claim, commit, frame } = world()
    await store.create(newRun({ input: large(500_000) }))
    const claimed = await claim()
    await commit(claimed, { kind: 'keep' }, frame(claimed, 1, large(1_000_000)))
    await commit(claimed, { kind: 'park', error: { name: 'Error', message: large(1_000) } })
    for (let year = 0; year < 3; year++) clock.moveTo(clock.now() + 365 * DAY)
    expect(await store.get('r')).toMatchObject({ status: 'stuck' })
    await store.revive('r')
    const revived = await claim()
    expect(revived.frames).toHaveLength(1)
    expect(revived.run.input).toHaveLength(500_000)
  })

  it('and of one that has ended everything goes in time, also if it was stuck', async () => {
    const { clock, store, newRun, claim, commit, frame, firstExpiry } = world()
    await store.create(newRun({ input: large(2_000) }))
    const claimed = await claim()
    await commit(claimed, { kind: 'keep' }, frame(claimed, 1, 1))
    await commit(claimed, { kind: 'park', error: { name: 'Error', message: 'x' } })
    expect(firstExpiry()).toBeGreaterThan(Date.UTC(9000, 0))
    await store.terminate('r', 'enough')
    expect(firstExpiry()).toBeLessThanOrEqual(clock.now() + 31 * DAY)
    clock.moveTo(clock.now() + 400 * DAY)
    expect(firstExpiry()).toBe(Number.POSITIVE_INFINITY)
  })

  it('a run whose retention has passed frees its id', async () => {
    const { clock, store, newRun } = world()
    await store.create(newRun())
    await store.terminate('r', 'enough')
    clock.moveTo(clock.now() + 31 * DAY)
    expect(await store.get('r')).toBeUndefined()
    expect(await store.create(newRun({ createdAt: clock.now(), wakeAt: clock.now() }))).toMatchObject({ created: true })
  })
})

describe('keyed messages', () => {
  it('are recognised in the next generation, days later', async () => {
    const { clock, store, newRun, claim, commit } = world()
    await store.create(newRun())
    const message = { id: 'key x', kind: 'signal' as const, name: 'go' }
    await store.deliver('r', message)
    const claimed = await claim()
    const events = [
      { type: 'wait.completed' as const, id: 'go', from: message.id },
      { type: 'run.continued' as const, input: 2 },
    ]
    const at = clock.now()
    await commit(
      claimed,
      { kind: 'continue', input: 2, attempt: 1, wakeAt: at },
      { frame: { seq: 1, at, epoch: claimed.run.epoch, events }, consumed: [message.id] },
    )
    clock.moveTo(clock.now() + 3 * DAY)
    expect((await store.deliver('r', message)).outcome).toBe('duplicate')
  })
})
