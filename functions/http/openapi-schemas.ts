import type { RunStatus } from '../../sdk/index.ts'
import type { JsonSchema } from './route.ts'

/** A Record, so that a new status does not compile until it is documented. */
const STATUS: Record<RunStatus, true> = {
  pending: true,
  running: true,
  sleeping: true,
  waiting: true,
  stuck: true,
  completed: true,
  failed: true,
  cancelled: true,
  terminated: true,
}
export const RUN_STATUSES = Object.keys(STATUS) as RunStatus[]

const text: JsonSchema = { type: 'string' }
const whole: JsonSchema = { type: 'integer' }
const time: JsonSchema = { type: 'string', format: 'date-time' }
const anything: JsonSchema = {}
const listOf = (items: JsonSchema): JsonSchema => ({ type: 'array', items })

function object(properties: Record<string, JsonSchema>, required: string[] = [], isOpen = false): JsonSchema {
  return { type: 'object', properties, required, ...(!isOpen && { additionalProperties: false }) }
}

export const SCHEMAS = {
  Status: { enum: RUN_STATUSES },
  StartRequest: object({
    input: anything,
    id: { ...text, description: 'Chosen by the caller; makes starting idempotent.' },
    startAt: { anyOf: [time, { ...whole, description: 'Epoch milliseconds.' }] },
    delay: { anyOf: [text, { type: 'number' }, { type: 'object' }], description: '\'30s\', milliseconds, or { "hours": 24 }.' },
    tags: listOf(text),
    version: { ...whole, description: 'Default: the latest.' },
  }),
  Started: object({ runId: text, status: { $ref: '#/components/schemas/Status' } }, ['runId', 'status']),
  Schedules: object(
    {
      schedules: listOf(
        object(
          {
            name: text,
            runId: text,
            workflow: text,
            version: whole,
            cron: text,
            everyMs: whole,
            timezone: text,
            overlap: { enum: ['skip', 'queue', 'allow'] },
            catchUp: { type: 'boolean' },
            isPaused: { type: 'boolean' },
            nextDue: time,
            started: whole,
            skipped: whole,
          },
          ['name', 'runId', 'workflow', 'isPaused'],
        ),
      ),
    },
    ['schedules'],
  ),
  Accepted: object({ accepted: { type: 'boolean' } }, ['accepted']),
  Reason: object({ reason: text }),
  RerunRequest: object({ from: text, id: text }, ['from']),
  CallbackRequest: object({ result: anything, error: object({ message: text, name: text, code: anything }, ['message'], true) }),
  Error: object({ name: text, message: text, code: anything, step: text, attempts: whole, stack: text, cause: anything }, ['name', 'message'], true),
  Run: object(
    {
      runId: text,
      workflow: text,
      version: whole,
      status: { $ref: '#/components/schemas/Status' },
      input: anything,
      output: anything,
      error: { $ref: '#/components/schemas/Error' },
      createdAt: time,
      startedAt: time,
      endedAt: time,
      wakeAt: time,
      waitingFor: listOf(object({ kind: text, id: text, on: text, until: time }, ['kind', 'id'])),
      progress: anything,
      heartbeat: object({ step: text, at: time, details: anything }, ['step', 'at']),
      tags: listOf(text),
      parent: object({ runId: text, op: text }, ['runId', 'op']),
      generation: whole,
      attempt: whole,
    },
    ['runId', 'workflow', 'version', 'status', 'createdAt', 'tags', 'generation', 'attempt'],
  ),
  RunPage: object({ runs: listOf({ $ref: '#/components/schemas/Run' }), cursor: text }, ['runs']),
  History: object({ events: listOf(object({ type: text, at: time }, ['type', 'at'], true)) }, ['events']),
  Workflows: object({ workflows: listOf(object({ name: text, versions: listOf(whole), latest: whole }, ['name', 'versions', 'latest'])) }, ['workflows']),
  Problem: object(
    {
      type: { type: 'string', format: 'uri' },
      title: text,
      status: whole,
      detail: text,
      problems: listOf(object({ path: text, message: text }, ['path', 'message'])),
      known: listOf(text),
    },
    ['type', 'title', 'status', 'detail'],
  ),
} satisfies Record<string, JsonSchema>

export function ref(name: keyof typeof SCHEMAS): JsonSchema {
  return { $ref: `#/components/schemas/${name}` }
}
