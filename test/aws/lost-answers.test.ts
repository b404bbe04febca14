import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Frame } from '../../sdk/base/events.ts'
import { FORMAT } from '../../sdk/base/names.ts'
import type { Next } from '../../sdk/ports/commit.ts'
import type { NewRun } from '../../sdk/ports/run.ts'
import type { Claimed } from '../../sdk/ports/run-store.ts'
import { VirtualClock } from '../../sdk/testing/virtual-clock.ts'
import { AwsWorld } from '../../sdk/worlds/aws/world.ts'
import { awsClients } from './clients.ts'
import { Faults, timedOut } from './faults.ts'
import { makeResources } from './resources.ts'

/** Every operation, with the answer to each of its calls lost in turn: the SDK sends it again and the result is the same. */
describe('an operation whose answer gets lost after it was carried out', () => {
  const clock = new VirtualClock(Date.parse('2026-01-01T00:00:00Z'))
  const lease = { owner: 'a', ms: 30_000 }
  let resources: Awaited<ReturnType<typeof makeResources>>
  let world: AwsWorld
  let faulty: AwsWorld
  const faults = new Faults()
  let serial = 0

  beforeAll(async () => {
    resources = await makeResources()
    const clients = awsClients()
    faults.install(clients)
    world = new AwsWorld({ ...resources, clock })
    faulty = new AwsWorld({ ...resources, clients, clock })
  })
  afterAll(async () => {
    await resources.remove()
    world.close()
    faulty.close()
  })

  const newRun = (changes: Partial<NewRun> = {}): NewRun => ({
    id: `lost-${++serial}`,
    workflow: 'order',
    version: 1,
    format: FORMAT,
    input: { n: 1 },
    secret: 'secret',
    createdAt: clock.now(),
    wakeAt: clock.now(),
    tags: [],
    retentionMs: 3_600_000,
    ...changes,
  })
  async function claimed(changes: Partial<NewRun> = {}): Promise<Claimed> {
    const { run } = await world.store.create(newRun(changes))
    return (await faulty.store.claim(run.id, lease))!
  }
  const done = (claim: Claimed, seq = 1): Frame => ({
    seq,
    at: clock.now(),
    epoch: claim.run.epoch,
    events: [{ type: 'step.completed', id: 'a', result: 1 }],
  })
  const commit = (claim: Claimed) => ({ runId: claim.run.id, epoch: claim.run.epoch })

  /** Prepares and acts once for each call that the operation makes. */
  async function always<T, R>(
    prepare: () => Promise<T>,
    act: (prepared: T) => Promise<R>,
    check: (result: R, prepared: T) => Promise<void> | void,
  ): Promise<void> {
    const first = await prepare()
    const before = faults.calls
    await check(await act(first), first)
    const calls = faults.calls - before
    expect(calls).toBeGreaterThan(0)
    for (let n = 1; n <= calls; n++) {
      const prepared = await prepare()
      faults.fault = { call: faults.calls + n, when: 'after', depth: 'retried', error: timedOut }
      const result = await act(prepared)
      expect(faults.fault).toBeUndefined()
      await check(result, prepared)
    }
  }

  it('create has created the run', async () => {
    // The first run of a table makes the list of workflows, which no other does.
    await faulty.store.create(newRun())
    await always(
      // Of a workflow that is new each time, because its name is written down once.
      async () =>
        newRun({
          workflow: `w${Math.random()}`,
          tags: ['customer:42'],
          input: { big: 'x'.repeat(500) + Math.random() },
        }),
      (run) => faulty.store.create(run),
      (result) => expect(result).toMatchObject({ created: true, wakes: [{}] }),
    )
  })

  it('claim has claimed it, and knows whether the holder before died', async () => {
    const released = async () => (await world.store.create(newRun())).run.id
    await always(
      released,
      (id) => faulty.store.claim(id, lease),
      (claim) => expect(claim).toMatchObject({ recovered: false, run: { epoch: 1 } }),
    )
    const orphaned = async () => {
      const claim = await claimed()
      clock.moveTo(clock.now() + 31_000)
      return claim.run.id
    }
    await always(
      orphaned,
      (id) => faulty.store.claim(id, lease),
      (claim) => expect(claim).toMatchObject({ recovered: true, run: { epoch: 2 } }),
    )
  })

  it('deliver was accepted, once', () =>
    always(
      () => claimed(),
      ({ run }) => faulty.store.deliver(run.id, { id: 'm', kind: 'signal', name: 'go' }),
      async (result, { run }) => {
        expect(result.outcome).toBe('accepted')
        const { stimulus, messages } = await world.store.inbox(run.id)
        expect(stimulus).toBeGreaterThan(run.stimulus)
        expect(messages).toHaveLength(1)
      },
    ))

  it('a frame is there once and the run is still held', () =>
    always(
      () => claimed(),
      (claim) =>
        faulty.store.commit({ ...commit(claim), frame: done(claim), progress: { percent: 5 }, next: { kind: 'keep' } }),
      async (result, { run }) => {
        expect(result).toMatchObject({ ok: true })
        expect(await world.store.frames(run.id)).toHaveLength(1)
      },
    ))

  it('suspend has suspended', () =>
    always(
      () => claimed(),
      async (claim) => {
        const wakeAt = clock.now() + 60_000
        return faulty.store.commit({
          ...commit(claim),
          frame: done(claim),
          next: { kind: 'suspend', status: 'sleeping', wakeAt, waitingFor: [], seen: 0 },
        })
      },
      (result) => expect(result).toMatchObject({ ok: true, suspended: true, wakes: [{}] }),
    ))

  it('suspend has suspended, also when the run was woken and taken by another runner before the call was repeated', async () => {
    const claim = await claimed()
    const meanwhile = async () => {
      await world.store.deliver(claim.run.id, { id: 'm', kind: 'signal', name: 'go' })
      expect(await world.store.claim(claim.run.id, lease)).toMatchObject({ run: { epoch: 2 }, recovered: false })
    }
    faults.fault = { call: faults.calls + 1, when: 'after', depth: 'retried', error: timedOut, meanwhile }
    const next: Next = { kind: 'suspend', status: 'waiting', waitingFor: [], seen: 0 }
    expect(await faulty.store.commit({ ...commit(claim), next })).toMatchObject({ ok: true, suspended: true })
    expect(await world.store.get(claim.run.id)).toMatchObject({ status: 'running', epoch: 2 })
  })

  it('release, continue, park and end have happened', async () => {
    const nexts = [
      { kind: 'release' },
      { kind: 'continue', input: { n: 2 }, attempt: 1, wakeAt: clock.now() },
      { kind: 'park', error: { name: 'Error', message: 'stuck' } },
      { kind: 'end', event: { type: 'run.completed', output: 'x'.repeat(1000) } },
    ] as const
    for (const next of nexts) {
      await always(
        () => claimed(),
        (claim) => faulty.store.commit({ ...commit(claim), frame: done(claim), consumed: ['none'], next }),
        (result) => expect(result).toMatchObject({ ok: true, suspended: true }),
      )
    }
    expect((await world.store.list({ status: 'stuck', limit: 100 })).runs.length).toBeGreaterThan(1)
  })

  it('terminate has ended the run', () =>
    always(
      () => claimed(),
      ({ run }) => faulty.store.terminate(run.id, 'enough'),
      async (result, { run }) => {
        expect(result.ended).toBe(true)
        expect(await world.store.frames(run.id)).toHaveLength(1)
      },
    ))

  it('revive has revived it, with one word in the journal', () =>
    always(
      async () => {
        const claim = await claimed()
        const event = { type: 'run.failed', error: { name: 'Error', message: 'no' } } as const
        await world.store.commit({
          ...commit(claim),
          frame: { ...done(claim), events: [event] },
          next: { kind: 'end', event },
        })
        return claim.run.id
      },
      (id) => faulty.store.revive(id, { type: 'run.retried' }),
      async (result, id) => {
        expect(result.revived).toBe(true)
        expect(await world.store.frames(id)).toHaveLength(2)
      },
    ))

  it('a document is put once and deleted once, under a condition or not', async () => {
    const key = () => `key-${++serial}`
    const there = async () => {
      const name = key()
      await world.documents.put('lost', name, 'before')
      return name
    }
    const { documents } = faulty
    await always(
      async () => key(),
      (name) => documents.put('lost', name, 1, { ifVersion: 0 }),
      (written) => expect(written).toMatchObject({ version: 1 }),
    )
    for (const options of [{}, { ifVersion: 1 }, { ifVersion: 1, expiresAt: clock.now() + 1_000 }]) {
      await always(
        there,
        (name) => documents.put('lost', name, 2, options),
        async (written, name) => {
          expect(written).toMatchObject({ version: 2 })
          expect(await world.documents.get('lost', name)).toMatchObject({ value: 2, version: 2 })
        },
      )
    }
    for (const ifVersion of [undefined, 1]) {
      await always(
        there,
        (name) => documents.delete('lost', name, ifVersion),
        async (deleted, name) => {
          expect(deleted).toBe(true)
          expect(await world.documents.get('lost', name)).toBeUndefined()
        },
      )
    }
  })

  it('a document was put, also when somebody put the next version before the call was repeated', async () => {
    const meanwhile = () => world.documents.put('lost', 'overtaken', 'theirs', { ifVersion: 1 })
    faults.fault = { call: faults.calls + 1, when: 'after', depth: 'retried', error: timedOut, meanwhile }
    expect(await faulty.documents.put('lost', 'overtaken', 'mine', { ifVersion: 0 })).toMatchObject({
      version: 1,
      value: 'mine',
    })
    expect(await world.documents.get('lost', 'overtaken')).toMatchObject({ version: 2, value: 'theirs' })
  })
})
