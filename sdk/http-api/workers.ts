import * as z from 'zod/mini'
import { type Duration, milliseconds } from '../base/duration.ts'
import { checkName } from '../base/names.ts'
import type { Resolution } from '../tasks/lifecycle.ts'
import { TOKEN_SCOPES, type TokenScope } from '../tasks/tokens.ts'
import {
  among,
  anything,
  eachOf,
  fitting,
  flag,
  listOf,
  maybe,
  named,
  noted,
  object,
  only,
  recordOf,
  request,
  type Shape,
  type Shaped,
  tested,
  text,
  time,
  whole,
  wholeFrom,
} from './kit.ts'

/** The protocol of workers, and what operators see of workers and tokens. */

const MOST_TASKS = 100
const MOST_TYPES = 50
const LONGEST_POLL_MS = 60_000
const MOST_IN_HAND = 10_000
const LONGEST_PAUSE_MS = 3_600_000
const LONGEST_ERROR = 10_000

const id = tested((name: string) => checkName('it', name), { type: 'string' })
const TYPES = `must be a list of 1 to ${MOST_TYPES} types of tasks`
const types = z.array(id, TYPES).check(z.minLength(1, TYPES), z.maxLength(MOST_TYPES, TYPES)) as unknown as Shape<
  string[]
>
const tasks = wholeFrom(1, MOST_TASKS)
const strings = z.record(z.string(), z.string(), 'must be an object of strings')
const metadata = fitting<Record<string, string>>(
  (value) => strings.safeParse(value).success,
  'must be an object of strings',
  {
    type: 'object',
    additionalProperties: { type: 'string' },
  },
)

export const ConnectRequest = request('ConnectRequest', {
  worker_id: id,
  task_types: types,
  max_tasks: tasks,
  language: maybe(id),
  transport: maybe(id),
  metadata: maybe(metadata),
})

export const PollRequest = request('PollRequest', {
  task_types: types,
  max_tasks: tasks,
  timeout_ms: wholeFrom(0, LONGEST_POLL_MS),
  worker_id: maybe(noted(id, 'Counts as a sign of life of this worker.')),
  in_hand: maybe(noted(wholeFrom(0, MOST_IN_HAND), 'How many tasks the worker has already, for the list of workers.')),
  poll_id: maybe(
    noted(
      id,
      'One of its own for each poll of this worker_id. A poll that is sent again because its answer ' +
        'did not come gets that answer.',
    ),
  ),
})

const SAID = `must say what went wrong, in 1 to ${LONGEST_ERROR} characters`

export const ResolveRequest = request(
  'ResolveRequest',
  {
    action: eachOf<Resolution['action']>({ complete: true, fail: true, pause: true, checkpoint: true, continue: true }),
    attempt: maybe(
      noted(wholeFrom(1), 'The one the worker was given. Once a worker has lost the task by silence, it is required.'),
    ),
    iteration: maybe(
      noted(wholeFrom(0), 'The one the worker was given; required like `attempt`, from iteration 1 on.'),
    ),
    retryable: maybe(noted(flag, 'With `fail`: false gives the task up at once.')),
    output: maybe(noted(anything, 'With `complete`.')),
    error: maybe(
      noted(
        z.string(SAID).check(z.minLength(1, SAID), z.maxLength(LONGEST_ERROR, SAID)) as unknown as Shape<string>,
        'With `fail`.',
      ),
    ),
    name: maybe(
      noted(anything, { type: 'string', description: 'With `pause`, for people.' }),
    ) as unknown as z.ZodMiniOptional<Shape<string>>,
    duration_ms: maybe(noted(wholeFrom(1, LONGEST_PAUSE_MS, ' (an hour)'), 'With `pause`.')),
    checkpoint: maybe(noted(anything, 'With `pause` and `continue`: what the next worker finds.')),
    data: maybe(
      noted(anything, 'With `checkpoint`: what the next worker finds. Without it, the request is a sign of life.'),
    ),
  },
  {
    known: [
      'action',
      'attempt',
      'iteration',
      'output',
      'error',
      'retryable',
      'name',
      'duration_ms',
      'checkpoint',
      'data',
    ],
  },
)

/** What an action needs that the others do not. */
export const NEEDED = {
  fail: { field: 'error', message: SAID },
  pause: { field: 'duration_ms', message: `must be a whole number from 1 to ${LONGEST_PAUSE_MS} (an hour)` },
} as const

export const Resolved = named(
  'Resolved',
  object({ ok: only(true), deadline: maybe(noted(time, 'By when the next sign of life is due.')) }),
)

export const TaskPayload = named(
  'TaskPayload',
  object({
    task_id: text,
    run_id: text,
    step_id: text,
    iteration: whole,
    attempt: whole,
    input: maybe(anything),
    checkpoint: maybe(anything),
  }),
)
export const TaskPayloads = named('TaskPayloads', listOf(TaskPayload))

const WorkerShape = object({
  worker_id: text,
  task_types: listOf(text),
  language: text,
  transport: text,
  max_tasks: whole,
  metadata: maybe(recordOf(text)),
  load: noted(whole, 'How many tasks it has in hand, as far as its last poll tells.'),
  last_seen: time,
})
export type WorkerJson = Shaped<typeof WorkerShape>
export const Workers = named('Workers', object({ workers: listOf(WorkerShape) }))
export type WorkersJson = Shaped<typeof Workers>

/** A list of names that is not empty. */
function names<T extends string>(demand: string, items: object, description: string): Shape<T[]> {
  const list = z.array(noted(id, { type: undefined, ...items }), demand).check(z.minLength(1, demand))
  return noted(list as unknown as Shape<T[]>, description)
}

export const TokenRequest = request('TokenRequest', {
  name: tested((name: string) => checkName('the name', name), { type: 'string' }),
  scopes: maybe(
    names<TokenScope>(
      `must be a list of ${TOKEN_SCOPES.join(', ')}; leave it out for work`,
      { enum: TOKEN_SCOPES },
      'Default: work.',
    ),
  ),
  workflows: maybe(names('must be a list of workflows; leave it out for all', { type: 'string' }, 'Default: all.')),
  task_types: maybe(
    names('must be a list of types of tasks; leave it out for all', { type: 'string' }, 'Default: all.'),
  ),
  expires_in: maybe(
    tested((duration: Duration) => milliseconds(duration, 'it'), {
      type: ['string', 'integer'],
      description: "A duration: '90d'.",
    }),
  ),
})

const TOKEN = {
  id: text,
  name: text,
  scopes: listOf(among(TOKEN_SCOPES)),
  workflows: maybe(listOf(text)),
  task_types: maybe(listOf(text)),
  created_at: time,
  expires_at: maybe(time),
  state: among(['valid', 'expired', 'revoked']),
}
export const Token = named('Token', object(TOKEN))
export type TokenJson = Shaped<typeof Token>
export const NewToken = named('NewToken', object({ ...TOKEN, token: noted(text, 'Shown here and never again.') }))
export type NewTokenJson = Shaped<typeof NewToken>
export const Tokens = named('Tokens', object({ tokens: listOf(Token) }))
export type TokensJson = Shaped<typeof Tokens>
