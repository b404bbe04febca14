import { describe, expect, it } from 'vitest'
import { until, WorkerApi } from './fixture.ts'

describe('a poll', () => {
  it('gives a task as the protocol has it, field for field', async () => {
    await using api = await WorkerApi.open()
    await api.asked('run-1', { input: { prompt: 'hello' } })
    const { status, body } = await api.poll()
    expect(status).toBe(200)
    expect(body).toEqual([
      { task_id: 'run-1.llm', run_id: 'run-1', step_id: 'llm', iteration: 0, attempt: 1, input: { prompt: 'hello' } },
    ])
    expect(Object.keys(body[0])).toEqual(['task_id', 'run_id', 'step_id', 'iteration', 'attempt', 'input'])
  })

  it('of a task without input leaves the input out', async () => {
    await using api = await WorkerApi.open()
    await api.asked('run-1')
    expect((await api.poll()).body).toEqual([
      { task_id: 'run-1.llm', run_id: 'run-1', step_id: 'llm', iteration: 0, attempt: 1 },
    ])
  })

  it('waits for a task, and has it as soon as there is one', async () => {
    await using api = await WorkerApi.open()
    const poll = api.poll({ timeout_ms: 60_000 })
    await until(() => api.clock.next() === api.clock.now() + 60_000)
    await api.asked('run-1')
    expect((await poll).body).toHaveLength(1)
    expect(api.clock.now()).toBe(Date.parse('2026-01-01T00:00:00Z'))
  })

  it('gives an empty list when its time is up, and not before', async () => {
    await using api = await WorkerApi.open()
    let isOver = false
    const poll = api.poll({ timeout_ms: 30_000 }).finally(() => (isOver = true))
    await until(() => api.clock.next() === api.clock.now() + 30_000)
    await api.pass(29_999)
    expect(isOver).toBe(false)
    await api.pass(1)
    expect(await poll).toMatchObject({ status: 200, body: [] })
  })

  it('gives at most as many as were asked for, oldest first, of these types only, and none twice', async () => {
    await using api = await WorkerApi.open()
    for (const id of ['a', 'b', 'c', 'd']) {
      await api.asked(id, { type: id === 'b' ? 'other' : 'llm' })
      await api.pass(1)
    }
    const ids = async (over: Record<string, unknown>) =>
      (await api.poll(over)).body.map((task: { run_id: string }) => task.run_id)
    expect(await ids({ max_tasks: 2 })).toEqual(['a', 'c'])
    expect(await ids({ max_tasks: 9 })).toEqual(['d'])
    expect(await ids({ max_tasks: 9 })).toEqual([])
    expect(await ids({ max_tasks: 9, task_types: ['llm', 'other'] })).toEqual(['b'])
  })

  it('of a worker that hung up takes no task away', async () => {
    await using api = await WorkerApi.open()
    const gone = new AbortController()
    const poll = api.post('/v1/tasks/poll', { task_types: ['llm'], max_tasks: 1, timeout_ms: 60_000 }, {}, gone.signal)
    await until(() => api.clock.next() !== undefined)
    gone.abort()
    await poll.catch(() => {})
    await api.asked('run-1')
    expect((await api.poll()).body).toMatchObject([{ attempt: 1 }])
  })
})

describe('a poll whose answer is lost', () => {
  const worker = { worker_id: 'w1', poll_id: 'p1' }

  it('gets the same answer when it is sent again, input and checkpoint included', async () => {
    await using api = await WorkerApi.open()
    const id = await api.asked('run-1', { input: { question: 'why' } })
    const { body } = await api.poll(worker)
    expect(body).toMatchObject([{ task_id: id, attempt: 1, input: { question: 'why' } }])
    expect((await api.poll(worker)).body).toEqual(body)
    expect(await api.resolve(id, { action: 'complete', output: 1, attempt: 1 })).toMatchObject({ status: 200 })
  })

  it('gets it also when the worker has connected meanwhile', async () => {
    await using api = await WorkerApi.open()
    const id = await api.asked('run-1')
    await api.poll(worker)
    const registration = { worker_id: 'w1', task_types: ['llm'], max_tasks: 1, language: 'x', transport: 'bridge' }
    const gone = new AbortController()
    await api.post('/v1/workers/connect', registration, {}, gone.signal)
    gone.abort()
    expect((await api.poll(worker)).body).toMatchObject([{ task_id: id }])
  })

  it('gets nothing that another poll was given, nor what is settled or another worker has by now', async () => {
    await using api = await WorkerApi.open()
    const id = await api.asked('run-1', { options: { heartbeatTimeout: '10s' } })
    await api.poll(worker)
    expect((await api.poll({ ...worker, poll_id: 'p2' })).body).toEqual([])
    expect((await api.poll({ ...worker, worker_id: 'w2' })).body).toEqual([])
    await api.pass(10_000)
    expect((await api.poll({ worker_id: 'w2', poll_id: 'other' })).body).toMatchObject([{ task_id: id, attempt: 2 }])
    expect((await api.poll(worker)).body).toEqual([])
    await api.resolve(id, { action: 'complete', attempt: 2 })
    expect((await api.poll({ worker_id: 'w2', poll_id: 'other' })).body).toEqual([])
  })

  it('has an id of the usual form, or is refused', async () => {
    await using api = await WorkerApi.open()
    expect(await api.poll({ ...worker, poll_id: 7 })).toMatchObject({ status: 400 })
  })
})

describe('a poll whose worker hangs up', () => {
  it('while a task is on its way gives the task back at once', async () => {
    await using api = await WorkerApi.open()
    const id = await api.asked('run-1')
    const gone = new AbortController()
    const { tasks } = api.local.world
    const save = tasks.save.bind(tasks)
    tasks.save = (task) => {
      gone.abort()
      return save(task)
    }
    await api.post('/v1/tasks/poll', { task_types: ['llm'], max_tasks: 1, timeout_ms: 0 }, {}, gone.signal)
    await api.pass(1)
    expect((await api.poll()).body).toMatchObject([{ task_id: id, attempt: 1 }])
  })
})

describe('a resolve', () => {
  it('complete: the run goes on with the output', async () => {
    await using api = await WorkerApi.open()
    const id = await api.taken('run-1')
    expect(await api.resolve(id, { action: 'complete', output: { result: 'ok' } })).toMatchObject({
      status: 200,
      body: { ok: true },
    })
    expect(await api.output('run-1')).toEqual({ result: 'ok' })
  })

  it('complete without an output, and with null, are not the same', async () => {
    await using api = await WorkerApi.open()
    await api.resolve(await api.taken('nothing'), { action: 'complete' })
    await api.resolve(await api.taken('null'), { action: 'complete', output: null })
    expect([await api.output('nothing'), await api.output('null')]).toEqual([undefined, null])
  })

  it('fail: it is handed out again after the backoff, attempt counted up, and gives up after the last', async () => {
    await using api = await WorkerApi.open()
    const options = { retry: { attempts: 2, initial: '10s', jitter: false } } as const
    const id = await api.taken('run-1', { options })
    expect(await api.resolve(id, { action: 'fail', error: 'no luck' })).toMatchObject({ status: 200 })
    await api.pass(9_999)
    expect((await api.poll()).body).toEqual([])
    await api.pass(1)
    expect((await api.poll()).body).toMatchObject([{ attempt: 2 }])
    await api.resolve(id, { action: 'fail', error: 'no luck', attempt: 2 })
    await api.reaches('run-1', 'failed')
    expect((await api.local.get('run-1')).error?.message).toBe("step 'llm' failed after 2 attempts: no luck")
  })

  it('fail for good: it is not handed out again', async () => {
    await using api = await WorkerApi.open()
    const id = await api.taken('run-1')
    await api.resolve(id, { action: 'fail', error: 'never', retryable: false })
    await api.reaches('run-1', 'failed')
    await api.pass(3_600_000)
    expect((await api.poll()).body).toEqual([])
  })

  it('pause: it comes back when the pause is over, with its checkpoint, and costs no attempt', async () => {
    await using api = await WorkerApi.open()
    const id = await api.taken('run-1')
    await api.resolve(id, { action: 'pause', name: 'cool-down', duration_ms: 5_000, checkpoint: { page: 2 } })
    await api.pass(4_999)
    expect((await api.poll()).body).toEqual([])
    await api.pass(1)
    expect((await api.poll()).body).toEqual([
      { task_id: id, run_id: 'run-1', step_id: 'llm', iteration: 0, attempt: 1, checkpoint: { page: 2 } },
    ])
  })

  it('checkpoint: the deadline moves on, and says to when', async () => {
    await using api = await WorkerApi.open()
    const id = await api.taken('run-1', { options: { heartbeatTimeout: '10s' } })
    for (let i = 0; i < 5; i++) {
      await api.pass(9_999)
      const deadline = new Date(api.clock.now() + 10_000).toISOString()
      expect((await api.resolve(id, { action: 'checkpoint', data: { i } })).body).toEqual({ ok: true, deadline })
    }
    expect((await api.poll()).body).toEqual([])
    await api.pass(10_000)
    expect((await api.poll()).body).toMatchObject([{ attempt: 2, checkpoint: { i: 4 } }])
  })

  it('checkpoint without data: a sign of life, and the last checkpoint stays', async () => {
    await using api = await WorkerApi.open()
    const id = await api.taken('run-1', { options: { heartbeatTimeout: '10s' } })
    await api.resolve(id, { action: 'checkpoint', data: 'half' })
    await api.resolve(id, { action: 'checkpoint' })
    await api.pass(10_000)
    expect((await api.poll()).body).toMatchObject([{ checkpoint: 'half' }])
  })

  it('checkpoint: signs of life do not prolong what may take a given time in all', async () => {
    await using api = await WorkerApi.open()
    const id = await api.taken('run-1', { options: { heartbeatTimeout: '10s', timeout: '15s' } })
    await api.pass(9_000)
    await api.resolve(id, { action: 'checkpoint' })
    await api.pass(6_000)
    expect((await api.poll()).body).toMatchObject([{ attempt: 2 }])
  })

  it('continue: it comes back at once as the next iteration, attempts counted anew', async () => {
    await using api = await WorkerApi.open()
    const id = await api.taken('run-1', { options: { retry: { initial: 1, jitter: false } } })
    await api.resolve(id, { action: 'fail', error: 'once' })
    await api.pass(1)
    expect((await api.poll()).body).toMatchObject([{ iteration: 0, attempt: 2 }])
    await api.resolve(id, { action: 'continue', checkpoint: ['thought'], attempt: 2, iteration: 0 })
    expect((await api.poll()).body).toMatchObject([{ iteration: 1, attempt: 1, checkpoint: ['thought'] }])
    await api.resolve(id, { action: 'complete', output: 'done', attempt: 1, iteration: 1 })
    expect(await api.output('run-1')).toBe('done')
  })
})

describe('a worker that falls silent', () => {
  it('loses its task after the deadline to another, which gets the last checkpoint and the next attempt', async () => {
    await using api = await WorkerApi.open()
    const id = await api.taken('run-1', { input: 7, options: { heartbeatTimeout: '2s' } })
    await api.resolve(id, { action: 'checkpoint', data: { done: 3 } })
    const other = api.poll({ timeout_ms: 60_000, worker_id: 'other' })
    await api.pass(2_000)
    expect((await other).body).toEqual([
      { task_id: id, run_id: 'run-1', step_id: 'llm', iteration: 0, attempt: 2, input: 7, checkpoint: { done: 3 } },
    ])
  })

  it('is refused when it speaks up late, and what the newer attempt says counts', async () => {
    await using api = await WorkerApi.open()
    const id = await api.taken('run-1', { options: { heartbeatTimeout: '2s' } })
    await api.pass(2_000)
    await api.poll()
    const late = await api.resolve(id, { action: 'complete', output: 'old', attempt: 1 })
    expect(late).toMatchObject({
      status: 409,
      body: {
        detail: "task 'run-1.llm' has moved on: it is at attempt 2, iteration 0. Drop it, and poll for the next",
      },
    })
    expect((await api.resolve(id, { action: 'complete', output: 'new', attempt: 2 })).status).toBe(200)
    expect(await api.output('run-1')).toBe('new')
  })

  it('makes it necessary to say which attempt one has', async () => {
    await using api = await WorkerApi.open()
    const id = await api.taken('run-1', { options: { heartbeatTimeout: '2s' } })
    await api.pass(2_000)
    await api.poll()
    const unnamed = await api.resolve(id, { action: 'complete', output: 'whose?' })
    expect(unnamed.status).toBe(409)
    expect(unnamed.body.detail).toContain("send 'attempt' and 'iteration'")
  })

  it('is still accepted after the deadline if no other worker has taken the task', async () => {
    await using api = await WorkerApi.open()
    const id = await api.taken('run-1', { options: { heartbeatTimeout: '2s' } })
    await api.pass(60_000)
    expect((await api.resolve(id, { action: 'complete', output: 'late but first', attempt: 1 })).status).toBe(200)
    expect(await api.output('run-1')).toBe('late but first')
  })

  it('at the last attempt fails the step', async () => {
    await using api = await WorkerApi.open()
    await api.taken('run-1', { options: { heartbeatTimeout: '2s', retry: { attempts: 1 } } })
    await api.pass(2_000)
    expect((await api.poll()).body).toEqual([])
    await api.reaches('run-1', 'failed')
    expect((await api.local.get('run-1')).error?.message).toContain('gave no sign of life for too long')
  })
})

describe('a task not in flight', () => {
  it('is answered with 404: unknown, waiting, paused or settled', async () => {
    await using api = await WorkerApi.open()
    const done = { action: 'complete', output: 1 }
    expect(await api.resolve('nobody.knows', done)).toMatchObject({
      status: 404,
      body: { type: 'urn:overwinter:problem:unknown-task' },
    })
    const waiting = await api.asked('waiting')
    expect((await api.resolve(waiting, done)).status).toBe(404)
    expect((await api.poll()).body).toHaveLength(1)
    await api.resolve(waiting, { action: 'pause', duration_ms: 1_000 })
    expect((await api.resolve(waiting, done)).status).toBe(404)
    const settled = await api.taken('settled')
    expect((await api.resolve(settled, done)).status).toBe(200)
    expect((await api.resolve(settled, done)).status).toBe(404)
  })

  it('because its run was terminated: the result is discarded', async () => {
    await using api = await WorkerApi.open()
    const id = await api.taken('run-1')
    await api.local.terminate('run-1')
    expect((await api.resolve(id, { action: 'complete', output: 1, attempt: 1 })).status).toBe(404)
    expect((await api.resolve(id, { action: 'checkpoint', attempt: 1 })).status).toBe(404)
    expect(await api.local.get('run-1')).toMatchObject({ status: 'terminated' })
  })
})

describe('a task whose run has ended', () => {
  it('is dispatched to no worker, even if it was not withdrawn', async () => {
    await using api = await WorkerApi.open()
    const { tasks } = api.local.world
    const id = await api.asked('run-1')
    const waiting = (await tasks.get(id))!
    await api.local.terminate('run-1')
    await tasks.save({ ...waiting, version: (await tasks.get(id))!.version })
    expect((await api.poll()).body).toEqual([])
    expect((await tasks.get(id))?.state).toBe('settled')
  })
})

describe('a request that is sent again under the same Idempotency-Key', () => {
  it('is answered as before and counts once', async () => {
    await using api = await WorkerApi.open()
    const id = await api.taken('run-1', { options: { retry: { attempts: 2, initial: 1, jitter: false } } })
    for (let i = 0; i < 3; i++)
      expect((await api.resolve(id, { action: 'fail', error: 'once', attempt: 1 }, { key: 'k1' })).status).toBe(200)
    await api.pass(1)
    expect((await api.poll()).body).toMatchObject([{ attempt: 2 }])
    for (let i = 0; i < 3; i++)
      expect((await api.resolve(id, { action: 'complete', output: 'x', attempt: 2 }, { key: 'k2' })).status).toBe(200)
    expect(await api.output('run-1')).toBe('x')
    const types = (await api.local.history('run-1')).map(({ type }) => type)
    expect(types.filter((type) => type === 'task.completed')).toHaveLength(1)
  })

  it('counts once also when both arrive together', async () => {
    await using api = await WorkerApi.open()
    const id = await api.taken('run-1')
    const answers = await Promise.all(
      [1, 2, 3].map(() =>
        api.resolve(id, { action: 'continue', checkpoint: 1, attempt: 1, iteration: 0 }, { key: 'k' }),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect((await api.poll()).body).toMatchObject([{ iteration: 1 }])
  })
})

describe('what is refused', () => {
  const paths = (body: { problems: { path: string }[] }) => body.problems.map(({ path }) => path)

  it('400 with every problem and where it is', async () => {
    await using api = await WorkerApi.open()
    const poll = await api.poll({ task_types: [], max_tasks: 0, timeout_ms: 60_001, worker_id: '', more: 1 })
    expect(poll.status).toBe(400)
    expect(paths(poll.body)).toEqual(['$.more', '$.task_types', '$.max_tasks', '$.timeout_ms', '$.worker_id'])
    const id = await api.taken('run-1')
    const resolve = await api.resolve(id, {
      action: 'finish',
      attempt: 0,
      iteration: -1,
      retryable: 'no',
      error: '',
      duration_ms: 0,
      more: 1,
    })
    expect(resolve.status).toBe(400)
    expect(paths(resolve.body)).toEqual([
      '$.more',
      '$.action',
      '$.attempt',
      '$.iteration',
      '$.retryable',
      '$.error',
      '$.duration_ms',
    ])
    const connect = await api.post('/v1/workers/connect', {
      worker_id: 1,
      task_types: ['a', ''],
      max_tasks: 1.5,
      metadata: { a: 1 },
    })
    expect(connect.status).toBe(400)
    expect(paths((await connect.json()) as Parameters<typeof paths>[0])).toEqual([
      '$.worker_id',
      '$.task_types[1]',
      '$.max_tasks',
      '$.metadata',
    ])
  })

  it('a pause of more than an hour, and a poll of more than 60 s', async () => {
    await using api = await WorkerApi.open()
    const id = await api.taken('run-1')
    expect((await api.resolve(id, { action: 'pause', duration_ms: 3_600_001 })).status).toBe(400)
    expect((await api.resolve(id, { action: 'pause', duration_ms: 3_600_000 })).status).toBe(200)
    expect((await api.poll({ timeout_ms: 60_001 })).status).toBe(400)
    const poll = api.poll({ timeout_ms: 60_000 })
    await until(() => api.clock.next() === api.clock.now() + 60_000)
    await api.pass(60_000)
    expect((await poll).status).toBe(200)
  })

  it.each([
    ['output', 'complete'],
    ['data', 'checkpoint'],
    ['checkpoint', 'pause'],
    ['checkpoint', 'continue'],
  ])('a %s of 1 MiB passes with %s, and one byte more is a 413 that writes nothing', async (field, action) => {
    await using api = await WorkerApi.open()
    const id = await api.taken('run-1')
    // As JSON, the quotes are part of it.
    const mebibyte = 'x'.repeat(2 ** 20 - 2)
    const body = (value: string) => ({ action, [field]: value, ...(action === 'pause' && { duration_ms: 1 }) })
    const before = await api.snapshot(id)
    expect((await api.resolve(id, body(`${mebibyte}x`))).status).toBe(413)
    expect(await api.snapshot(id)).toBe(before)
    expect((await api.resolve(id, body(mebibyte))).status).toBe(200)
    expect(await api.snapshot(id)).not.toBe(before)
  })

  it('an input of 1 MiB passes', async () => {
    await using api = await WorkerApi.open()
    const input = 'x'.repeat(2 ** 20 - 2)
    const id = await api.taken('run-1', { input })
    await api.resolve(id, { action: 'complete', output: input })
    expect(await api.output('run-1')).toBe(input)
  })
})

describe('what a worker sends', () => {
  it.each([
    [{ '~coded': 'x' }, { '~plain': { '~coded': 'x' } }],
    [{ answer: { '~coded': 'x' } }, { answer: { '~plain': { '~coded': 'x' } } }],
    [{ '~date': 'tomorrow' }, { '~plain': { '~date': 'tomorrow' } }],
    [{ '~date': '2026-06-01' }, { '~date': '2026-06-01T00:00:00.000Z' }],
  ])('is data, whatever it looks like: %j', async (sent, kept) => {
    await using api = await WorkerApi.open()
    const taskId = await api.taken('run-1')
    expect((await api.resolve(taskId, { action: 'pause', name: 'p', duration_ms: 1, checkpoint: sent })).status).toBe(
      200,
    )
    await api.pass(1_000)
    expect((await api.poll()).body[0].checkpoint).toEqual(kept)
    expect((await api.resolve(taskId, { action: 'complete', output: sent })).status).toBe(200)
    expect(await api.output('run-1')).toEqual(kept)
  })
})
