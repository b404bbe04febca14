import type { Context } from 'hono'
import type { TaskPayload } from '../../../../sdk/tasks/wire.ts'
import { Checks } from '../../checks.ts'
import { bodyOf } from '../../request.ts'
import { json, type WorkerRoute } from '../../route.ts'
import { requireTypes, scopeOf } from './authorize.ts'
import { ENVELOPE_BYTES } from './envelope.ts'

const PollRequest = bodyOf(() => import('../../../../sdk/http-api/workers.ts'), 'PollRequest')

export const poll: WorkerRoute = {
  method: 'POST',
  path: '/v1/tasks/poll',
  operationId: 'pollTasks',
  needs: 'work',
  summary: 'Tasks of these types, as soon as there are any; an empty list when the time is up.',
  body: PollRequest,
  responses: { 200: { description: 'Each is this worker’s until its deadline.', shape: 'TaskPayloads' } },
  problems: ['invalid-input', 'malformed-json', 'unauthorized', 'forbidden', 'too-large', 'unsupported-media-type'],
  async handle(c, { workers }) {
    const scope = await scopeOf(c, workers)
    const {
      task_types: types,
      max_tasks: most,
      timeout_ms: timeoutMs,
      worker_id: worker,
      in_hand,
      poll_id,
    } = await readPoll(c)
    requireTypes(scope, types)
    const { signal } = c.req.raw
    const missed = await givenBefore()
    if (missed.length > 0) return json(missed)
    const inHand = in_hand ?? (await loadOf(worker, most))
    await tell(inHand)
    const tasks = await workers.broker.poll({ types, most, timeoutMs, signal, ...(worker !== undefined && { worker }) })
    // A worker that has hung up may be gone for good, and what is told here would bring it back.
    // The list of workers is for people: that it could not be written must not lose the tasks just taken.
    if (!signal.aborted) await Promise.all([tell(inHand + tasks.length), noteAnswer(tasks)]).catch(() => {})
    if (signal.aborted) await workers.broker.takeBack(tasks)
    return json(tasks)

    async function givenBefore(): Promise<TaskPayload[]> {
      if (worker === undefined || poll_id === undefined) return []
      return workers.broker.handAgain(await workers.answers.find(worker, poll_id), { worker, types })
    }
    async function noteAnswer(answer: readonly TaskPayload[]): Promise<void> {
      if (worker === undefined || poll_id === undefined || answer.length === 0) return
      await workers.answers.note(
        worker,
        poll_id,
        answer.map(({ task_id }) => task_id),
      )
    }
    /** A worker asks for as many as it has hands free. */
    async function loadOf(id: string | undefined, free: number): Promise<number> {
      const known = id === undefined ? undefined : await workers.directory.find(id)
      return known ? Math.max(0, known.max_tasks - free) : 0
    }
    async function tell(load: number): Promise<void> {
      if (worker === undefined) return
      await workers.directory.seen(
        { worker_id: worker, task_types: types, max_tasks: most, language: 'unknown', transport: 'bridge' },
        load,
      )
    }
  },
}

async function readPoll(c: Context) {
  const checks = new Checks()
  const fields = await PollRequest.read(c, ENVELOPE_BYTES, checks)
  checks.throwIfAny()
  return fields as Required<Pick<typeof fields, 'task_types' | 'max_tasks' | 'timeout_ms'>> & typeof fields
}
