import type { Duration } from '../base/duration.ts'
import { checkName, checkRunId } from '../base/names.ts'
import { MOST_CONCURRENCY, MOST_PER_SECOND, MOST_RATE, USUAL_PER_SECOND } from '../flow/limiter/bounds.ts'
import {
  fitting,
  flag,
  listOf,
  maybe,
  named,
  noted,
  object,
  only,
  request,
  type Shaped,
  tested,
  text,
  time,
  whole,
} from './kit.ts'
import { Count, SCOPE_FIELDS, Scope } from './scope.ts'

/** Limits and pauses. */

const Numbers = object({ concurrency: maybe(whole), rate: maybe(whole), perMs: maybe(whole) })

const GateShape = object({
  key: maybe(text),
  inside: whole,
  holders: noted(listOf(text), 'The first who are inside: runs, or steps as run/step.'),
  waiting: Count,
  next: noted(listOf(text), 'The first in the queue.'),
  restUntil: maybe(noted(time, 'Nothing is let in before.')),
  heldMs: maybe(noted(whole, 'How long it takes one to come out again, lately.')),
  unreadable: maybe(noted(listOf(text), 'What is stored of it and cannot be read.')),
})

export const Limit = named(
  'Limit',
  object({
    name: text,
    code: noted(Numbers, 'As the code has it.'),
    inForce: noted(Numbers, 'As it counts now.'),
    isSet: noted(flag, 'An operator has set other numbers than those of the code.'),
    paused: flag,
    gates: noted(listOf(GateShape), 'Where it was in use of late: one, or one for each key.'),
    hasMore: maybe(noted(only(true), 'There are more keys.')),
    unreadable: maybe(
      noted(text, 'Its record cannot be read, so nothing is granted: what is wrong with it. A reset replaces it.'),
    ),
  }),
)
export type LimitJson = Shaped<typeof Limit>
export const Limits = named('Limits', object({ limits: listOf(Limit) }))
export type LimitsJson = Shaped<typeof Limits>

/** Whether the numbers make a limit is asked where they are set. */
const number = (most: number) =>
  fitting<number>((value) => typeof value === 'number', 'must be a whole number', {
    type: 'integer',
    minimum: 1,
    maximum: most,
  })

export const LimitRequest = request('LimitRequest', {
  concurrency: maybe(number(MOST_CONCURRENCY)),
  rate: maybe(number(MOST_RATE)),
  per: maybe(
    fitting<Duration>((per) => per !== null, 'must be a duration: \'1m\', milliseconds, or { "minutes": 1 }', {
      type: ['string', 'integer', 'object'],
      description: 'From 1 second to 31 days: \'1m\', milliseconds, or { "minutes": 1 }.',
    }),
  ),
})
export type LimitRequestJson = Shaped<typeof LimitRequest>

export const Pause = named(
  'Pause',
  object({
    scope: Scope,
    since: time,
    perSecond: maybe(noted(whole, 'Runs are let go, so many a second. Without it, none is.')),
    waiting: maybe(noted(Count, 'How many runs are left in its queue. Only where all pauses are asked for.')),
    unreadable: maybe(noted(text, 'Its record cannot be read: what is wrong with it. A resume replaces it.')),
  }),
)
export type PauseJson = Shaped<typeof Pause>
export const Pauses = named('Pauses', object({ pauses: listOf(Pause) }))
export type PausesJson = Shaped<typeof Pauses>

const SCOPE = {
  all: maybe(SCOPE_FIELDS.all),
  workflow: maybe(
    tested((name: string) => checkName('it', name), { type: 'string', description: 'The runs of this workflow.' }),
  ),
  run: maybe(tested((id: string) => checkRunId(id), { type: 'string', description: 'This run.' })),
}
export const PauseRequest = request('PauseRequest', SCOPE, { description: 'One of the three.' })
export const ResumeRequest = request(
  'ResumeRequest',
  {
    ...SCOPE,
    perSecond: maybe(noted(number(MOST_PER_SECOND), `Default ${USUAL_PER_SECOND}.`)),
  },
  { description: 'One of all, workflow and run, and how fast.' },
)
