import { readJson } from '../../body.ts'
import { Checks, readFields } from '../../checks.ts'
import { ref } from '../../openapi-schemas.ts'
import { json, type WorkerRoute } from '../../route.ts'
import { requireTypes, scopeOf } from './authorize.ts'
import { checkId, checkMost, checkTypes, ENVELOPE_BYTES, isWhole } from './fields.ts'

const LONGEST_POLL_MS = 60_000

interface Poll {
  task_types: string[]
  max_tasks: number
  timeout_ms: number
  worker_id?: string
}

export const poll: WorkerRoute = {
  method: 'POST',
  path: '/v1/tasks/poll',
  operationId: 'pollTasks',
  summary: 'Tasks of these types, as soon as there are any; an empty list when the time is up.',
  body: ref('PollRequest'),
  responses: { 200: { description: 'Each is this worker’s until its deadline.', schema: ref('TaskPayloads') } },
  problems: ['invalid-input', 'malformed-json', 'forbidden', 'too-large', 'unsupported-media-type'],
  async handle(c, { workers }) {
    const scope = await scopeOf(c, workers)
    const { task_types: types, max_tasks: most, timeout_ms: timeoutMs, worker_id: worker } = readPoll(await readJson(c, ENVELOPE_BYTES))
    requireTypes(scope, types)
    const inHand = await loadOf(worker, most)
    if (worker !== undefined) await tell(worker, inHand)
    const tasks = await workers.broker.poll({ types, most, timeoutMs, signal: c.req.raw.signal, ...(worker !== undefined && { worker }) })
    if (worker !== undefined) await tell(worker, inHand + tasks.length)
    return json(tasks)

    /** A worker asks for as many as it has hands free. */
    async function loadOf(id: string | undefined, free: number): Promise<number> {
      const known = id === undefined ? undefined : await workers.directory.find(id)
      return known ? Math.max(0, known.max_tasks - free) : 0
    }
    function tell(id: string, load: number): Promise<void> {
      const registration = { worker_id: id, task_types: types, max_tasks: most, language: 'unknown', transport: 'bridge' }
      return workers.directory.seen(id, { load, registration })
    }
  },
}

function readPoll(body: unknown): Poll {
  const checks = new Checks()
  const fields = readFields(body ?? {}, ['task_types', 'max_tasks', 'timeout_ms', 'worker_id'], checks)
  checkTypes(checks, fields.task_types)
  checkMost(checks, fields.max_tasks)
  checks.require('$.timeout_ms', isWhole(fields.timeout_ms, 0, LONGEST_POLL_MS), `must be a whole number from 0 to ${LONGEST_POLL_MS}`)
  if (fields.worker_id !== undefined) checkId(checks, '$.worker_id', fields.worker_id)
  checks.throwIfAny()
  return fields as unknown as Poll
}
