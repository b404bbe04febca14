import type { OverwinterClient } from '../../sdk/http-client/index.ts'
import type { TaskPayload } from '../../sdk/tasks/wire.ts'
import { type Checks, eventually, must, mustBe } from './checks.ts'
import type { Wire } from './wire.ts'

const MEBIBYTE = 'x'.repeat(2 ** 20 - 2)
const AT_ONCE = { retry: { attempts: 5, initial: '1ms', jitter: false } }
/** The network and a busy server take time. */
const LATE_MS = 20_000

/**
 * What a server must do for a worker. Those `inTurn` all use the same type of task, so they run one after the
 * other.
 */
export function serverChecks(
  client: OverwinterClient,
  wire: Wire,
  withToken: (token: string) => Wire,
): { inTurn: Checks; beside: Checks } {
  const start = async (input?: unknown, options?: Record<string, unknown>) =>
    (await client.start('conformance', { input, options })).runId
  const output = (runId: string) => client.result(runId, { timeout: '60s' })

  /** The task of this run. Leftovers of an earlier, unfinished round of checks are settled. */
  async function take(runId: string): Promise<TaskPayload> {
    for (;;) {
      const { status, body } = await wire.poll()
      mustBe('the status of a poll', status, 200)
      must(`the task of run ${runId} should be handed out within 5 s`, body.length > 0)
      const [task] = body
      if (task!.run_id === runId) return task!
      await wire.resolve(task!.task_id, {
        action: 'fail',
        error: 'left behind',
        retryable: false,
        attempt: task!.attempt,
        iteration: task!.iteration,
      })
    }
  }
  const taken = async (input?: unknown, options?: Record<string, unknown>) => take(await start(input, options))
  const says = async (
    status: number,
    task: Pick<TaskPayload, 'task_id'>,
    body: Record<string, unknown>,
    key?: string,
  ) => {
    const answer = await wire.resolve(task.task_id, body, key)
    must(
      `${JSON.stringify(body).slice(0, 100)} should be answered with ${status}, and was with ${answer.status}`,
      answer.status === status,
    )
    return answer
  }
  const which = ({ attempt, iteration }: TaskPayload) => ({ attempt, iteration })

  const inTurn: Checks = {
    'a missing or a wrong token is answered with 401': async () => {
      for (const token of ['', 'wrong', `${wire.token}x`]) {
        const stranger = withToken(token)
        mustBe('the status of a poll', (await stranger.poll({ timeout_ms: 0 })).status, 401)
        mustBe('the status of a resolve', (await stranger.resolve('a.b', { action: 'complete' })).status, 401)
      }
    },

    'a poll without tasks gives [] when its time is up': async () => {
      const begun = Date.now()
      mustBe('the answer', await wire.poll({ timeout_ms: 500 }), { status: 200, body: [] })
      must('it should not be answered before', Date.now() - begun >= 490)
    },

    'a task has the fields of the protocol and no others': async () => {
      const runId = await start({ prompt: 'hello' })
      const task = await take(runId)
      mustBe('the task', task, {
        task_id: `${runId}.${task.step_id}`,
        run_id: runId,
        step_id: task.step_id,
        iteration: 0,
        attempt: 1,
        input: { prompt: 'hello' },
      })
      await says(200, task, { action: 'complete' })
    },

    'complete gives the run its output': async () => {
      const task = await taken()
      await says(200, task, { action: 'complete', output: { result: ['ok', null, 'é'] } })
      mustBe('the output', await output(task.run_id), { result: ['ok', null, 'é'] })
    },

    'fail has it tried again, with the attempt counted up': async () => {
      const task = await taken(1, AT_ONCE)
      await says(200, task, { action: 'fail', error: 'no', ...which(task) })
      const again = await take(task.run_id)
      mustBe('the attempt', [again.attempt, again.iteration, again.input], [2, 0, 1])
      await says(409, task, { action: 'complete', output: 'old', ...which(task) })
      await says(200, again, { action: 'complete', output: 'new', ...which(again) })
      mustBe('the output', await output(task.run_id), 'new')
    },

    'pause keeps the checkpoint and gives the task out again when it is over, as the same attempt': async () => {
      const task = await taken()
      const begun = Date.now()
      await says(200, task, { action: 'pause', name: 'cool-down', duration_ms: 1_000, checkpoint: { page: 2 } })
      await says(404, task, { action: 'complete' })
      const again = await take(task.run_id)
      must('it should not be given out before', Date.now() - begun >= 990)
      mustBe('the task', again, { ...task, checkpoint: { page: 2 } })
      await says(200, again, { action: 'complete', ...which(again) })
    },

    'checkpoint extends the deadline': async () => {
      const task = await taken(undefined, { heartbeatTimeout: '4s' })
      for (let i = 0; i < 4; i++) {
        mustBe('what another worker gets', (await wire.poll({ timeout_ms: 1_500 })).body, [])
        await says(200, task, { action: 'checkpoint', data: i, ...which(task) })
      }
      await says(200, task, { action: 'complete', ...which(task) })
    },

    'continue gives the next iteration, with the checkpoint': async () => {
      let task = await taken()
      for (let iteration = 1; iteration <= 3; iteration++) {
        await says(200, task, { action: 'continue', checkpoint: { thoughts: iteration }, ...which(task) })
        task = await take(task.run_id)
        mustBe('the task', [task.iteration, task.attempt, task.checkpoint], [iteration, 1, { thoughts: iteration }])
      }
      await says(200, task, { action: 'complete', output: 'thought', ...which(task) })
      mustBe('the output', await output(task.run_id), 'thought')
    },

    'a worker that falls silent loses its task to another, which gets the last checkpoint': async () => {
      const task = await taken(undefined, { heartbeatTimeout: '1s', ...AT_ONCE })
      await says(200, task, { action: 'checkpoint', data: 'half' })
      const again = await take(task.run_id)
      mustBe('the task', again, { ...task, attempt: 2, checkpoint: 'half' })
      await says(409, task, { action: 'complete', output: 'late', ...which(task) })
      await says(409, task, { action: 'complete', output: 'whose?' })
      await says(200, again, { action: 'complete', output: 'new', ...which(again) })
      mustBe('the output', await output(task.run_id), 'new')
    },

    'a task that is not in flight is answered with 404': async () => {
      await says(404, { task_id: 'no-such-run.no-such-step' }, { action: 'complete' })
      const task = await taken()
      await says(200, task, { action: 'complete' })
      await says(404, task, { action: 'complete' })
      const unwanted = await taken()
      await client.terminate(unwanted.run_id)
      await says(404, unwanted, { action: 'complete', ...which(unwanted) })
    },

    'a request that is repeated under its Idempotency-Key counts once': async () => {
      const task = await taken(undefined, AT_ONCE)
      for (let i = 0; i < 2; i++)
        await says(200, task, { action: 'continue', checkpoint: 'once', ...which(task) }, 'first')
      const again = await take(task.run_id)
      mustBe('the iteration', again.iteration, 1)
      for (let i = 0; i < 2; i++)
        await says(200, again, { action: 'complete', output: 'done', ...which(again) }, 'second')
      mustBe('the output', await output(task.run_id), 'done')
    },

    'what is malformed is answered with 400': async () => {
      mustBe('a poll of more than 60 s', (await wire.poll({ timeout_ms: 60_001 })).status, 400)
      mustBe('a poll for nothing', (await wire.poll({ task_types: [] })).status, 400)
      const task = await taken()
      await says(400, task, { action: 'finish' })
      await says(400, task, { action: 'pause', duration_ms: 3_600_001 })
      await says(400, task, { action: 'fail' })
      await says(200, task, { action: 'complete' })
    },

    'an output of 1 MiB is taken, and one of a byte more is answered with 413 and changes nothing': async () => {
      const task = await taken()
      await says(413, task, { action: 'complete', output: `${MEBIBYTE}x` })
      await says(200, task, { action: 'complete', output: MEBIBYTE })
      must('the output should be what was given', (await output(task.run_id)) === MEBIBYTE)
    },
  }

  const beside: Checks = {
    'connect registers a worker for as long as it lasts, and sends a heartbeat at once and every 25 s': async () => {
      const workerId = `conformance-${Date.now().toString(36)}`
      const gone = new AbortController()
      const registration = {
        worker_id: workerId,
        task_types: ['conformance'],
        max_tasks: 2,
        language: 'typescript',
        metadata: { version: '1' },
      }
      const isListed = async () =>
        (await client.listWorkers()).some((worker) => worker.worker_id === workerId && worker.language === 'typescript')
      const beats: number[] = []
      for await (const text of wire.connect(registration, gone.signal)) {
        must(`its events should be 'heartbeat', and one is ${JSON.stringify(text)}`, /^event: ?heartbeat$/m.test(text))
        if (beats.push(Date.now()) === 1) await eventually('the worker is listed', isListed)
        else break
      }
      const [first, second] = beats as [number, number]
      must(
        `the second heartbeat came after ${second - first} ms`,
        second - first > 24_000 && second - first < 25_000 + LATE_MS,
      )
      gone.abort()
      // A server that cannot see a disconnect has to miss the heartbeat.
      await eventually('the worker is gone from the list', async () => !(await isListed()), 70_000)
    },
  }
  return { inTurn, beside }
}
