import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FORMAT } from '../../sdk/base/names.ts'
import type { LimiterToPass, NewAdmission } from '../../sdk/flow/admission.ts'
import type { LimitSpec } from '../../sdk/flow/limiter/limit.ts'
import { fairnessKeyOf, type QueueEntry } from '../../sdk/flow/limiter/queue.ts'
import { releasesOfRun } from '../../sdk/flow/limiter/releases.ts'
import { Limits } from '../../sdk/flow/operating/limits.ts'
import type { Outgoing } from '../../sdk/ports/commit.ts'
import type { GrantedPermit } from '../../sdk/ports/permits.ts'
import type { NewRun, RunStatus } from '../../sdk/ports/run.ts'
import type { Wake } from '../../sdk/ports/world.ts'
import type { WorldUnderTest } from './contract.ts'

/** What sdk/ports/ promises of limits, for every world. */
export function flowContract(name: string, open: () => Promise<WorldUnderTest>): void {
  describe(`flow contract: ${name}`, () => {
    let under: WorldUnderTest
    let serial = 0
    const store = () => under.world.store
    const now = () => under.clock.now()
    const LEASE = { owner: 'a', ms: 30_000 }

    beforeAll(async () => {
      under = await open()
    })
    afterAll(() => under.close())

    /** All wake-ups that `act` causes: those that the world sends by itself, and those that it leaves to the caller. */
    async function wakesOf(act: () => Promise<{ wakes: Wake[] }>): Promise<Wake[]> {
      under.takeSent?.()
      const { wakes } = await act()
      return [...(under.takeSent?.() ?? []), ...wakes]
    }

    /** A limit of its own for each test. */
    function limitOf(spec: LimitSpec) {
      const limit = `limit-${++serial}`
      const admission = (gate: Partial<LimiterToPass> = {}, order = now()): NewAdmission => ({
        gates: [{ limit, ...(spec.concurrency !== undefined && { holds: true }), ...gate }],
        order,
        specs: { [limit]: spec },
      })
      return { limit, admission }
    }
    function newRun(admission: NewAdmission, changes: Partial<NewRun> = {}): NewRun {
      const common = {
        workflow: 'order',
        version: 1,
        format: FORMAT,
        input: null,
        secret: 's',
        tags: [],
        retentionMs: 3_600_000,
      }
      return { id: `flow-${++serial}`, createdAt: now(), wakeAt: now(), ...common, admission, ...changes }
    }
    async function create(admission: NewAdmission, changes?: Partial<NewRun>): Promise<string> {
      return (await store().create(newRun(admission, changes))).run.id
    }
    const states = (ids: readonly string[]): Promise<(RunStatus | undefined)[]> =>
      Promise.all(ids.map(async (id) => (await store().state(id))?.status))
    async function end(runId: string): Promise<Wake[]> {
      const claimed = await store().claim(runId, LEASE)
      if (!claimed) throw new Error(`claim of ${runId} was refused`)
      const { epoch } = claimed.run
      const event = { type: 'run.completed' as const }
      return wakesOf(async () => {
        const result = await store().commit({
          runId,
          epoch,
          frame: { seq: 1, at: now(), epoch, events: [event] },
          outgoing: releasesOfRun(claimed.run),
          next: { kind: 'end', event },
        })
        if (!result.ok) throw new Error(`the end of ${runId} was refused`)
        return result
      })
    }

    /** A run without limits of its own, in the hands of a runner: its steps ask. */
    async function claimedRun() {
      const { admission: _, ...plain } = newRun({ gates: [], order: 0, specs: {} })
      const { id } = plain
      await store().create(plain)
      const { epoch } = (await store().claim(id, LEASE))!.run
      const send = async (...outgoing: Outgoing[]): Promise<{ permits: GrantedPermit[]; wakes: Wake[] }> => {
        const result = await store().commit({ runId: id, epoch, outgoing, next: { kind: 'keep' } })
        if (!result.ok) throw new Error(`a commit of ${id} was refused`)
        return { permits: result.permits ?? [], wakes: result.wakes }
      }
      const suspend = async () => {
        const { stimulus: seen } = await store().inbox(id)
        const next = { kind: 'suspend' as const, status: 'waiting' as const, waitingFor: [], seen }
        expect(await store().commit({ runId: id, epoch, next })).toMatchObject({ ok: true, suspended: true })
      }
      return { id, send, suspend }
    }
    /** The first permit of a step, or of a run itself. */
    const ofStep = (run: string, later = 0): QueueEntry => ({
      ...ofRun(run),
      holder: `${run}/ask#1`,
      order: now() + later,
    })
    const ofRun = (run: string): QueueEntry => ({ run, holder: run, cost: 1, holds: true, lane: '', order: now() })
    const asking = (limit: string, entry: QueueEntry): Outgoing => {
      return { kind: 'acquire', limiter: { limit }, spec: { concurrency: 1 }, entry }
    }
    const standing = async (limit: string, entry: QueueEntry, mayHaveSlot: boolean) =>
      (await store().standings({ limit }, [{ entry, mayHaveSlot }]))[0]
    const releasing = (limit: string, { holder, lane, order }: QueueEntry): Extract<Outgoing, { kind: 'release' }> => {
      return { kind: 'release', limiter: { limit }, holder, lane, order, state: 'held' }
    }

    it('starts that come at once fill one batch after the other, and their runner gets each of them once', async () => {
      const workflow = `coalesced-${++serial}`
      const { admission: _, ...run } = newRun(limitOf({ concurrency: 1 }).admission(), { workflow })
      const start = (n: number) =>
        store().coalesce({
          run: { ...run, input: n },
          sender: `sender ${n}`,
          newId: () => `flow-${++serial}`,
          key: 'k',
          size: 3,
          waitMs: 60_000,
          keptMs: 3_600_000,
        })
      const started = await Promise.all([1, 2, 3, 4, 5, 6, 7].map(start))
      const ids = [...new Set(started.map(({ runId }) => runId))]
      expect(ids).toHaveLength(3)
      expect(started.filter(({ created }) => created)).toHaveLength(3)
      const got: unknown[] = []
      for (const id of ids) {
        const claimed = await store().claim(id, LEASE)
        const collected = await store().collectStarts(id, { batch: { waitMs: 60_000, size: 3 } })
        // The last one has room for more, and is not due.
        if (!claimed) expect(collected).toEqual({ lookAt: expect.any(Number) })
        else if ('starts' in collected) got.push(claimed.run.input, ...collected.starts.map(({ input }) => input))
        expect(claimed?.inbox ?? []).toEqual([])
      }
      expect(new Set(got).size).toBe(6)
      expect(ids).toContain((await start(8)).runId)
    })

    it('runs over the limit are queued and cannot be claimed; each end lets the next one in', async () => {
      const { admission } = limitOf({ concurrency: 2 })
      const ids = []
      for (let i = 0; i < 4; i++) ids.push(await create(admission({}, now() + i)))
      expect(await states(ids)).toEqual(['pending', 'pending', 'queued', 'queued'])
      expect(await store().claim(ids[2]!, LEASE)).toBeUndefined()
      expect(await end(ids[1]!)).toMatchObject([{ runId: ids[2] }])
      expect(await states(ids)).toEqual(['pending', 'completed', 'pending', 'queued'])
      expect(await end(ids[0]!)).toMatchObject([{ runId: ids[3] }])
    })

    it('the same start again finds the queued run, in the same place', async () => {
      const { limit, admission } = limitOf({ concurrency: 1 })
      await create(admission())
      const queued = newRun(admission())
      const first = await store().create(queued)
      const again = await store().create(queued)
      expect([first.created, again.created, again.run.status]).toEqual([true, false, 'queued'])
      const [gate] = (await new Limits(under.world).get(limit)).gates
      expect(gate).toMatchObject({ inside: 1, waiting: { count: 1 }, next: [queued.id] })
    })

    it('the order is by when they came, and what has come forward by priority goes before', async () => {
      const { admission } = limitOf({ concurrency: 1 })
      const first = await create(admission())
      const late = await create(admission({}, now() + 2))
      const early = await create(admission({}, now() + 1))
      const urgent = await create(admission({}, now() - 60_000))
      expect(await end(first)).toMatchObject([{ runId: urgent }])
      expect(await end(urgent)).toMatchObject([{ runId: early }])
      expect(await end(early)).toMatchObject([{ runId: late }])
    })

    it('fairness keys take turns, however many runs one of them has queued', async () => {
      const { admission } = limitOf({ concurrency: 1 })
      let inside = await create(admission({ lane: fairnessKeyOf('big') }))
      const big: string[] = []
      for (let i = 0; i < 6; i++) big.push(await create(admission({ lane: fairnessKeyOf('big') }, now() + i)))
      const small = [
        await create(admission({ lane: fairnessKeyOf('s1') }, now() + 10)),
        await create(admission({ lane: fairnessKeyOf('s2') }, now() + 11)),
      ]
      const served = []
      for (let i = 0; i < 4; i++) {
        const [wake] = await end(inside)
        inside = wake!.runId
        served.push(inside)
      }
      expect(served).toEqual(expect.arrayContaining(small))
      expect(served.filter((id) => big.includes(id))).toEqual(big.slice(0, 2))
    })

    it('a run that is terminated while it is queued, or holds a slot, leaves that to others', async () => {
      const { admission } = limitOf({ concurrency: 1 })
      const ids = [
        await create(admission({}, now())),
        await create(admission({}, now() + 1)),
        await create(admission({}, now() + 2)),
      ]
      await store().terminate(ids[1]!, 'x')
      expect(await wakesOf(() => store().terminate(ids[0]!, 'x'))).toMatchObject([{ runId: ids[2] }])
      expect(await states(ids)).toEqual(['terminated', 'terminated', 'pending'])
    })

    it('a cancel wakes a queued run', async () => {
      const { admission } = limitOf({ concurrency: 1 })
      await create(admission())
      const queued = await create(admission())
      expect((await store().deliver(queued, { id: 'm', kind: 'signal', name: 's' })).wakes).toEqual([])
      const { wakes } = await store().deliver(queued, { id: 'c', kind: 'cancel' })
      expect(wakes).toEqual([{ runId: queued, at: now() }])
      expect((await store().claim(queued, LEASE))?.run.passed ?? 0).toBe(0)
    })

    it('a rate lets in so many at once, and the next ones when their time has come', async () => {
      const { limit, admission } = limitOf({ rate: 2, perMs: 60_000 })
      const ids = []
      for (let i = 0; i < 4; i++) ids.push(await create(admission({}, now() + i)))
      expect(await states(ids)).toEqual(['pending', 'pending', 'pending', 'queued'])
      const promised = (await store().get(ids[2]!))!.wakeAt!
      expect(promised).toBeGreaterThanOrEqual(now() + 60_000)
      expect(promised).toBeLessThanOrEqual(now() + 60_000 * 1.05)
      under.clock.moveTo(promised)
      expect(await wakesOf(async () => ({ wakes: await store().dispatch([{ limit }]) }))).toMatchObject([
        { runId: ids[3], at: now() },
      ])
    })

    it('through several limiters one after the other', async () => {
      const one = limitOf({ concurrency: 2 })
      const two = limitOf({ concurrency: 1 })
      const both = (order: number): NewAdmission => ({
        gates: [...one.admission().gates, ...two.admission().gates],
        order,
        specs: { ...one.admission().specs, ...two.admission().specs },
      })
      const ids = []
      for (let i = 0; i < 3; i++) ids.push(await create(both(now() + i)))
      const passed = await Promise.all(ids.map(async (id) => (await store().get(id))!.passed))
      expect(passed).toEqual([2, 1, 0])
      expect(await end(ids[0]!)).toMatchObject([{ runId: ids[1] }])
      expect((await store().get(ids[2]!))!.passed).toBe(1)
      expect(await end(ids[1]!)).toMatchObject([{ runId: ids[2] }])
    })

    it('a changed limit counts for queued runs; paused, it grants nothing; reset, it is the code’s', async () => {
      const { limit, admission } = limitOf({ concurrency: 1 })
      const ids = []
      for (let i = 0; i < 5; i++) ids.push(await create(admission({}, now() + i)))
      const limits = new Limits(under.world)
      await limits.set(limit, { concurrency: 3 })
      expect(await states(ids)).toEqual(['pending', 'pending', 'pending', 'queued', 'queued'])
      await limits.pause(limit)
      await end(ids[0]!)
      expect(await states(ids)).toEqual(['completed', 'pending', 'pending', 'queued', 'queued'])
      const view = await limits.reset(limit)
      expect(view).toMatchObject({ inForce: { concurrency: 1 }, isSet: false, paused: true })
      await limits.resume(limit)
      expect(await states(ids)).toEqual(['completed', 'pending', 'pending', 'queued', 'queued'])
      await end(ids[1]!)
      await end(ids[2]!)
      expect(await states(ids)).toEqual(['completed', 'completed', 'completed', 'pending', 'queued'])
      await expect(limits.set('nobody', { concurrency: 3 })).rejects.toThrow("no limit is named 'nobody'; known: ")
    })

    it('a step that requests a permit again gets the same answer; its run is woken when it is granted', async () => {
      const { limit } = limitOf({ concurrency: 1 })
      const [a, b, c] = [await claimedRun(), await claimedRun(), await claimedRun()]
      const [ofA, ofB] = [ofStep(a.id), ofStep(b.id)]
      const granted = [{ holder: ofA.holder, at: now(), slot: 0 }]
      expect((await a.send(asking(limit, ofA))).permits).toEqual(granted)
      expect((await a.send(asking(limit, ofA))).permits).toEqual(granted)
      expect((await b.send(asking(limit, ofB))).permits).toEqual([])
      expect((await b.send(asking(limit, ofB))).permits).toEqual([])
      expect(await standing(limit, ofB, true)).toBe('queued')
      await b.suspend()
      expect(await wakesOf(() => a.send({ ...releasing(limit, ofA), slot: 0 }))).toMatchObject([{ runId: b.id }])
      expect(await standing(limit, ofB, false)).toEqual({ permit: { at: now(), slot: 0 } })
      // Released twice, it is not taken from the next holder.
      expect(await wakesOf(() => a.send({ ...releasing(limit, ofA), state: 'queued' }))).toEqual([])
      expect((await c.send(asking(limit, ofStep(c.id)))).permits).toEqual([])
      expect(await standing(limit, ofB, false)).toEqual({ permit: { at: now(), slot: 0 } })
    })

    it('a permit that was granted in the queue and is in use has no entry there, and keeps its slot', async () => {
      const { limit } = limitOf({ concurrency: 1 })
      const [a, b] = [await claimedRun(), await claimedRun()]
      const [ofA, ofB] = [ofStep(a.id), ofStep(b.id)]
      await a.send(asking(limit, ofA))
      await b.send(asking(limit, ofB))
      await a.send(releasing(limit, ofA))
      const view = async () => (await new Limits(under.world).get(limit)).gates[0]!
      expect(await view()).toMatchObject({ inside: 1, waiting: { count: 1 } })
      await b.send({ kind: 'confirm', limiter: { limit }, entry: ofB })
      expect(await view()).toMatchObject({ inside: 1, holders: [`${b.id}/ask`], waiting: { count: 0 } })
      expect(await standing(limit, ofB, false)).toBe('unknown')
      // Whoever recovers the run finds it by its holder.
      expect(await standing(limit, ofB, true)).toEqual({ permit: { at: now(), slot: 0 } })
    })

    it('a request that is withdrawn is not granted: the next one is', async () => {
      const { limit } = limitOf({ concurrency: 1 })
      const [a, b, c] = [await claimedRun(), await claimedRun(), await claimedRun()]
      const [ofA, ofB, ofC] = [ofStep(a.id), ofStep(b.id, 1), ofStep(c.id, 2)]
      await a.send(asking(limit, ofA))
      await b.send(asking(limit, ofB))
      await c.send(asking(limit, ofC))
      await c.suspend()
      await b.send({ ...releasing(limit, ofB), state: 'queued' })
      expect(await wakesOf(() => a.send(releasing(limit, ofA)))).toMatchObject([{ runId: c.id }])
      expect(await standing(limit, ofB, true)).toBe('unknown')
    })

    it('nothing begins in a cooldown: the next request is granted for the time behind it', async () => {
      const { limit } = limitOf({ concurrency: 1 })
      const [a, b, c] = [await claimedRun(), await claimedRun(), await claimedRun()]
      const [ofA, ofB] = [ofStep(a.id), ofStep(b.id)]
      await a.send(asking(limit, ofA))
      await b.send(asking(limit, ofB))
      await a.send({ ...releasing(limit, ofA), cooldownMs: 30_000 })
      expect(await standing(limit, ofB, false)).toEqual({ permit: { at: now() + 30_000, slot: 0 } })
      // And where all keys of the limit cool down, nothing of any key.
      await a.send({ kind: 'coolDown', limit, spec: { concurrency: 1 }, ms: 60_000 })
      const ofC = { ...asking(limit, ofStep(c.id)), limiter: { limit, key: 'k' } } as Outgoing
      const { permits } = await c.send(ofC)
      expect(permits).toEqual([{ holder: `${c.id}/ask#1`, at: now() + 60_000, slot: 0, isQueued: true }])
    })

    it('a holder that is nowhere to be found releases its slot at the next check, a minute later', async () => {
      const { limit, admission } = limitOf({ concurrency: 1 })
      const asker = await claimedRun()
      expect((await asker.send(asking(limit, ofRun(`never-made-${serial}`)))).permits).toHaveLength(1)
      const waits = await create(admission())
      // It may be about to be made.
      await store().checkLimiters(now() + 60_000, 1_000)
      expect(await states([waits])).toEqual(['queued'])
      under.clock.moveTo(now() + 61_000)
      const checked = await wakesOf(async () => {
        const { wakes, failures } = await store().checkLimiters(now(), 1_000)
        expect(failures).toEqual([])
        return { wakes }
      })
      expect(checked).toContainEqual({ runId: waits, at: now() })
      expect(await states([waits])).toEqual(['pending'])
    })
  })
}
