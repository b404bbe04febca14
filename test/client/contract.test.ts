import { describe, expect, it } from 'vitest'
import type { WorkflowClient } from '../../sdk/client/workflow-client.ts'
import {
  ConflictError,
  GoneError,
  InvalidInputError,
  LimitNotFoundError,
  MisfitError,
  RequestRefusedError,
  RunFailedError,
  RunNotFoundError,
  type RunStatus,
  TimeoutError,
  UnknownSignalError,
  UnknownWorkflowError,
} from '../../sdk/index.ts'
import { add, asks, broken, CLIENTS, flaky, go, limited, nap, price, shop, waits } from './stage.ts'

/** What `WorkflowClient` promises, whether the runs are in this process or behind HTTP. */

const reaches = (client: WorkflowClient, runId: string, status: RunStatus) =>
  expect.poll(async () => (await client.get(runId)).status).toBe(status)

const caught = (work: Promise<unknown>) =>
  work.then(
    () => expect.unreachable('it was to be refused'),
    (error: unknown) => error as Error & { problems?: unknown; known?: unknown },
  )

describe.each(Object.entries(CLIENTS))('%s', (_name, open) => {
  describe('start', () => {
    it('gives the run, and the first one for the same id or key again', async () => {
      await using it = await open()
      const { client } = it
      const run = await client.start(add, { a: 1, b: 2 }, { id: 'r', tags: ['vip'] })
      expect([run.runId, run.created]).toEqual(['r', true])
      expect(await run.result()).toBe(3)
      expect((await client.start(add, { a: 1, b: 2 }, { id: 'r' })).created).toBe(false)
      const keyed = await client.start('add', { a: 1, b: 2 }, { idempotencyKey: 'k' })
      const again = await client.start('add', { a: 1, b: 2 }, { idempotencyKey: 'k' })
      expect([again.runId, keyed.created, again.created]).toEqual([keyed.runId, true, false])
    })

    it('and settle gives the run as it ended, or as it stands when the time is up', async () => {
      await using it = await open()
      const { run, created } = await it.client.startAndSettle(add, { a: 1, b: 2 })
      expect([run.status, run.output, created]).toEqual(['completed', 3, true])
      const open_ = await it.client.startAndSettle(nap, undefined, { timeout: '20ms' })
      expect(['pending', 'running', 'sleeping']).toContain(open_.run.status)
    })

    it('refuses what does not fit, what is not there, and another input for an id', async () => {
      await using it = await open()
      const { client } = it
      const misfit = await caught(client.start(add, { a: 'x', b: 2 } as never))
      expect(misfit).toBeInstanceOf(InvalidInputError)
      expect(misfit.problems).toEqual([{ path: '$.a', message: expect.any(String) }])
      expect(misfit.message).toMatch(/^the input of workflow 'add' does not fit its schema; .*\n {2}\$\.a: /)
      const unknown = await caught(client.start('nobody', {}))
      expect(unknown).toBeInstanceOf(UnknownWorkflowError)
      expect(unknown.message).toContain('nobody')
      await client.start(add, { a: 1, b: 2 }, { id: 'r' })
      const taken = await caught(client.start(add, { a: 9, b: 9 }, { id: 'r' }))
      expect(taken).toBeInstanceOf(ConflictError)
      expect(taken.message).toMatch(/^run 'r' exists already, with another input/)
      await expect(client.start(add, { a: 1, b: 2 }, { id: ' ' })).rejects.toBeInstanceOf(InvalidInputError)
      await expect(client.start(nap, (() => 1) as never)).rejects.toBeInstanceOf(InvalidInputError)
    })
  })

  describe('looking', () => {
    it('get shows a run with times as numbers; one that is not there is a RunNotFoundError', async () => {
      await using it = await open()
      const { client } = it
      await client.start(nap, undefined, { id: 'n' })
      await reaches(client, 'n', 'sleeping')
      const { retentionMs: _, ...run } = await client.get('n')
      expect(run).toEqual({
        runId: 'n',
        workflow: 'nap',
        version: 1,
        status: 'sleeping',
        createdAt: expect.any(Number),
        startedAt: expect.any(Number),
        wakeAt: expect.any(Number),
        waitingFor: [{ kind: 'sleep', id: 'nap', until: expect.any(Number) }],
        tags: [],
        generation: 0,
        attempt: 1,
      })
      const missing = await caught(client.get('nobody'))
      expect(missing).toBeInstanceOf(RunNotFoundError)
      expect(missing.message).toBe("no run 'nobody'")
      for (const ask of [client.history('nobody'), client.why('nobody'), client.result('nobody')])
        await expect(ask).rejects.toBeInstanceOf(RunNotFoundError)
    })

    it('list gives pages, newest first, by what is asked for', async () => {
      await using it = await open()
      const { client } = it
      for (const id of ['a', 'b', 'c']) await client.start(nap, undefined, { id })
      await client.start(add, { a: 1, b: 2 }, { id: 'sum' })
      const first = await client.list({ workflow: 'nap', limit: 2 })
      const second = await client.list({ workflow: 'nap', limit: 2, cursor: first.cursor })
      expect([...first.runs, ...second.runs].map(({ runId }) => runId)).toEqual(['c', 'b', 'a'])
      expect(second.cursor).toBeUndefined()
      expect((await client.list({ tag: 'sum' })).runs.map(({ runId }) => runId)).toEqual(['sum'])
      const known = await client.list({ hidesInternal: true, from: new Date(0), to: Date.now() + 60_000 })
      expect(known.runs).toHaveLength(4)
      expect(known.runs.every(({ createdAt }) => typeof createdAt === 'number')).toBe(true)
      await expect(client.list({ limit: 0 })).rejects.toBeInstanceOf(InvalidInputError)
      await expect(client.list({ from: 'once' })).rejects.toBeInstanceOf(InvalidInputError)
      await expect(client.list({ cursor: 'made up' })).rejects.toBeInstanceOf(InvalidInputError)
    })

    it('result and settled wait for the end, and no longer than they may', async () => {
      await using it = await open()
      const { client } = it
      await client.start(add, { a: 1, b: 2 }, { id: 'sum' })
      expect(await client.result(add, 'sum')).toBe(3)
      expect((await client.settled('sum')).status).toBe('completed')
      const other = await caught(client.result(nap, 'sum'))
      expect([other.name, other.message]).toEqual([
        'ConflictError',
        "run 'sum' is of workflow 'add', not of 'nap'; ask with that one",
      ])
      await client.start(nap, undefined, { id: 'n' })
      await reaches(client, 'n', 'sleeping')
      expect((await client.settled('n', { timeout: 1 })).status).toBe('sleeping')
      const late = await caught(client.result('n', { timeout: 1 }))
      expect(late).toBeInstanceOf(TimeoutError)
      expect(late.message).toBe("run 'n' is still sleeping; it goes on, ask again later")
    })

    it('history lists what happened, one event is found by its place, and what came behind it is read on', async () => {
      await using it = await open()
      const { client } = it
      await client.start(add, { a: 1, b: 2 }, { id: 'sum' })
      await client.result('sum')
      const events = await client.history('sum')
      expect(events.map(({ type }) => type)).toEqual(['run.started', 'step.completed', 'run.completed'])
      expect(events.every(({ at }) => typeof at === 'number')).toBe(true)
      expect(await client.event('sum', events[1]!.n)).toEqual(events[1])
      expect(await client.history('sum', { after: events[0]!.n })).toEqual(events.slice(1))
      expect(await client.event('sum', '99.0')).toBeUndefined()
      expect(await client.event('sum', 'nowhere')).toBeUndefined()
      await expect(client.history('sum', { after: 'nowhere' })).rejects.toBeInstanceOf(InvalidInputError)
    })

    it('why says what a run waits for, counts how many there are, and steps are of definitions alone', async () => {
      await using it = await open()
      const { client } = it
      await client.start(waits, undefined, { id: 'w' })
      await reaches(client, 'w', 'waiting')
      const why = await client.why('w')
      expect(why).toMatchObject({ reason: "waits for signal 'go'", waits: [{ kind: 'signal', id: 'go' }] })
      expect(why.waits[0]!.since).toEqual(expect.any(Number))
      expect((await client.counts()).waiting?.count).toBeGreaterThan(0)
      const code = await caught(client.steps('w'))
      expect(code).toBeInstanceOf(ConflictError)
      expect(code.message).toMatch(/is code and has no steps to list/)
    })

    it('steps tell where a run of a stored definition stands', async () => {
      await using it = await open()
      const { client } = it
      const steps = [{ name: 'pause', type: 'wait', durationMs: 3_600_000 }]
      const saved = await client.putDefinition('stored', { name: 'stored', steps })
      expect(saved).toMatchObject({ name: 'stored', version: 1, isNew: true, createdAt: expect.any(Number) })
      expect((await client.putDefinition('stored', { name: 'stored', steps })).isNew).toBe(false)
      expect(await client.checkDefinition('stored', { name: 'stored', steps })).toEqual({ warnings: [] })
      expect(await client.getDefinition('stored')).toMatchObject({ version: 1, definition: { name: 'stored', steps } })
      expect(await client.listDefinitions()).toMatchObject([{ name: 'stored', version: 1 }])
      await client.start('stored', {}, { id: 's' })
      await reaches(client, 's', 'sleeping')
      expect(await client.steps('s')).toMatchObject([
        { name: 'pause', type: 'wait', after: [], status: 'WAITING', startedAt: expect.any(Number) },
      ])
      await expect(client.deleteDefinition('stored')).rejects.toBeInstanceOf(ConflictError)
      await expect(client.getDefinition('nobody')).rejects.toBeInstanceOf(UnknownWorkflowError)
      await expect(client.putDefinition('bad', { name: 'bad', steps: [] })).rejects.toBeInstanceOf(InvalidInputError)
    })
  })

  describe('steering', () => {
    it('signal is kept until the run waits for it, once under a key, and fits what the workflow declares', async () => {
      await using it = await open()
      const { client } = it
      const run = await client.start(waits, undefined, { id: 'w' })
      await expect(client.signal('w', go, {} as never)).rejects.toBeInstanceOf(InvalidInputError)
      await expect(client.signal('w', 'go', { by: 7 })).rejects.toBeInstanceOf(MisfitError)
      const unknown = await caught(client.signal('w', 'goo'))
      expect(unknown).toBeInstanceOf(UnknownSignalError)
      expect(unknown.known).toEqual(['go', 'price'])
      expect(await client.signal('w', go, { by: 'ann' }, { idempotencyKey: 'k' })).toEqual({ accepted: true })
      expect(await run.result()).toBe('ann')
      expect(await client.signal('w', go, { by: 'ann' }, { idempotencyKey: 'k' })).toEqual({ accepted: false })
      const late = await caught(client.signal('w', go, { by: 'ann' }))
      expect([late.name, late.message]).toEqual(['ConflictError', "run 'w' has already ended (completed)"])
    })

    it('ask gives the reply, the reason of a refusal, or the word that it takes too long', async () => {
      await using it = await open()
      const { client } = it
      await client.start(shop, undefined, { id: 's' })
      expect(await client.ask('s', price, { item: 'bread' })).toEqual({ cents: 250 })
      const refused = await caught(client.ask('s', price, { item: 'fish' }))
      expect(refused).toBeInstanceOf(RequestRefusedError)
      expect(refused.message).toBe("run 's' refused request 'price': sold out")
      expect(refused.cause).toMatchObject({ message: 'sold out' })
      await expect(client.ask('s', price, {} as never)).rejects.toBeInstanceOf(InvalidInputError)
      await client.start(waits, undefined, { id: 'w' })
      const late = await caught(client.ask('w', price, { item: 'bread' }, { timeout: '20ms', idempotencyKey: 'k' }))
      expect(late).toBeInstanceOf(TimeoutError)
      expect(late.message).toMatch(/^run 'w' has not replied to request 'price' in time.*'k'$/)
      await expect(client.ask('w', price, { item: 'x' }, { timeout: 'soon' as never })).rejects.toThrow(
        "the timeout of request 'price'",
      )
    })

    it('cancel, terminate and wake do what they say, and say why they cannot', async () => {
      await using it = await open()
      const { client } = it
      for (const id of ['cancelled', 'terminated', 'woken']) await client.start(nap, undefined, { id })
      for (const id of ['cancelled', 'terminated', 'woken']) await reaches(client, id, 'sleeping')
      await client.cancel('cancelled', 'no more')
      const cancelled = await caught(client.result('cancelled'))
      expect(cancelled).toBeInstanceOf(RunFailedError)
      expect(cancelled).toMatchObject({ status: 'cancelled', runId: 'cancelled' })
      await client.terminate('terminated', undefined, { idempotencyKey: 'k' })
      await client.terminate('terminated', undefined, { idempotencyKey: 'k' })
      await client.wake('woken')
      expect(await client.result('woken')).toBe('rested')
      for (const act of [client.cancel('woken'), client.wake('woken'), client.terminate('woken')]) {
        const ended = await caught(act)
        expect([ended.name, ended.message]).toEqual(['ConflictError', "run 'woken' has already ended (completed)"])
      }
      await expect(client.cancel('nobody')).rejects.toBeInstanceOf(RunNotFoundError)
    })

    it('retry lets a failed run go on, rerun makes another from a step', async () => {
      await using it = await open()
      const { client } = it
      await client.start(flaky, undefined, { id: 'f' })
      const failed = await caught(client.result('f'))
      expect(failed).toMatchObject({ name: 'RunFailedError', status: 'failed', cause: { name: 'StepError' } })
      broken.isBroken = false
      await client.retry('f')
      expect(await client.result('f')).toBe('well')
      await expect(client.retry('f')).rejects.toBeInstanceOf(ConflictError)
      expect(await client.rerun('f', { from: 'second', id: 'g' })).toEqual({ runId: 'g', created: true })
      expect(await client.result('g')).toBe('well')
      const keyed = await client.rerun('f', { idempotencyKey: 'k' })
      expect(await client.rerun('f', { idempotencyKey: 'k' })).toEqual({ runId: keyed.runId, created: false })
      await expect(client.rerun('f', { id: 'g' })).rejects.toBeInstanceOf(ConflictError)
    })

    it('pause lets nothing begin until resume', async () => {
      await using it = await open()
      const { client } = it
      const pause = await client.pause({ workflow: 'add' })
      expect(pause).toEqual({ scope: { workflow: 'add' }, since: expect.any(Number) })
      await client.start(add, { a: 1, b: 2 }, { id: 'sum' })
      await reaches(client, 'sum', 'queued')
      expect((await client.get('sum')).queue).toMatchObject({ place: { count: 1 }, paused: true })
      expect(await client.pauses()).toMatchObject([{ scope: { workflow: 'add' }, waiting: { count: 1 } }])
      expect(await client.resume({ workflow: 'add' }, { perSecond: 50 })).toMatchObject({ perSecond: 50 })
      expect(await client.result('sum')).toBe(3)
      await expect(client.resume({ all: true })).rejects.toBeInstanceOf(ConflictError)
      await expect(client.pause({ workflow: 'nobody' })).rejects.toBeInstanceOf(UnknownWorkflowError)
      await expect(client.pause({ run: 'nobody' })).rejects.toBeInstanceOf(RunNotFoundError)
      await expect(client.pause({} as never)).rejects.toBeInstanceOf(InvalidInputError)
    })

    it('erase removes a run that has ended; eraseTagged does it to all of a tag', async () => {
      await using it = await open()
      const { client } = it
      await client.start(add, { a: 1, b: 2 }, { id: 'sum' })
      await client.result('sum')
      await client.erase('sum')
      await expect(client.get('sum')).rejects.toBeInstanceOf(RunNotFoundError)
      await client.start(nap, undefined, { id: 'n' })
      const open_ = await caught(client.erase('n'))
      expect([open_.name, open_.message]).toEqual([
        'ConflictError',
        "run 'n' has not ended; cancel or terminate it first",
      ])
      await expect(client.erase('nobody')).rejects.toBeInstanceOf(RunNotFoundError)
      await client.start(add, { a: 1, b: 2 }, { id: 'again' })
      await client.result('again')
      const { runId, status } = await client.eraseTagged('sum', { idempotencyKey: 'k' })
      expect(status).toBe('pending')
      expect((await client.eraseTagged('sum', { idempotencyKey: 'k' })).runId).toBe(runId)
      await client.result(runId)
      await expect(client.get('again')).rejects.toBeInstanceOf(RunNotFoundError)
      await expect(client.eraseTagged('')).rejects.toBeInstanceOf(InvalidInputError)
    })

    it('many runs are looked at, and steered at once', async () => {
      await using it = await open()
      const { client } = it
      for (const id of ['a', 'b']) await client.start(flaky, undefined, { id })
      for (const id of ['a', 'b']) await reaches(client, id, 'failed')
      const { incidents, isComplete } = await client.incidents({ since: '1h' })
      expect([incidents.length, isComplete]).toEqual([1, true])
      expect(incidents[0]).toMatchObject({ count: 2, says: 'out of order', firstAt: expect.any(Number) })
      const filter = { incident: incidents[0]!.fingerprint }
      expect(await client.wouldSteer({ action: 'retry', filter })).toMatchObject({ matches: 2, can: 2, refused: [] })
      broken.isBroken = false
      const { runId } = await client.steerMany({ action: 'retry', filter, perSecond: 100 }, { idempotencyKey: 'k' })
      expect(await client.result(runId)).toMatchObject({ matched: 2, done: 2 })
      expect(await client.result('a')).toBe('well')
      await expect(client.wouldSteer({ action: 'retry', filter: {} })).rejects.toBeInstanceOf(InvalidInputError)
      const fast = { action: 'retry', filter: { workflow: 'flaky' }, perSecond: 1_000 } as const
      await expect(client.steerMany(fast)).rejects.toBeInstanceOf(InvalidInputError)
    })
  })

  describe('what is beside runs', () => {
    it('callbacks are listed with their questions, and completed or failed once', async () => {
      await using it = await open()
      const { client } = it
      for (const id of ['yes', 'no']) await client.start(asks, undefined, { id })
      for (const id of ['yes', 'no']) await reaches(client, id, 'waiting')
      const [open_] = await client.listCallbacks('yes')
      expect(open_).toEqual({
        name: 'decide',
        token: expect.any(String),
        url: expect.stringContaining(open_!.token),
        question: 'Is it well?',
        schema: expect.objectContaining({ type: 'object' }),
      })
      const { token } = open_!
      await expect(client.completeCallback(token, { ok: 'yes' })).rejects.toBeInstanceOf(MisfitError)
      await client.completeCallback(token, { ok: true }, { idempotencyKey: 'k' })
      await client.completeCallback(token, { ok: true }, { idempotencyKey: 'k' })
      expect(await client.result('yes')).toEqual({ ok: true })
      const late = await caught(client.completeCallback(token, { ok: false }))
      expect(late instanceof ConflictError || late instanceof GoneError).toBe(true)
      const [other] = await client.listCallbacks('no')
      await client.failCallback(other!.token, Object.assign(new Error('it is not'), { code: 'E_NO' }))
      const failed = await caught(client.result('no'))
      expect(failed.cause).toMatchObject({ message: 'it is not', code: 'E_NO' })
      await expect(client.completeCallback('made up', {})).rejects.toBeInstanceOf(InvalidInputError)
      await expect(client.heartbeatCallback(other!.token)).rejects.toThrow()
      await expect(client.listCallbacks('nobody')).rejects.toBeInstanceOf(RunNotFoundError)
    })

    it('limits are shown, set, paused, resumed and reset', async () => {
      await using it = await open()
      const { limits } = it.client
      await it.client.start(limited, undefined, { id: 'l' })
      await it.client.result('l')
      expect((await limits.list()).map(({ name }) => name)).toEqual(['api'])
      expect(await limits.get('api')).toMatchObject({ code: { concurrency: 2 }, isSet: false, paused: false })
      expect(await limits.set('api', { concurrency: 5 })).toMatchObject({ inForce: { concurrency: 5 }, isSet: true })
      expect((await limits.pause('api')).paused).toBe(true)
      expect((await limits.resume('api')).paused).toBe(false)
      expect((await limits.reset('api')).isSet).toBe(false)
      await expect(limits.get('nobody')).rejects.toBeInstanceOf(LimitNotFoundError)
      await expect(limits.set('api', { concurrency: 0 })).rejects.toBeInstanceOf(InvalidInputError)
    })

    it('schedules are listed with when they are due, paused, resumed and triggered', async () => {
      await using it = await open()
      const { client } = it
      const first = async () => (await client.listSchedules())[0]!
      await expect.poll(first).toMatchObject({ name: 'nightly', isPaused: false, nextDue: expect.any(Number) })
      await client.pauseSchedule('nightly')
      await expect.poll(async () => (await first()).isPaused).toBe(true)
      await client.resumeSchedule('nightly')
      await expect.poll(async () => (await first()).isPaused).toBe(false)
      await client.triggerSchedule('nightly', { idempotencyKey: 'k' })
      await expect.poll(async () => (await client.list({ workflow: 'nap' })).runs.length).toBe(1)
      await expect(client.pauseSchedule('nobody')).rejects.toBeInstanceOf(RunNotFoundError)
    })

    it('workers are listed', async () => {
      await using it = await open()
      expect(await it.client.listWorkers()).toEqual([])
    })
  })
})
