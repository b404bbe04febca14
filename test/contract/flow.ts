import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FORMAT } from '../../sdk/engine/names.ts'
import type { Gate, NewAdmission } from '../../sdk/flow/admission.ts'
import type { LimitSpec } from '../../sdk/flow/limit.ts'
import { Limits } from '../../sdk/flow/limits.ts'
import { laneOf } from '../../sdk/flow/line.ts'
import type { NewRun, RunStatus, Wake } from '../../sdk/ports.ts'
import type { WorldUnderTest } from './contract.ts'

/** What sdk/ports.ts promises of limits, for every world. */
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

    /** A limit of its own for each test. */
    function limitOf(spec: LimitSpec) {
      const limit = `limit-${++serial}`
      const admission = (gate: Partial<Gate> = {}, order = now()): NewAdmission => ({
        gates: [{ limit, ...(spec.concurrency !== undefined && { holds: true }), ...gate }],
        order,
        specs: { [limit]: spec },
      })
      return { limit, admission }
    }
    function newRun(admission: NewAdmission, changes: Partial<NewRun> = {}): NewRun {
      const common = { workflow: 'order', version: 1, format: FORMAT, input: null, secret: 's', tags: [], retentionMs: 3_600_000 }
      return { id: `flow-${++serial}`, createdAt: now(), wakeAt: now(), ...common, admission, ...changes }
    }
    async function create(admission: NewAdmission, changes?: Partial<NewRun>): Promise<string> {
      return (await store().create(newRun(admission, changes))).run.id
    }
    const states = (ids: readonly string[]): Promise<(RunStatus | undefined)[]> => Promise.all(ids.map(async (id) => (await store().state(id))?.status))
    async function end(runId: string): Promise<Wake[]> {
      const claimed = await store().claim(runId, LEASE)
      if (!claimed) throw new Error(`claim of ${runId} was refused`)
      const { admission, epoch } = claimed.run
      const event = { type: 'run.completed' as const }
      const leaving = admission!.gates.map((gate) => ({ kind: 'leave' as const, gate, holder: runId, lane: gate.lane ?? '', order: admission!.order }))
      const result = await store().commit({
        runId,
        epoch,
        frame: { seq: 1, at: now(), epoch, events: [event] },
        outgoing: leaving,
        next: { kind: 'end', event },
      })
      if (!result.ok) throw new Error(`the end of ${runId} was refused`)
      return result.wakes
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

    it('lanes are served in turn, however many wait in one of them', async () => {
      const { admission } = limitOf({ concurrency: 1 })
      let inside = await create(admission({ lane: laneOf('big') }))
      const big: string[] = []
      for (let i = 0; i < 6; i++) big.push(await create(admission({ lane: laneOf('big') }, now() + i)))
      const small = [await create(admission({ lane: laneOf('s1') }, now() + 10)), await create(admission({ lane: laneOf('s2') }, now() + 11))]
      const served = []
      for (let i = 0; i < 4; i++) {
        const [wake] = await end(inside)
        inside = wake!.runId
        served.push(inside)
      }
      expect(served).toEqual(expect.arrayContaining(small))
      expect(served.filter((id) => big.includes(id))).toEqual(big.slice(0, 2))
    })

    it('a run that is terminated in line, or inside, leaves its place to others', async () => {
      const { admission } = limitOf({ concurrency: 1 })
      const ids = [await create(admission({}, now())), await create(admission({}, now() + 1)), await create(admission({}, now() + 2))]
      await store().terminate(ids[1]!, 'x')
      const { wakes } = await store().terminate(ids[0]!, 'x')
      expect(wakes).toMatchObject([{ runId: ids[2] }])
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
      expect(await store().attend([{ limit }])).toMatchObject([{ runId: ids[3], at: now() }])
    })

    it('through several gates one after the other', async () => {
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

    it('a changed limit counts for those who wait; paused, it lets nobody in; reset, it is the code’s', async () => {
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

    it('a step asks for a turn, asks again and is told the same, and its run is woken when the turn comes', async () => {
      const { limit } = limitOf({ concurrency: 1 })
      const { admission: _, ...plain } = newRun({ gates: [], order: 0, specs: {} })
      const [a, b] = [`step-a-${serial}`, `step-b-${serial}`]
      for (const id of [a, b]) await store().create({ ...plain, id })
      const ticket = (run: string) => ({ run, holder: `${run}/ask`, cost: 1, holds: true, lane: '', order: now() })
      const spec = { concurrency: 1 }
      expect((await store().enter({ limit }, ticket(a), spec)).at).toBe(now())
      expect((await store().enter({ limit }, ticket(a), spec)).at).toBe(now())
      expect((await store().enter({ limit }, ticket(b), spec)).at).toBeUndefined()
      const claimed = (await store().claim(b, LEASE))!
      await store().commit({ runId: b, epoch: claimed.run.epoch, next: { kind: 'suspend', status: 'waiting', waitingFor: [], seen: claimed.run.stimulus } })
      const { run } = (await store().claim(a, LEASE))!
      const left = await store().commit({
        runId: a,
        epoch: run.epoch,
        outgoing: [{ kind: 'leave', gate: { limit }, holder: `${a}/ask`, lane: '', order: now() }],
        next: { kind: 'keep' },
      })
      expect(left).toMatchObject({ ok: true, wakes: [{ runId: b }] })
      expect((await store().enter({ limit }, ticket(b), spec)).at).toBe(now())
    })

    it('a holder that is nowhere to be found gives its place back while others wait', async () => {
      const { limit, admission } = limitOf({ concurrency: 1 })
      await store().enter({ limit }, { run: 'never-made', holder: 'never-made', cost: 1, holds: true, lane: '', order: now() }, { concurrency: 1 })
      const waits = await create(admission())
      expect(await states([waits])).toEqual(['queued'])
      under.clock.moveTo(now() + 61_000)
      expect(await store().attend([{ limit }])).toMatchObject([{ runId: waits }])
    })
  })
}
