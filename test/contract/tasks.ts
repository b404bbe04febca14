import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FORMAT, taskId } from '../../sdk/base/names.ts'
import type { TaskNotice } from '../../sdk/ports/tasks.ts'
import { offer } from '../../sdk/tasks/lifecycle.ts'
import { messageOf, type NewTask, type Task } from '../../sdk/tasks/task.ts'
import type { WorldUnderTest } from './contract.ts'

/** Queues are made beforehand, one for each test. */
export const TASK_TYPES = Array.from({ length: 12 }, (_, n) => `type ${n + 1}`)

/** What sdk/ports/ promises of tasks, for every world. */
export function tasksContract(name: string, open: () => Promise<WorldUnderTest>): void {
  describe(`tasks contract: ${name}`, () => {
    let under: WorldUnderTest
    let serial = 0
    const tasks = () => under.world.tasks
    const now = () => under.clock.now()

    beforeAll(async () => {
      under = await open()
    })
    afterAll(() => under.close())

    function newTask(changes: Partial<NewTask> = {}): NewTask {
      const runId = `tasked-${++serial}`
      return {
        id: taskId({ id: runId, format: FORMAT }, 'ask'),
        runId,
        life: 1,
        op: 'ask',
        generation: 0,
        round: 0,
        type: TASK_TYPES[serial % TASK_TYPES.length]!,
        input: { n: serial },
        policy: { retry: { attempts: 3 }, heartbeatMs: 60_000, maxIterations: 10 },
        dispatchedAt: now(),
        ...changes,
      }
    }
    /** Hands out tasks as a run does: with a commit. */
    async function commit(
      runId: string,
      ...outgoing: ({ dispatch: NewTask } | { withdraw: NewTask })[]
    ): Promise<void> {
      const { store } = under.world
      const at = now()
      await store.create({
        id: runId,
        workflow: 'w',
        version: 1,
        format: FORMAT,
        input: null,
        secret: 's',
        createdAt: at,
        wakeAt: at,
        tags: [],
        retentionMs: 3_600_000,
      })
      const claimed = await store.claim(runId, { owner: 'a', ms: 30_000 })
      if (!claimed) throw new Error('the claim was refused')
      const sent = outgoing.map((item) =>
        'dispatch' in item
          ? { kind: 'dispatch' as const, task: item.dispatch }
          : { kind: 'withdraw' as const, task: item.withdraw },
      )
      const { epoch, stimulus: seen } = claimed.run
      // Due at once, so that the next commit of the test can claim it again.
      const next = { kind: 'suspend' as const, status: 'waiting' as const, wakeAt: at, waitingFor: [], seen }
      const result = await store.commit({ runId, epoch, outgoing: sent, next })
      expect(result.ok).toBe(true)
    }
    async function dispatched(changes: Partial<NewTask> = {}): Promise<NewTask> {
      const task = newTask(changes)
      await commit(task.runId, { dispatch: task })
      return task
    }
    async function received(type: string): Promise<TaskNotice[]> {
      return tasks().receive([type], 10, { until: now() })
    }
    /** Takes the task as a broker does. */
    async function taken(task: NewTask): Promise<Task> {
      const [notice] = await received(task.type)
      const there = (await tasks().get(notice!.taskId))!
      const offered = offer(
        { ...there, ...(notice!.receipt !== undefined && { receipt: notice!.receipt }) },
        now(),
        'worker',
      )
      if (offered.kind !== 'take' || !(await tasks().save(offered.task)))
        throw new Error(`it was not to be taken: ${offered.kind}`)
      return (await tasks().get(task.id))!
    }
    const inboxOf = async (runId: string) => (await under.world.store.inbox(runId)).messages

    it('gets a task that a commit dispatched, and finds it with its input', async () => {
      const task = await dispatched()
      expect(await received(task.type)).toMatchObject([{ taskId: task.id, type: task.type }])
      expect(await tasks().get(task.id)).toMatchObject({
        id: task.id,
        state: 'waiting',
        attempt: 1,
        iteration: 0,
        policy: task.policy,
      })
      expect(await tasks().inputOf((await tasks().get(task.id))!)).toEqual(task.input)
    })

    it('knows nothing of others', async () => {
      expect(await tasks().get('nobody.ask')).toBeUndefined()
      expect(await received(newTask().type)).toEqual([])
    })

    it('hands out once what is dispatched twice, also after it was taken', async () => {
      const task = await dispatched()
      await commit(task.runId, { dispatch: { ...task, input: 'other' } })
      const first = await taken(task)
      await commit(task.runId, { dispatch: { ...task, input: 'other' } })
      expect(await tasks().get(task.id)).toEqual(first)
      expect(await tasks().inputOf(first)).toEqual(task.input)
    })

    it('lets one of two who saw the same version change it', async () => {
      const task = await dispatched()
      const seen = (await tasks().get(task.id))!
      const saved = await Promise.all([
        tasks().save({ ...seen, checkpoint: 'a' }),
        tasks().save({ ...seen, checkpoint: 'b' }),
      ])
      expect(saved.sort()).toEqual([false, true])
    })

    it('tells the run of a settled task once, however often it is settled', async () => {
      const task = await dispatched()
      const settled: Task = { ...(await taken(task)), state: 'settled', outcome: { result: 42 }, lookAt: undefined }
      expect(await tasks().settle(settled)).toMatchObject({
        saved: true,
        outcome: 'accepted',
        wakes: [{ runId: task.runId }],
      })
      const again = (await tasks().get(task.id))!
      expect(again.state).toBe('settled')
      expect(await tasks().settle(again)).toMatchObject({ saved: true, outcome: 'duplicate' })
      expect(await inboxOf(task.runId)).toEqual([messageOf(settled)])
      expect(await received(task.type)).toEqual([])
    })

    it('sends the run nothing when another process was faster', async () => {
      const task = await dispatched()
      const seen = await taken(task)
      await tasks().save({ ...seen, checkpoint: 'newer' })
      expect(await tasks().settle({ ...seen, state: 'settled', outcome: { result: 1 } })).toEqual({
        saved: false,
        wakes: [],
      })
      expect(await inboxOf(task.runId)).toEqual([])
    })

    it('says when the run of a settled task has ended or is missing', async () => {
      const task = await dispatched()
      const seen = await taken(task)
      await under.world.store.terminate(task.runId, 'over')
      expect(await tasks().settle({ ...seen, state: 'settled', outcome: { result: 1 } })).toMatchObject({
        saved: true,
        outcome: 'ended',
      })
    })

    it('offers again at once what was put back to wait', async () => {
      const task = await dispatched()
      const seen = await taken(task)
      expect(await received(task.type)).toEqual([])
      expect(
        await tasks().save({ ...seen, state: 'waiting', lookAt: now(), iteration: 1, checkpoint: { kept: true } }),
      ).toBe(true)
      expect(await received(task.type)).toMatchObject([{ taskId: task.id }])
      expect(await tasks().get(task.id)).toMatchObject({ state: 'waiting', iteration: 1, checkpoint: { kept: true } })
    })

    it('takes a task back, but not one that was handed out since', async () => {
      const task = await dispatched()
      await commit(task.runId, { withdraw: task })
      expect(await tasks().get(task.id)).toMatchObject({ state: 'settled', outcome: 'withdrawn' })
      await commit(task.runId, { dispatch: { ...task, round: 1 } })
      await commit(task.runId, { withdraw: task })
      expect(await tasks().get(task.id)).toMatchObject({ state: 'waiting', round: 1 })
    })

    it('puts a later round in the place of an earlier one, whose worker can change nothing any more', async () => {
      const task = await dispatched()
      const old = await taken(task)
      await commit(task.runId, { dispatch: { ...task, round: 1, input: 'second' } })
      expect(await tasks().save({ ...old, checkpoint: 'late' })).toBe(false)
      const seen = (await tasks().get(task.id))!
      expect(seen).toMatchObject({ round: 1, state: 'waiting', attempt: 1 })
      expect(await tasks().inputOf(seen)).toBe('second')
      await commit(task.runId, { dispatch: task })
      expect(await tasks().get(task.id)).toMatchObject({ round: 1 })
    })

    it('keeps inputs and checkpoints of a megabyte', async () => {
      const large = Array.from({ length: 1_000 }, () => Math.random().toString(36).repeat(60))
      const task = await dispatched({ input: large })
      const seen = await taken(task)
      expect(await tasks().inputOf(seen)).toEqual(large)
      await tasks().save({ ...seen, checkpoint: large })
      expect((await tasks().get(task.id))!.checkpoint).toEqual(large)
    })

    it('waits no longer than it may', async () => {
      const { type } = newTask()
      const waiting = tasks().receive([type], 1, { until: now() + 1_000 })
      under.clock.moveTo(now() + 1_000)
      expect(await waiting).toEqual([])
    })
  })
}
