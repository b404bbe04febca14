import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Frame, JournalEvent } from '../../sdk/base/events.ts'
import type { Json } from '../../sdk/base/json.ts'
import { FORMAT } from '../../sdk/base/names.ts'
import type { Commit, Next } from '../../sdk/ports/commit.ts'
import type { NewRun, RunStatus } from '../../sdk/ports/run.ts'
import type { RunFilter } from '../../sdk/ports/run-lists.ts'
import type { Claimed, Lease } from '../../sdk/ports/run-store.ts'
import type { Wake, World } from '../../sdk/ports/world.ts'
import type { VirtualClock } from '../../sdk/testing/virtual-clock.ts'
import type { AwsWakeups } from '../../sdk/worlds/aws/wakeups.ts'

export interface WorldUnderTest {
  world: World
  clock: VirtualClock
  /** The wake-ups that the world has sent by itself, instead of handing them to the caller, since the last question. */
  takeSent?(): Wake[]
  close(): Promise<void>
}

/** For worlds that send the wake-ups of permits by themselves. */
export function takeSentBy(wakeups: AwsWakeups): () => Wake[] {
  const send = vi.spyOn(wakeups, 'send')
  return () => {
    const sent = send.mock.calls.flatMap(([wakes]) => wakes)
    send.mockClear()
    return sent
  }
}

/** What sdk/ports/ promises. Every world passes this, or it is not a world. */
export function worldContract(name: string, open: () => Promise<WorldUnderTest>): void {
  describe(`world contract: ${name}`, () => {
    let under: WorldUnderTest
    let serial = 0
    const store = () => under.world.store
    const now = () => under.clock.now()
    const lease = (owner = 'runner-a', ms = 30_000): Lease => ({ owner, ms })

    beforeAll(async () => {
      under = await open()
    })
    afterAll(() => under.close())

    function newRun(changes: Partial<NewRun> = {}): NewRun {
      const id = `contract-${++serial}`
      return {
        id,
        workflow: 'order',
        version: 1,
        format: FORMAT,
        input: { n: serial },
        secret: 'secret',
        createdAt: now(),
        wakeAt: now(),
        tags: [],
        retentionMs: 3_600_000,
        ...changes,
      }
    }
    async function started(changes: Partial<NewRun> = {}): Promise<Claimed> {
      const { run } = await store().create(newRun(changes))
      return claimed(run.id)
    }
    async function claimed(runId: string, by = lease()): Promise<Claimed> {
      const claim = await store().claim(runId, by)
      if (!claim) throw new Error(`claim of ${runId} was refused`)
      return claim
    }
    function frame(claim: Claimed, seq: number, ...events: JournalEvent[]): Frame {
      return { seq, at: now(), epoch: claim.run.epoch, events }
    }
    function commit(claim: Claimed, next: Next, rest: Partial<Commit> = {}) {
      return store().commit({ runId: claim.run.id, epoch: claim.run.epoch, next, ...rest })
    }
    const done = (id: string, result: number): JournalEvent => ({ type: 'step.completed', id, result })
    const sleepUntil = (claim: Claimed, wakeAt: number): Next => ({
      kind: 'suspend',
      status: 'sleeping',
      wakeAt,
      waitingFor: [{ kind: 'sleep', id: 'nap', until: wakeAt }],
      seen: claim.run.stimulus,
    })
    const waitForever = (claim: Claimed): Next => ({
      kind: 'suspend',
      status: 'waiting',
      waitingFor: [{ kind: 'signal', id: 'go', on: 'go' }],
      seen: claim.run.stimulus,
    })
    const events = (frames: Frame[]) => frames.flatMap((f) => f.events)

    describe('create', () => {
      it('stores the run and says when to wake it', async () => {
        const run = newRun({ tags: ['vip'] })
        const result = await store().create(run)
        expect(result).toMatchObject({ created: true, wakes: [{ runId: run.id, at: run.wakeAt }] })
        expect(await store().get(run.id)).toMatchObject({
          id: run.id,
          status: 'pending',
          input: run.input,
          tags: ['vip'],
          generation: 0,
          attempt: 1,
          createdAt: run.createdAt,
        })
      })

      it('returns the first run when the id is taken, and changes nothing', async () => {
        const run = newRun()
        await store().create(run)
        const again = await store().create({ ...run, input: { other: true } })
        expect(again).toMatchObject({ created: false, wakes: [], run: { input: run.input } })
      })

      it('creates one run when the same id is started many times at once', async () => {
        const run = newRun()
        const results = await Promise.all(Array.from({ length: 8 }, () => store().create(run)))
        expect(results.filter(({ created }) => created)).toHaveLength(1)
      })

      it('knows nothing of a run that was never created', async () => {
        expect(await store().get('nobody')).toBeUndefined()
        expect(await store().frames('nobody')).toEqual([])
      })
    })

    describe('claim (I7)', () => {
      it('bumps the epoch, starts the clock and loads the run', async () => {
        const claim = await started()
        expect(claim).toMatchObject({
          frames: [],
          inbox: [],
          recovered: false,
          run: { status: 'running', epoch: 1, startedAt: now() },
        })
      })

      it('is refused while another lease lives, and leaves a mark for its holder (I6)', async () => {
        const claim = await started()
        expect(await store().claim(claim.run.id, lease('runner-b'))).toBeUndefined()
        expect((await store().inbox(claim.run.id)).stimulus).toBe(claim.run.stimulus + 1)
      })

      it('takes over an expired lease and says that the holder died', async () => {
        const claim = await started()
        await commit(claim, { kind: 'keep' }, { frame: frame(claim, 1, done('a', 1)) })
        under.clock.moveTo(now() + 31_000)
        const next = await claimed(claim.run.id, lease('runner-b'))
        expect(next).toMatchObject({ recovered: true, deaths: 0, run: { epoch: 2 } })
        expect(events(next.frames)).toEqual([done('a', 1)])
      })

      it('counts the holders in a row that died without getting anywhere', async () => {
        const first = await started()
        const afterDeath = () => {
          under.clock.moveTo(now() + 31_000)
          return claimed(first.run.id)
        }
        expect(first.deaths).toBe(0)
        expect((await afterDeath()).deaths).toBe(1)
        const third = await afterDeath()
        expect(third.deaths).toBe(2)
        await commit(third, { kind: 'keep' }, { frame: frame(third, 1, done('a', 1)) })
        expect((await afterDeath()).deaths).toBe(0)
        const fifth = await afterDeath()
        expect(fifth.deaths).toBe(1)
        await commit(fifth, { kind: 'release' })
        expect((await claimed(first.run.id)).deaths).toBe(0)
        expect((await afterDeath()).deaths).toBe(1)
      })

      it('is refused for a run that is not due, ended or unknown', async () => {
        const later = await store().create(newRun({ wakeAt: now() + 60_000 }))
        expect(await store().claim(later.run.id, lease())).toBeUndefined()
        const claim = await started()
        await commit(
          claim,
          { kind: 'end', event: { type: 'run.completed' } },
          { frame: frame(claim, 1, { type: 'run.completed' }) },
        )
        expect(await store().claim(claim.run.id, lease())).toBeUndefined()
        expect(await store().claim('nobody', lease())).toBeUndefined()
      })

      it('gives a run to one of many runners that want it at once', async () => {
        const { run } = await store().create(newRun())
        const claims = await Promise.all(
          Array.from({ length: 8 }, (_, i) => store().claim(run.id, lease(`runner-${i}`))),
        )
        expect(claims.filter(Boolean)).toHaveLength(1)
      })
    })

    describe('the journal (I1)', () => {
      it('keeps frames in order, with everything in them', async () => {
        const claim = await started()
        for (let seq = 1; seq <= 12; seq++)
          expect(
            await commit(claim, { kind: 'keep' }, { frame: frame(claim, seq, done(`s${seq}`, seq)) }),
          ).toMatchObject({ ok: true })
        const frames = await store().frames(claim.run.id)
        expect(frames.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
        expect(frames.map(({ at }) => at)).toEqual(Array(12).fill(now()))
      })

      it('writes a slot once: the second writer is refused and the first frame stands', async () => {
        const claim = await started()
        await commit(claim, { kind: 'keep' }, { frame: frame(claim, 1, done('a', 1)) })
        under.clock.moveTo(now() + 31_000)
        const rival = await claimed(claim.run.id, lease('runner-b'))
        expect(await commit(rival, { kind: 'keep' }, { frame: frame(rival, 2, done('b', 2)) })).toMatchObject({
          ok: true,
        })
        expect(await commit(claim, { kind: 'keep' }, { frame: frame(claim, 2, done('b', 99)) })).toEqual({ ok: false })
        expect(events(await store().frames(claim.run.id))).toEqual([done('a', 1), done('b', 2)])
      })

      it('refuses to let a superseded runner suspend, end or continue the run', async () => {
        const claim = await started()
        under.clock.moveTo(now() + 31_000)
        const rival = await claimed(claim.run.id, lease('runner-b'))
        expect(await commit(claim, sleepUntil(claim, now() + 1000))).toEqual({ ok: false })
        expect(await commit(claim, { kind: 'park', error: { name: 'Error', message: 'no' } })).toEqual({ ok: false })
        expect(await store().get(claim.run.id)).toMatchObject({ status: 'running', epoch: rival.run.epoch })
      })

      it('loads a journal of several megabytes whole', async () => {
        const claim = await started()
        const blob = 'x'.repeat(150_000)
        for (let seq = 1; seq <= 20; seq++)
          await commit(
            claim,
            { kind: 'keep' },
            { frame: frame(claim, seq, { type: 'step.completed', id: `s${seq}`, result: `${seq}${blob}` }) },
          )
        const frames = await store().frames(claim.run.id)
        expect(frames).toHaveLength(20)
        expect(events(frames).map((e) => (e as { result: string }).result.length)).toEqual(
          Array.from({ length: 20 }, (_, i) => blob.length + String(i + 1).length),
        )
      })

      it('keeps payloads of two megabytes: input, result, signal and output', async () => {
        const big = 'é'.repeat(1_000_000)
        const claim = await started({ input: { big } })
        expect(claim.run.input).toEqual({ big })
        await store().deliver(claim.run.id, { id: 'big', kind: 'signal', name: 'go', payload: big })
        expect((await store().inbox(claim.run.id)).messages).toMatchObject([{ payload: big }])
        await commit(
          claim,
          { kind: 'keep' },
          { frame: frame(claim, 1, { type: 'step.completed', id: 'a', result: big }) },
        )
        await commit(
          claim,
          { kind: 'end', event: { type: 'run.completed', output: big } },
          { frame: frame(claim, 2, { type: 'run.completed', output: big }) },
        )
        expect((await store().get(claim.run.id))?.output).toBe(big)
        expect(events(await store().frames(claim.run.id))[0]).toMatchObject({ result: big })
      })
    })

    describe('suspending (I6)', () => {
      it('frees the run until its time has come', async () => {
        const claim = await started()
        const wakeAt = now() + 120_000
        expect(await commit(claim, sleepUntil(claim, wakeAt), { frame: frame(claim, 1, done('a', 1)) })).toMatchObject({
          ok: true,
          suspended: true,
          wakes: [{ runId: claim.run.id, at: wakeAt }],
        })
        expect(await store().get(claim.run.id)).toMatchObject({
          status: 'sleeping',
          wakeAt,
          waitingFor: [{ kind: 'sleep', id: 'nap', until: wakeAt }],
        })
        expect(await store().claim(claim.run.id, lease())).toBeUndefined()
        under.clock.moveTo(wakeAt)
        expect(await claimed(claim.run.id)).toMatchObject({ recovered: false, run: { status: 'running' } })
      })

      it('is refused when something came in meanwhile, and the frame stands all the same', async () => {
        const claim = await started()
        await store().deliver(claim.run.id, { id: 'm1', kind: 'signal', name: 'go' })
        expect(await commit(claim, waitForever(claim), { frame: frame(claim, 1, done('a', 1)) })).toMatchObject({
          ok: true,
          suspended: false,
        })
        expect(events(await store().frames(claim.run.id))).toEqual([done('a', 1)])
        const { stimulus, messages } = await store().inbox(claim.run.id)
        expect(messages).toMatchObject([{ id: 'm1' }])
        expect(await commit(claim, { ...waitForever(claim), seen: stimulus } as Next)).toMatchObject({
          ok: true,
          suspended: true,
        })
      })

      it('hands a released run on at once', async () => {
        const claim = await started()
        expect(await commit(claim, { kind: 'release' })).toMatchObject({
          ok: true,
          wakes: [{ runId: claim.run.id, at: now() }],
        })
        expect(await claimed(claim.run.id, lease('runner-b'))).toMatchObject({ recovered: false, run: { epoch: 2 } })
      })
    })

    describe('messages', () => {
      it('wake a waiting run, in the order they were sent', async () => {
        const claim = await started()
        await commit(claim, waitForever(claim))
        for (const id of ['m1', 'm2', 'm3']) {
          expect((await store().deliver(claim.run.id, { id, kind: 'signal', name: 'go', payload: id })).outcome).toBe(
            'accepted',
          )
          under.clock.moveTo(now() + 1)
        }
        const next = await claimed(claim.run.id)
        expect(next.inbox.map(({ id }) => id)).toEqual(['m1', 'm2', 'm3'])
      })

      it('say that the run is to be woken now', async () => {
        const claim = await started()
        await commit(claim, sleepUntil(claim, now() + 86_400_000))
        const { wakes } = await store().deliver(claim.run.id, { id: 'm1', kind: 'signal', name: 'go' })
        expect(wakes).toEqual([{ runId: claim.run.id, at: now() }])
      })

      it('with an id seen before are recognised, also after they were consumed', async () => {
        const claim = await started()
        const message = { id: 'once', kind: 'signal' as const, name: 'go' }
        expect((await store().deliver(claim.run.id, message)).outcome).toBe('accepted')
        expect((await store().deliver(claim.run.id, message)).outcome).toBe('duplicate')
        await commit(
          claim,
          { kind: 'keep' },
          { frame: frame(claim, 1, { type: 'wait.completed', id: 'go', from: 'once' }), consumed: ['once'] },
        )
        expect((await store().inbox(claim.run.id)).messages).toEqual([])
        expect((await store().deliver(claim.run.id, message)).outcome).toBe('duplicate')
      })

      it('are refused by a run that has ended or never was', async () => {
        const claim = await started()
        await commit(
          claim,
          { kind: 'end', event: { type: 'run.completed' } },
          { frame: frame(claim, 1, { type: 'run.completed' }) },
        )
        expect((await store().deliver(claim.run.id, { id: 'late', kind: 'signal', name: 'go' })).outcome).toBe('ended')
        expect((await store().deliver('nobody', { id: 'lost', kind: 'signal', name: 'go' })).outcome).toBe('missing')
      })

      it('do not start a run before its time, except to cancel it', async () => {
        const { run } = await store().create(newRun({ wakeAt: now() + 60_000 }))
        await store().deliver(run.id, { id: 'early', kind: 'signal', name: 'go' })
        expect(await store().claim(run.id, lease())).toBeUndefined()
        const { wakes } = await store().deliver(run.id, { id: 'cancel', kind: 'cancel' })
        expect(wakes).toHaveLength(1)
        expect((await claimed(run.id)).inbox.map(({ kind }) => kind)).toEqual(['signal', 'cancel'])
      })

      it('arrive once each when many are sent at once', async () => {
        const claim = await started()
        await Promise.all(
          Array.from({ length: 20 }, (_, i) =>
            store().deliver(claim.run.id, { id: `m${i}`, kind: 'signal', name: 'go' }),
          ),
        )
        const { stimulus, messages } = await store().inbox(claim.run.id)
        expect(messages).toHaveLength(20)
        expect(stimulus).toBe(claim.run.stimulus + 20)
      })
    })

    describe('replies', () => {
      const big = 'x'.repeat(2_000_000)
      const ask = (runId: string, id: string) => store().deliver(runId, { id, kind: 'signal', name: 'go' })
      const reply = (to: string, result: Json) => ({ outgoing: [{ kind: 'reply' as const, to, reply: { result } }] })

      it('are found by the message that asked, also after it was consumed', async () => {
        const claim = await started()
        for (const id of ['a', 'b']) await ask(claim.run.id, id)
        expect(await store().reply(claim.run.id, 'a')).toBeUndefined()
        await commit(claim, { kind: 'keep' }, { ...reply('a', [1]), consumed: ['a'] })
        expect(await store().reply(claim.run.id, 'a')).toEqual({ result: [1] })
        await commit(claim, { kind: 'keep' }, { consumed: ['b'] })
        await commit(
          claim,
          { kind: 'keep' },
          { outgoing: [{ kind: 'reply', to: 'b', reply: { error: { name: 'Error', message: 'no' } } }] },
        )
        expect(await store().reply(claim.run.id, 'b')).toEqual({ error: { name: 'Error', message: 'no' } })
        expect((await store().inbox(claim.run.id)).messages).toEqual([])
      })

      it('are given once: the first counts, and one to a message that never was is dropped', async () => {
        const claim = await started()
        await ask(claim.run.id, 'a')
        await commit(claim, { kind: 'keep' }, reply('a', 1))
        await commit(claim, { kind: 'keep' }, reply('a', 2))
        await commit(claim, { kind: 'keep' }, reply('never', 3))
        expect(await store().reply(claim.run.id, 'a')).toEqual({ result: 1 })
        expect(await store().reply(claim.run.id, 'never')).toBeUndefined()
        expect(await store().reply('nobody', 'a')).toBeUndefined()
      })

      it('stay when the run ends with them, and may be large', async () => {
        const claim = await started()
        await ask(claim.run.id, 'a')
        const end = { type: 'run.completed' as const }
        await commit(
          claim,
          { kind: 'end', event: end },
          { ...reply('a', big), frame: frame(claim, 1, end), consumed: ['a'] },
        )
        expect(await store().reply(claim.run.id, 'a')).toEqual({ result: big })
      })

      it('are kept for a while when the run begins anew, and then go', async () => {
        const claim = await started()
        await ask(claim.run.id, 'a')
        under.clock.moveTo(now() + 3_600_000)
        const late = (await store().claim(claim.run.id, lease()))!
        const again = (by: Claimed, seq: number) =>
          commit(
            by,
            { kind: 'continue', input: 1, attempt: 1, wakeAt: now() },
            { frame: frame(by, seq, { type: 'run.continued', input: 1 }) },
          )
        await commit(late, { kind: 'keep' }, { ...reply('a', 1), consumed: ['a'] })
        await again(late, 1)
        expect(await store().reply(claim.run.id, 'a')).toEqual({ result: 1 })
        under.clock.moveTo(now() + 3_600_000)
        await again(await claimed(claim.run.id), 2)
        expect(await store().reply(claim.run.id, 'a')).toBeUndefined()
      })

      it('are heard of by those who watch the run', async () => {
        const claim = await started()
        await ask(claim.run.id, 'a')
        let isHeard = () => {}
        const heard = new Promise<void>((resolve) => {
          isHeard = resolve
        })
        const unwatch = store().watch(
          claim.run.id,
          () =>
            void store()
              .reply(claim.run.id, 'a')
              .then((found) => found && isHeard()),
        )
        await commit(claim, { kind: 'keep' }, reply('a', 1))
        await heard
        unwatch()
      })
    })

    describe('the lease (I7)', () => {
      it('is prolonged by renewing, which also tells of stimuli', async () => {
        const claim = await started()
        under.clock.moveTo(now() + 20_000)
        await store().deliver(claim.run.id, { id: 'm1', kind: 'signal', name: 'go' })
        expect(await store().renew(claim.run.id, claim.run.epoch, lease())).toEqual({
          stimulus: claim.run.stimulus + 1,
        })
        under.clock.moveTo(now() + 20_000)
        expect(await store().claim(claim.run.id, lease('runner-b'))).toBeUndefined()
      })

      it('is lost for good once another runner has the run', async () => {
        const claim = await started()
        under.clock.moveTo(now() + 31_000)
        await claimed(claim.run.id, lease('runner-b'))
        expect(await store().renew(claim.run.id, claim.run.epoch, lease())).toBeUndefined()
      })

      it('carries a heartbeat that is visible from outside', async () => {
        const claim = await started()
        await store().renew(claim.run.id, claim.run.epoch, lease(), { step: 'crawl', at: now(), details: { page: 3 } })
        expect((await store().get(claim.run.id))?.heartbeat).toMatchObject({ step: 'crawl', details: { page: 3 } })
      })
    })

    describe('ending', () => {
      it('records output or error, and is final', async () => {
        const good = await started()
        await commit(
          good,
          { kind: 'end', event: { type: 'run.completed', output: { ok: true } } },
          { frame: frame(good, 1, { type: 'run.completed', output: { ok: true } }) },
        )
        expect(await store().get(good.run.id)).toMatchObject({
          status: 'completed',
          output: { ok: true },
          endedAt: now(),
        })
        const error = { name: 'Error', message: 'no money' }
        const bad = await started()
        await commit(
          bad,
          { kind: 'end', event: { type: 'run.failed', error } },
          { frame: frame(bad, 1, { type: 'run.failed', error }) },
        )
        expect(await store().get(bad.run.id)).toMatchObject({ status: 'failed', error })
        expect(await commit(bad, { kind: 'end', event: { type: 'run.completed' } })).toEqual({ ok: false })
      })

      it('tells the parent, once, and wakes it (I5)', async () => {
        const parent = await started()
        const child = newRun({ parent: { runId: parent.run.id, op: 'kid' } })
        await commit(parent, waitForever(parent), { outgoing: [{ kind: 'start', run: child }] })
        const claim = await claimed(child.id)
        const told = {
          id: `child ${child.id}`,
          kind: 'child' as const,
          run: child.id,
          op: 'kid',
          status: 'completed' as const,
          result: 7,
        }
        const result = await commit(
          claim,
          { kind: 'end', event: { type: 'run.completed', output: 7 } },
          {
            frame: frame(claim, 1, { type: 'run.completed', output: 7 }),
            outgoing: [{ kind: 'deliver', to: parent.run.id, message: told }],
          },
        )
        expect(result).toMatchObject({ ok: true, wakes: [{ runId: parent.run.id }] })
        expect((await claimed(parent.run.id)).inbox).toEqual([told])
      })

      it('from outside is immediate: the runner loses the run', async () => {
        const claim = await started()
        expect(await store().terminate(claim.run.id, 'enough')).toMatchObject({ ended: true })
        expect(await store().get(claim.run.id)).toMatchObject({ status: 'terminated' })
        expect(events(await store().frames(claim.run.id))).toEqual([{ type: 'run.terminated', reason: 'enough' }])
        expect(
          await commit(
            claim,
            { kind: 'end', event: { type: 'run.completed' } },
            { frame: frame(claim, 1, { type: 'run.completed' }) },
          ),
        ).toEqual({
          ok: false,
        })
        expect(await store().terminate(claim.run.id, 'again')).toMatchObject({ ended: false })
      })

      it('from outside tells the parent too', async () => {
        const parent = await started()
        const child = newRun({ parent: { runId: parent.run.id, op: 'kid' } })
        await commit(parent, waitForever(parent), { outgoing: [{ kind: 'start', run: child }] })
        const { wakes } = await store().terminate(child.id, 'enough')
        expect(wakes).toMatchObject([{ runId: parent.run.id }])
        expect((await claimed(parent.run.id)).inbox).toMatchObject([{ kind: 'child', op: 'kid', status: 'terminated' }])
      })
    })

    describe('children', () => {
      it('start with the commit, once, however often it is announced', async () => {
        const parent = await started()
        const child = newRun({ parent: { runId: parent.run.id, op: 'kid' } })
        const outgoing = [{ kind: 'start' as const, run: child }]
        expect(await commit(parent, { kind: 'keep' }, { outgoing })).toMatchObject({ wakes: [{ runId: child.id }] })
        await commit(parent, { kind: 'keep' }, { outgoing })
        expect(await store().get(child.id)).toMatchObject({
          status: 'pending',
          parent: { runId: parent.run.id, op: 'kid' },
        })
        expect((await store().inbox(parent.run.id)).messages).toEqual([])
      })

      it('that want the id of another run are reported as failed', async () => {
        const stranger = await started()
        const parent = await started()
        const child = newRun({ id: stranger.run.id, parent: { runId: parent.run.id, op: 'kid' } })
        await commit(parent, { kind: 'keep' }, { outgoing: [{ kind: 'start', run: child }] })
        expect((await store().inbox(parent.run.id)).messages).toMatchObject([
          { kind: 'child', op: 'kid', status: 'failed', error: { name: 'ConflictError' } },
        ])
      })

      it('are terminated with their parent where that was asked for', async () => {
        const parent = await started()
        const child = newRun()
        await commit(parent, { kind: 'keep' }, { outgoing: [{ kind: 'start', run: child }] })
        await commit(
          parent,
          { kind: 'keep' },
          { outgoing: [{ kind: 'terminate', run: child.id, reason: 'parent gone' }] },
        )
        expect(await store().get(child.id)).toMatchObject({ status: 'terminated' })
      })
    })

    describe('generations', () => {
      it('begin with an empty journal and keep the mail', async () => {
        const claim = await started()
        await store().deliver(claim.run.id, { id: 'm1', kind: 'signal', name: 'go' })
        await commit(claim, { kind: 'keep' }, { frame: frame(claim, 1, done('a', 1)) })
        const continued: JournalEvent = { type: 'run.continued', input: { round: 2 } }
        expect(
          await commit(
            claim,
            { kind: 'continue', input: { round: 2 }, attempt: 1, wakeAt: now() },
            { frame: frame(claim, 2, continued) },
          ),
        ).toMatchObject({
          ok: true,
          wakes: [{ runId: claim.run.id }],
        })
        const begunAt = now()
        under.clock.moveTo(begunAt + 5_000)
        const next = await claimed(claim.run.id)
        expect(next).toMatchObject({ frames: [], begunAt, run: { generation: 1, input: { round: 2 }, baseSeq: 2 } })
        expect(next.inbox.map(({ id }) => id)).toEqual(['m1'])
        await commit(next, { kind: 'keep' }, { frame: frame(next, 3, done('b', 2)) })
        expect(events(await store().frames(claim.run.id))).toEqual([continued, done('b', 2)])
      })

      it('know who made them: the trace that a run began with, then that of the generation before', async () => {
        const { run } = await store().create(newRun({ trace: 'one' }))
        const first = await claimed(run.id)
        const next = { kind: 'continue', input: 1, attempt: 1, wakeAt: now(), trace: 'two' } as const
        await commit(first, next, { frame: frame(first, 1, { type: 'run.continued', input: 1 }) })
        expect([first.run.trace, (await claimed(run.id)).run.trace]).toEqual(['one', 'two'])
        expect((await started()).run).not.toHaveProperty('trace')
      })
    })

    describe('parked and failed runs', () => {
      it('a parked run waits for a fix, whatever is sent to it, and then goes on', async () => {
        const claim = await started()
        await commit(claim, { kind: 'park', error: { name: 'NonDeterminismError', message: 'changed' } })
        expect(await store().get(claim.run.id)).toMatchObject({
          status: 'stuck',
          error: { name: 'NonDeterminismError' },
        })
        expect((await store().deliver(claim.run.id, { id: 'm1', kind: 'signal', name: 'go' })).outcome).toBe('accepted')
        expect(await store().claim(claim.run.id, lease())).toBeUndefined()
        expect(await store().revive(claim.run.id)).toMatchObject({ revived: true, wakes: [{ runId: claim.run.id }] })
        expect((await claimed(claim.run.id)).inbox).toHaveLength(1)
      })

      it('a run that no runner can take to an end is parked without being loaded, unless a runner holds it or it is not due', async () => {
        const error = { name: 'Error', message: 'its runner died five times' }
        const claim = await started()
        expect(await store().park(claim.run.id, error)).toBe('leased')
        under.clock.moveTo(now() + lease().ms)
        expect(await store().park(claim.run.id, error)).toBe('parked')
        const run = await store().get(claim.run.id)
        expect(run).toMatchObject({ status: 'stuck', error })
        expect(run!.wakeAt).toBeUndefined()
        expect(await store().claim(claim.run.id, lease())).toBeUndefined()
        expect(await commit(claim, { kind: 'keep' }, { progress: 1 })).toEqual({ ok: false })
        expect(await store().park(claim.run.id, error)).toBe('moved-on')
        expect(await store().revive(claim.run.id)).toMatchObject({ revived: true })
        await claimed(claim.run.id)

        const asleep = await started()
        await commit(asleep, sleepUntil(asleep, now() + 1000))
        expect(await store().park(asleep.run.id, error)).toBe('moved-on')
        under.clock.moveTo(now() + 1000)
        expect(await store().park(asleep.run.id, error, { ifClaimed: true })).toBe('unclaimed')
        await claimed(asleep.run.id)
        expect(await store().park('never-was', error)).toBe('moved-on')
      })

      it('a failed run goes on with a word in its journal', async () => {
        const claim = await started()
        const error = { name: 'Error', message: 'no' }
        await commit(
          claim,
          { kind: 'end', event: { type: 'run.failed', error } },
          { frame: frame(claim, 1, { type: 'run.failed', error }) },
        )
        expect(await store().revive(claim.run.id)).toMatchObject({ revived: false })
        expect(await store().revive(claim.run.id, { type: 'run.retried', step: 'charge' })).toMatchObject({
          revived: true,
        })
        const next = await claimed(claim.run.id)
        expect(events(next.frames)).toEqual([
          { type: 'run.failed', error },
          { type: 'run.retried', step: 'charge' },
        ])
        expect(await store().revive(claim.run.id, { type: 'run.retried' })).toMatchObject({ revived: false })
      })
    })

    describe('what is overdue (I5)', () => {
      it('is found: never started, asleep past its time, or in the hands of a dead runner', async () => {
        const neverStarted = await store().create(newRun())
        const asleep = await started()
        await commit(asleep, sleepUntil(asleep, now() + 1000))
        const orphaned = await started()
        const waiting = await started()
        await commit(waiting, waitForever(waiting))
        under.clock.moveTo(now() + 600_000)
        const overdue = (await store().overdue(now(), 10_000)).map(({ runId }) => runId)
        expect(overdue).toEqual(expect.arrayContaining([neverStarted.run.id, asleep.run.id, orphaned.run.id]))
        expect(overdue).not.toContain(waiting.run.id)
      })
    })

    describe('listing', () => {
      it('is newest first, filtered, and pages without gaps or repeats', async () => {
        const workflow = `listed-${++serial}`
        const ids: string[] = []
        for (let i = 0; i < 7; i++) {
          under.clock.moveTo(now() + 1000)
          const { run } = await store().create(newRun({ workflow, tags: i % 2 === 0 ? ['even'] : [] }))
          ids.unshift(run.id)
        }
        const pages: string[][] = []
        let cursor: string | undefined
        do {
          const page = await store().list({ workflow, limit: 3, cursor })
          pages.push(page.runs.map(({ runId }) => runId))
          cursor = page.cursor
        } while (cursor !== undefined)
        expect(pages.flat()).toEqual(ids)
        expect((await store().list({ workflow, tag: 'even', limit: 10 })).runs).toHaveLength(4)
        await store().terminate(ids[0]!, 'test')
        expect(
          (await store().list({ workflow, status: 'terminated', limit: 10 })).runs.map(({ runId }) => runId),
        ).toEqual([ids[0]])
        expect((await store().list({ workflow, from: now(), limit: 10 })).runs.map(({ runId }) => runId)).toEqual([
          ids[0],
        ])
        expect((await store().list({ workflow, to: now(), limit: 10 })).runs).toHaveLength(6)
      })

      it('shows no payload, and why a run is in trouble in short', async () => {
        const workflow = `bare-${++serial}`
        const claim = await started({ workflow, input: { large: 'x'.repeat(5_000) }, tags: ['t'] })
        const error = { name: 'OddError', message: 'm'.repeat(3_000), stack: 's'.repeat(5_000) }
        await commit(claim, { kind: 'park', error })
        const { runs } = await store().list({ workflow, limit: 10 })
        expect(runs).toMatchObject([
          {
            runId: claim.run.id,
            workflow,
            status: 'stuck',
            tags: ['t'],
            attempt: 1,
            generation: 0,
            error: { name: 'OddError' },
          },
        ])
        expect(runs[0]!.error!.message).toMatch(/^m{100,500}$/)
        expect(JSON.stringify(runs).length).toBeLessThan(1_500)
      })

      it('can be of ids that begin alike, and of a tag, whichever workflow has it', async () => {
        const n = ++serial
        const tag = `customer:${n}`
        const [one, two] = [`one-${n}`, `two-${n}`]
        const make = async (id: string, workflow: string, tags: string[], commonTags?: string[]) => {
          under.clock.moveTo(now() + 1_000)
          await store().create(newRun({ id, workflow, tags, ...(commonTags && { commonTags }) }))
        }
        await make(`order-${n}-a`, one, [tag])
        await make(`order-${n}-b`, two, [tag, 'another'])
        await make(`other-${n}`, two, [tag], [tag])
        await make(`order-${n}-c`, one, [])
        const ids = async (filter: Omit<RunFilter, 'limit'>) =>
          (await store().list({ ...filter, limit: 10 })).runs.map(({ runId }) => runId)
        expect(await ids({ tag })).toEqual([`other-${n}`, `order-${n}-b`, `order-${n}-a`])
        expect(await ids({ tag, workflow: two })).toEqual([`other-${n}`, `order-${n}-b`])
        expect(await ids({ idPrefix: `order-${n}` })).toEqual([`order-${n}-c`, `order-${n}-b`, `order-${n}-a`])
        expect(await ids({ idPrefix: `order-${n}`, tag, workflow: one })).toEqual([`order-${n}-a`])
        expect(await ids({ tag: `${tag}0` })).toEqual([])
      })

      it('of a time pages without gaps or repeats, newest first', async () => {
        under.clock.moveTo(now() + 1_000)
        const [from, to] = [now(), now() + 5_000]
        const ids: string[] = []
        for (; now() < to + 2_000; under.clock.moveTo(now() + 1_000)) {
          // Two at each moment, so that a page may end between them.
          for (let i = 0; i < 2; i++) {
            const { run } = await store().create(newRun())
            if (now() < to) ids.push(run.id)
          }
        }
        const shown: string[] = []
        let cursor: string | undefined
        do {
          const page = await store().list({ from, to, limit: 3, cursor })
          shown.push(...page.runs.map(({ runId }) => runId))
          cursor = page.cursor
        } while (cursor !== undefined)
        expect(shown.toSorted()).toEqual(ids.toSorted())
        const moments = await Promise.all(shown.map(async (id) => (await store().get(id))!.createdAt))
        expect(moments).toEqual(moments.toSorted((a, b) => b - a))
      })

      it('can be of those under way, whether their holder is alive or not, and of no others', async () => {
        const workflow = `held-${++serial}`
        const left = await started({ workflow })
        under.clock.moveTo(now() + 600_000)
        const held = await started({ workflow })
        const asleep = await started({ workflow })
        await commit(asleep, sleepUntil(asleep, now() + 1_000))
        const waiting = await started({ workflow })
        await commit(waiting, waitForever(waiting))
        await store().create(newRun({ workflow }))
        const ids = async (status: RunStatus) =>
          (await store().list({ workflow, status, limit: 10 })).runs.map(({ runId }) => runId)
        expect(await ids('running')).toEqual([held.run.id, left.run.id])
        expect(await ids('sleeping')).toEqual([asleep.run.id])
        expect(await ids('waiting')).toEqual([waiting.run.id])
      })

      it('of a time that ends before it begins is empty', async () => {
        await store().create(newRun())
        expect(await store().list({ from: now() + 1_000, to: now() - 1_000, limit: 10 })).toEqual({ runs: [] })
      })

      it('can be of those that have not ended, parked ones included', async () => {
        const workflow = `open-${++serial}`
        const stuck = await started({ workflow })
        await commit(stuck, { kind: 'park', error: { name: 'Error', message: 'stuck' } })
        const { run: pending } = await store().create(newRun({ workflow, wakeAt: now() + 1_000 }))
        const { run: ended } = await store().create(newRun({ workflow }))
        await store().terminate(ended.id, 'test')
        const { runs, cursor } = await store().list({ workflow, isOpen: true, limit: 10 })
        expect(runs.map(({ runId }) => runId).sort()).toEqual([stuck.run.id, pending.id].sort())
        expect(cursor).toBeUndefined()
      })

      it('counts the runs in trouble, and tells what their errors have in common', async () => {
        const before = await store().counts()
        const workflow = `counted-${++serial}`
        for (const [name, message] of [
          ['OddError', 'order 17 is odd'],
          ['OddError', 'order 18 is odd'],
          ['EvenError', 'order 19 is odd'],
        ] as const) {
          const claim = await started({ workflow })
          await commit(claim, { kind: 'park', error: { name, message } })
        }
        expect((await store().counts()).stuck).toEqual({ count: (before.stuck?.count ?? 0) + 3 })
        const { runs } = await store().list({ workflow, status: 'stuck', limit: 10 })
        const incidents = (name: string) =>
          runs.flatMap(({ error }) => (error?.name === name ? [error.incident?.id] : []))
        expect(incidents('OddError')).toEqual([expect.any(String), incidents('OddError')[0]])
        expect(incidents('EvenError')).not.toContain(incidents('OddError')[0])
      })

      it('finds runs in trouble by status', async () => {
        const claim = await started()
        await commit(claim, { kind: 'park', error: { name: 'Error', message: 'stuck' } })
        expect((await store().list({ status: 'stuck', limit: 100 })).runs.map(({ runId }) => runId)).toContain(
          claim.run.id,
        )
      })
    })

    describe('erasing', () => {
      it('leaves nothing of a run, and its id free', async () => {
        const claim = await started({ tags: ['erased'], input: { large: 'x'.repeat(20_000) } })
        const { id } = claim.run
        await store().deliver(id, { id: 'm', kind: 'signal', name: 'go', payload: 'secret' })
        await commit(
          claim,
          { kind: 'keep' },
          { frame: frame(claim, 1, { type: 'step.completed', id: 'a', result: 'secret' }) },
        )
        await store().terminate(id, 'test')
        expect(await store().erase(id)).toBe('erased')
        expect(await store().get(id)).toBeUndefined()
        expect(await store().frames(id)).toEqual([])
        expect((await store().inbox(id)).messages).toEqual([])
        expect((await store().list({ tag: 'erased', limit: 10 })).runs.map((run) => run.runId)).not.toContain(id)
        expect(await store().erase(id)).toBe('missing')
        expect(await store().create(newRun({ id }))).toMatchObject({ created: true })
        const again = (await store().claim(id, lease()))!
        expect(again).toMatchObject({ frames: [], inbox: [], run: { epoch: 1, stimulus: 0 } })
      })

      it('takes a failed run, which cannot be retried then', async () => {
        const claim = await started()
        const event = { type: 'run.failed', error: { name: 'Error', message: 'no' } } as const
        await commit(claim, { kind: 'end', event }, { frame: frame(claim, 1, event) })
        expect(await store().erase(claim.run.id)).toBe('erased')
        expect(await store().revive(claim.run.id, { type: 'run.retried', ops: [] })).toEqual({
          revived: false,
          wakes: [],
        })
      })

      it('is refused while the run is open, and changes nothing', async () => {
        const claim = await started()
        expect(await store().erase(claim.run.id)).toBe('open')
        expect(await store().get(claim.run.id)).toMatchObject({ status: 'running' })
      })
    })

    describe('watching', () => {
      it('hears of messages and of the end', async () => {
        const claim = await started()
        const heard = new Promise<void>((resolve) => {
          const unwatch = store().watch(claim.run.id, () => {
            unwatch()
            resolve()
          })
        })
        await store().deliver(claim.run.id, { id: 'm1', kind: 'signal', name: 'go' })
        await heard
        const ended = new Promise<void>((resolve) => {
          const unwatch = store().watch(claim.run.id, () => {
            unwatch()
            resolve()
          })
        })
        await store().terminate(claim.run.id, 'test')
        await ended
      })
    })

    it('shows progress from outside', async () => {
      const claim = await started()
      await commit(claim, { kind: 'keep' }, { progress: { percent: 40 } })
      expect((await store().get(claim.run.id))?.progress).toEqual({ percent: 40 })
    })

    it('begins a rerun with the journal it was given', async () => {
      const run = newRun({ journal: { seq: 1, at: now(), epoch: 0, events: [done('a', 1)] } })
      await store().create(run)
      expect(events((await claimed(run.id)).frames)).toEqual([done('a', 1)])
    })
  })
}
