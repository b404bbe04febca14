import { BULK_BOUNDS } from '../../sdk/bulk/steer-many.ts'
import type { StepStatus } from '../../sdk/definitions/step-states.ts'
import { MOST_CONCURRENCY, MOST_PER_SECOND, MOST_RATE, USUAL_PER_SECOND } from '../../sdk/flow/limiter/bounds.ts'
import type { RunStatus } from '../../sdk/index.ts'
import { TOKEN_SCOPES } from '../../sdk/tasks/tokens.ts'
import type { JsonSchema } from './route.ts'

/** A Record, so that a new status does not compile until it is documented. */
const STATUS: Record<RunStatus, true> = {
  pending: true,
  queued: true,
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

const STEP_STATUS: Record<StepStatus, true> = {
  PENDING: true,
  RUNNING: true,
  WAITING: true,
  COMPLETED: true,
  FAILED: true,
  SKIPPED: true,
}
const STEP_STATUSES = Object.keys(STEP_STATUS)

const text: JsonSchema = { type: 'string' }
const whole: JsonSchema = { type: 'integer' }
const time: JsonSchema = { type: 'string', format: 'date-time' }
const anything: JsonSchema = {}
const listOf = (items: JsonSchema): JsonSchema => ({ type: 'array', items })

function object(properties: Record<string, JsonSchema>, required: string[] = [], isOpen = false): JsonSchema {
  return { type: 'object', properties, required, ...(!isOpen && { additionalProperties: false }) }
}

const SCOPES = listOf({ enum: TOKEN_SCOPES })
const TOKEN = {
  id: text,
  name: text,
  scopes: SCOPES,
  workflows: listOf(text),
  task_types: listOf(text),
  created_at: time,
  expires_at: time,
  state: { enum: ['valid', 'expired', 'revoked'] },
}

const PACE = {
  perSecond: {
    ...whole,
    minimum: BULK_BOUNDS.perSecond.least,
    maximum: BULK_BOUNDS.perSecond.most,
    description: 'Default 10.',
  },
  limit: {
    ...whole,
    minimum: BULK_BOUNDS.limit.least,
    maximum: BULK_BOUNDS.limit.most,
    description: 'How many runs at most. Default 1,000.',
  },
  dryRun: { type: 'boolean', description: 'Only says how many runs it would be.' },
  reason: text,
}

const BULK_FILTER = {
  status: { $ref: '#/components/schemas/Status' },
  workflow: text,
  tag: text,
  idPrefix: text,
  from: { anyOf: [time, whole], description: 'Created at or after.' },
  to: { anyOf: [time, whole], description: 'Created before.' },
  since: {
    anyOf: [time, whole, text],
    description: "Ended or got stuck at or after this time, or this long ago: '2h'.",
  },
}

const SUMMARY = {
  runId: text,
  workflow: text,
  version: whole,
  status: { $ref: '#/components/schemas/Status' },
  error: { $ref: '#/components/schemas/Error' },
  createdAt: time,
  startedAt: time,
  endedAt: time,
  stuckAt: { ...time, description: 'When it got stuck, if it is.' },
  wakeAt: time,
  waitingFor: listOf(
    object({ kind: text, id: text, on: text, key: text, until: time, since: time, round: whole, failures: whole }, [
      'kind',
      'id',
    ]),
  ),
  tags: listOf(text),
  parent: object({ runId: text, op: text, generation: whole }, ['runId', 'op']),
  generation: whole,
  attempt: whole,
}
const SUMMARY_REQUIRED = ['runId', 'workflow', 'version', 'status', 'createdAt', 'tags', 'generation', 'attempt']

const COUNT = object({ count: whole, isMore: { const: true } }, ['count'])
const NUMBERS = object({ concurrency: whole, rate: whole, perMs: whole })
const SCOPE = {
  all: { const: true, description: 'Everything.' },
  workflow: { ...text, description: 'The runs of this workflow.' },
  run: { ...text, description: 'This run.' },
}

export const SCHEMAS = {
  Status: { enum: RUN_STATUSES },
  StartRequest: object({
    input: anything,
    id: { ...text, description: 'Chosen by the caller; makes starting idempotent.' },
    startAt: { anyOf: [time, { ...whole, description: 'Epoch milliseconds.' }] },
    delay: {
      anyOf: [text, { type: 'number' }, { type: 'object' }],
      description: '\'30s\', milliseconds, or { "hours": 24 }.',
    },
    tags: listOf(text),
    version: { ...whole, description: 'Default: the latest.' },
  }),
  Started: object({ runId: text, status: { $ref: '#/components/schemas/Status' } }, ['runId', 'status']),
  EventRequest: object({ mapping: { anyOf: [text, { type: 'object' }] }, event: { type: 'object' } }, [
    'mapping',
    'event',
  ]),
  EventTaken: object(
    {
      kind: { enum: ['start', 'signal', 'cancel'] },
      runId: text,
      created: { type: 'boolean' },
      accepted: { type: 'boolean' },
    },
    ['kind', 'runId'],
  ),
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
            lastError: object({ at: time, message: text }, ['message']),
          },
          ['name', 'runId', 'workflow', 'isPaused'],
        ),
      ),
    },
    ['schedules'],
  ),
  Accepted: object({ accepted: { type: 'boolean' } }, ['accepted']),
  Why: object(
    {
      reason: text,
      waits: listOf(
        object(
          {
            kind: text,
            id: text,
            on: text,
            what: text,
            since: time,
            until: time,
            overdueMs: whole,
            evidence: listOf(text),
          },
          ['kind', 'id', 'what', 'evidence'],
        ),
      ),
      remedies: listOf(object({ what: text, command: text }, ['what'])),
    },
    ['reason', 'waits', 'remedies'],
  ),
  Incidents: object(
    {
      incidents: listOf(
        object(
          {
            fingerprint: text,
            workflow: text,
            name: { ...text, description: 'Of the error that it began with.' },
            code: text,
            step: text,
            says: { ...text, description: 'What the errors say, without what differs from run to run.' },
            count: whole,
            failed: whole,
            stuck: whole,
            firstAt: time,
            lastAt: time,
            runs: { ...listOf(text), description: 'Some of them, newest first.' },
          },
          ['fingerprint', 'workflow', 'name', 'says', 'count', 'failed', 'stuck', 'firstAt', 'lastAt', 'runs'],
        ),
      ),
      isComplete: { type: 'boolean' },
    },
    ['incidents', 'isComplete'],
  ),
  Counts: object({ counts: { type: 'object', additionalProperties: COUNT } }, ['counts']),
  Limit: object(
    {
      name: text,
      code: { ...NUMBERS, description: 'As the code has it.' },
      inForce: { ...NUMBERS, description: 'As it counts now.' },
      isSet: { type: 'boolean', description: 'Somebody has set other numbers than those of the code.' },
      paused: { type: 'boolean' },
      gates: {
        ...listOf(
          object(
            {
              key: text,
              inside: whole,
              holders: { ...listOf(text), description: 'The first who are inside: runs, or steps as run/step.' },
              waiting: COUNT,
              next: { ...listOf(text), description: 'The first in line.' },
              restUntil: { ...time, description: 'Nobody is let in before.' },
              heldMs: { ...whole, description: 'How long it takes one to come out again, lately.' },
              unreadable: { ...listOf(text), description: 'What is stored of it and cannot be read.' },
            },
            ['inside', 'holders', 'waiting', 'next'],
          ),
        ),
        description: 'Where it was in use of late: one, or one for each key.',
      },
      hasMore: { const: true, description: 'There are more keys.' },
      unreadable: {
        ...text,
        description: 'Its record cannot be read, so nothing is granted: what is wrong with it. A reset replaces it.',
      },
    },
    ['name', 'code', 'inForce', 'isSet', 'paused', 'gates'],
  ),
  Limits: object({ limits: listOf({ $ref: '#/components/schemas/Limit' }) }, ['limits']),
  LimitRequest: object({
    concurrency: { ...whole, minimum: 1, maximum: MOST_CONCURRENCY },
    rate: { ...whole, minimum: 1, maximum: MOST_RATE },
    per: {
      type: ['string', 'integer', 'object'],
      description: 'From 1 second to 31 days: \'1m\', milliseconds, or { "minutes": 1 }.',
    },
  }),
  Pause: object(
    {
      scope: object(SCOPE),
      since: time,
      perSecond: { ...whole, description: 'Runs are let go, so many a second. Without it, nobody is.' },
      waiting: { ...COUNT, description: 'How many runs are left in its line. Only where all pauses are asked for.' },
      unreadable: { ...text, description: 'Its record cannot be read: what is wrong with it. A resume replaces it.' },
    },
    ['scope', 'since'],
  ),
  Pauses: object({ pauses: listOf({ $ref: '#/components/schemas/Pause' }) }, ['pauses']),
  PauseRequest: { ...object(SCOPE), description: 'One of the three.' },
  ResumeRequest: {
    ...object({
      ...SCOPE,
      perSecond: { ...whole, minimum: 1, maximum: MOST_PER_SECOND, description: `Default ${USUAL_PER_SECOND}.` },
    }),
    description: 'One of all, workflow and run, and how fast.',
  },
  IncidentRequest: object({
    ...PACE,
    filter: { ...object(BULK_FILTER), description: 'Which of its runs. All of it has to be true of a run.' },
  }),
  BulkRequest: object(
    {
      ...PACE,
      filter: object({ ...BULK_FILTER, incident: { ...text, description: 'The fingerprint of an incident.' } }),
    },
    ['filter'],
  ),
  WouldSteer: object(
    {
      matches: { ...whole, description: 'How many runs the filter meets, up to the limit.' },
      isComplete: { type: 'boolean', description: 'Whether there are no more than the limit.' },
      runs: { ...listOf(text), description: 'Some of them.' },
      can: { ...whole, description: 'How many of those that were looked at it can be done to.' },
      refused: {
        ...listOf(object({ why: text, count: whole, runs: listOf(text) }, ['why', 'count', 'runs'])),
        description: 'The others that were looked at, by why it cannot be done to them.',
      },
      unchecked: { ...whole, description: 'How many were not looked at more closely.' },
    },
    ['matches', 'isComplete', 'runs', 'can', 'refused', 'unchecked'],
  ),
  Workflow: object(
    {
      name: text,
      versions: listOf(whole),
      latest: whole,
      input: { type: 'object', description: 'A JSON Schema, where the workflow has a schema that can be described.' },
      output: { type: 'object', description: 'A JSON Schema.' },
      signals: listOf(
        object({ name: text, kind: { enum: ['signal', 'request'] }, payload: { type: 'object' } }, ['name', 'kind']),
      ),
      isStored: { const: true },
    },
    ['name', 'versions', 'latest', 'signals'],
  ),
  Replayed: object(
    {
      upTo: text,
      events: { ...whole, description: 'How many it had seen by then.' },
      open: listOf(
        object({ id: text, kind: text, at: { ...text, description: 'file:line:column of the call.' } }, ['id', 'kind']),
      ),
      ended: object({ output: anything, error: { $ref: '#/components/schemas/Error' } }),
      changed: { ...text, description: 'Why the code of today does not get there.' },
      source: object({ file: text, line: whole, lines: listOf(object({ n: whole, text }, ['n', 'text'])) }, [
        'file',
        'line',
        'lines',
      ]),
    },
    ['upTo', 'events', 'open'],
  ),
  Reply: object({ result: anything }),
  Asked: object({ accepted: { type: 'boolean' }, idempotencyKey: text }, ['accepted', 'idempotencyKey']),
  Reason: object({ reason: text }),
  RerunRequest: object({
    from: { ...text, description: 'The first step that is done again. Without it, the run begins at its beginning.' },
    id: text,
    inheritUndone: {
      type: 'boolean',
      description: 'Take over results that the run has undone since. Otherwise such a rerun is refused.',
    },
  }),
  CallbackRequest: object({
    result: anything,
    error: object({ message: text, name: text, code: anything }, ['message'], true),
  }),
  Error: object(
    { name: text, message: text, code: anything, step: text, attempts: whole, stack: text, cause: anything },
    ['name', 'message'],
    true,
  ),
  Run: object(
    {
      ...SUMMARY,
      input: anything,
      output: anything,
      keptSignals: {
        type: 'object',
        additionalProperties: { type: 'integer' },
        description:
          'Signals that were sent and that the run has not waited for so far, by name. Only where one run is asked for.',
      },
      trace: {
        ...text,
        description: 'The traceparent of whoever made the run, or this generation of it, where that is known.',
      },
      logs: {
        ...text,
        description: 'Where what it has logged can be read. Only where one run is asked for, and only on AWS.',
      },
      progress: anything,
      heartbeat: object({ step: text, at: time, details: anything }, ['step', 'at']),
      queue: {
        ...object(
          {
            limit: text,
            key: text,
            place: COUNT,
            expectedAt: time,
            paused: { type: 'boolean' },
            pause: {
              ...object(SCOPE),
              description: 'What else is paused, and holds the run back when its turn has come.',
            },
            unreadable: {
              ...listOf(text),
              description:
                'What is stored of the limiter and cannot be read. The run waits until it is put right or dropped.',
            },
          },
          ['limit', 'place', 'paused'],
        ),
        description:
          'Of a queued run: the limit or the pause that it is queued for, and its place in that line, from 1. Of a pending one: the rate that it was the first to be over, which lets it start then. Only where one run is asked for.',
      },
      omitted: { ...listOf(text), description: 'Payloads that were left out, as was asked for.' },
    },
    SUMMARY_REQUIRED,
  ),
  RunSummary: object(SUMMARY, SUMMARY_REQUIRED),
  RunPage: object({ runs: listOf({ $ref: '#/components/schemas/RunSummary' }), cursor: text }, ['runs']),
  Callbacks: object(
    {
      callbacks: listOf(
        object(
          {
            ...{ name: text, token: text, url: text, until: time },
            question: { ...text, description: 'What people are asked.' },
            schema: {
              type: 'object',
              description: 'A JSON Schema of the answer, where it has one that can be described.',
            },
          },
          ['name', 'token', 'url'],
        ),
      ),
    },
    ['callbacks'],
  ),
  Event: object(
    {
      type: text,
      at: time,
      n: { ...text, description: 'Its place in the history.' },
      visit: { ...whole, description: 'Which visit of a runner observed it.' },
      omitted: listOf(text),
    },
    ['type', 'at', 'n'],
    true,
  ),
  History: object({ events: listOf({ $ref: '#/components/schemas/Event' }), generation: whole, cursor: text }, [
    'events',
    'generation',
  ]),
  Workflows: object(
    {
      workflows: listOf(object({ name: text, versions: listOf(whole), latest: whole }, ['name', 'versions', 'latest'])),
    },
    ['workflows'],
  ),
  Definition: { type: 'object', description: 'Its JSON Schema is at /definitions/schema.json.' },
  SavedDefinition: object(
    {
      name: text,
      version: { ...whole, description: 'Absent when it was only checked.' },
      createdAt: time,
      warnings: listOf(object({ path: text, message: text }, ['path', 'message'])),
    },
    ['name', 'warnings'],
  ),
  StoredDefinition: object(
    { name: text, version: whole, createdAt: time, definition: { $ref: '#/components/schemas/Definition' } },
    ['name', 'version', 'createdAt', 'definition'],
  ),
  Definitions: object(
    {
      definitions: listOf(
        object(
          {
            name: text,
            version: { ...whole, description: 'The latest.' },
            label: text,
            createdAt: time,
            updatedAt: time,
          },
          ['name', 'version', 'createdAt', 'updatedAt'],
        ),
      ),
    },
    ['definitions'],
  ),
  Steps: object(
    {
      steps: listOf(
        object(
          {
            name: text,
            type: text,
            after: listOf(text),
            status: { enum: STEP_STATUSES },
            startedAt: time,
            endedAt: time,
            wakeAt: time,
          },
          ['name', 'type', 'after', 'status'],
        ),
      ),
    },
    ['steps'],
  ),
  ConnectRequest: object(
    {
      worker_id: text,
      task_types: listOf(text),
      max_tasks: { ...whole, minimum: 1, maximum: 100 },
      language: text,
      transport: text,
      metadata: { type: 'object', additionalProperties: text },
    },
    ['worker_id', 'task_types', 'max_tasks'],
  ),
  PollRequest: object(
    {
      task_types: listOf(text),
      max_tasks: { ...whole, minimum: 1, maximum: 100 },
      timeout_ms: { ...whole, minimum: 0, maximum: 60_000 },
      worker_id: { ...text, description: 'Counts as a sign of life of this worker.' },
      in_hand: { ...whole, minimum: 0, description: 'How many tasks the worker has already, for the list of workers.' },
      poll_id: {
        ...text,
        description:
          'One of its own for each poll of this worker_id. A poll that is sent again because its answer did not come gets that answer.',
      },
    },
    ['task_types', 'max_tasks', 'timeout_ms'],
  ),
  ResolveRequest: object(
    {
      action: { enum: ['complete', 'fail', 'pause', 'checkpoint', 'continue'] },
      attempt: {
        ...whole,
        minimum: 1,
        description: 'The one the worker was given. Once a worker has lost the task by silence, it is required.',
      },
      iteration: {
        ...whole,
        minimum: 0,
        description: 'The one the worker was given; required like `attempt`, from iteration 1 on.',
      },
      output: { description: 'With `complete`.' },
      error: { ...text, maxLength: 10_000, description: 'With `fail`.' },
      retryable: { type: 'boolean', description: 'With `fail`: false gives the task up at once.' },
      name: { ...text, description: 'With `pause`, for people.' },
      duration_ms: { ...whole, minimum: 1, maximum: 3_600_000, description: 'With `pause`.' },
      checkpoint: { description: 'With `pause` and `continue`: what the next worker finds.' },
      data: {
        description: 'With `checkpoint`: what the next worker finds. Without it, the request is a sign of life.',
      },
    },
    ['action'],
  ),
  Resolved: object(
    { ok: { const: true }, deadline: { ...time, description: 'By when the next sign of life is due.' } },
    ['ok'],
  ),
  TaskPayload: object(
    {
      task_id: text,
      run_id: text,
      step_id: text,
      iteration: whole,
      attempt: whole,
      input: anything,
      checkpoint: anything,
    },
    ['task_id', 'run_id', 'step_id', 'iteration', 'attempt'],
  ),
  TaskPayloads: listOf({ $ref: '#/components/schemas/TaskPayload' }),
  Workers: object(
    {
      workers: listOf(
        object(
          {
            worker_id: text,
            task_types: listOf(text),
            language: text,
            transport: text,
            max_tasks: whole,
            metadata: { type: 'object', additionalProperties: text },
            load: { ...whole, description: 'How many tasks it has in hand, as far as its last poll tells.' },
            last_seen: time,
          },
          ['worker_id', 'task_types', 'language', 'transport', 'max_tasks', 'load', 'last_seen'],
        ),
      ),
    },
    ['workers'],
  ),
  TokenRequest: object(
    {
      name: text,
      scopes: { ...SCOPES, description: 'Default: work.' },
      workflows: { ...listOf(text), description: 'Default: all.' },
      task_types: { ...listOf(text), description: 'Default: all.' },
      expires_in: { type: ['string', 'integer'], description: "A duration: '90d'." },
    },
    ['name'],
  ),
  Token: object(TOKEN, ['id', 'name', 'scopes', 'created_at', 'state']),
  NewToken: object({ ...TOKEN, token: { ...text, description: 'Shown here and never again.' } }, [
    'id',
    'name',
    'scopes',
    'created_at',
    'state',
    'token',
  ]),
  Tokens: object({ tokens: listOf({ $ref: '#/components/schemas/Token' }) }, ['tokens']),
  Problem: object(
    {
      type: { type: 'string', format: 'uri' },
      title: text,
      status: whole,
      detail: text,
      problems: listOf(object({ path: text, message: text }, ['path', 'message'])),
      known: listOf(text),
      error: { $ref: '#/components/schemas/Error' },
    },
    ['type', 'title', 'status', 'detail'],
  ),
} satisfies Record<string, JsonSchema>

export function ref(name: keyof typeof SCHEMAS): JsonSchema {
  return { $ref: `#/components/schemas/${name}` }
}
