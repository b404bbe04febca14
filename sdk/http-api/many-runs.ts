import { pointInTime } from '../base/duration.ts'
import { BULK_BOUNDS } from '../bulk/steer-many.ts'
import {
  anything,
  flag,
  listOf,
  maybe,
  named,
  noted,
  object,
  query,
  request,
  type Shape,
  type Shaped,
  tested,
  text,
  time,
  whole,
} from './kit.ts'
import { Status } from './runs.ts'
import { inheritUndone, reason, stepName } from './steering.ts'

/** What goes wrong, and what is done to many runs at once. */

export const Incidents = named(
  'Incidents',
  object({
    incidents: listOf(
      object({
        fingerprint: text,
        workflow: text,
        name: noted(text, 'Of the error that it began with.'),
        code: maybe(text),
        step: maybe(text),
        says: noted(text, 'What the errors say, without what differs from run to run.'),
        count: whole,
        failed: whole,
        stuck: whole,
        firstAt: time,
        lastAt: time,
        runs: noted(listOf(text), 'Some of them, newest first.'),
      }),
    ),
    isComplete: flag,
  }),
)
export type IncidentsJson = Shaped<typeof Incidents>
export type IncidentJson = IncidentsJson['incidents'][number]

export const IncidentsQuery = query({
  workflow: maybe(noted(text, 'Only of this workflow.')),
  since: maybe(
    noted(
      text,
      "Only of runs that failed or got stuck at or after: ISO 8601, epoch milliseconds, or how long ago: '2h'.",
    ),
  ),
})

const MOMENT = [{ type: 'string', format: 'date-time' }, { type: 'integer' }]
const moment = (name: string, description: string) =>
  tested((time: string | number) => pointInTime(time, Number.POSITIVE_INFINITY, name), { anyOf: MOMENT, description })

const FILTER = {
  status: maybe(Status),
  workflow: maybe(text),
  tag: maybe(text),
  idPrefix: maybe(text),
  from: maybe(moment('from', 'Created at or after.')),
  to: maybe(moment('to', 'Created before.')),
  /** The handler checks it: it has the clock. */
  since: maybe(
    noted(anything as unknown as Shape<string | number>, {
      anyOf: [...MOMENT, { type: 'string' }],
      description: "Ended or got stuck at or after this time, or this long ago: '2h'.",
    }),
  ),
}
const IncidentFilter = request('IncidentFilter', FILTER)
const BulkFilter = request('BulkFilter', {
  ...FILTER,
  incident: maybe(noted(text, 'The fingerprint of an incident.')),
})

/** The client checks whether the numbers are in their bounds. */
const counted = ({ least, most }: { least: number; most: number }, description: string) =>
  tested<number>(() => {}, { type: 'integer', minimum: least, maximum: most, description })

const TERMS = {
  perSecond: maybe(counted(BULK_BOUNDS.perSecond, `Default ${BULK_BOUNDS.perSecond.unless}.`)),
  limit: maybe(counted(BULK_BOUNDS.limit, 'How many runs at most. Default 1,000.')),
  dryRun: maybe(noted(flag, 'Only says how many runs it would be.')),
  reason: maybe(reason),
}
const RERUN_TERMS = {
  from: maybe(stepName('The first step that is done again. Without it, each begins at its beginning.')),
  inheritUndone: maybe(inheritUndone),
}
const OF_INCIDENT = {
  filter: maybe(noted(IncidentFilter, 'Which of its runs. All of it has to be true of a run.')),
}
const OF_FILTER = { filter: BulkFilter }

export const IncidentRequest = request('IncidentRequest', { ...OF_INCIDENT, ...TERMS })
export const IncidentRerunRequest = request('IncidentRerunRequest', { ...OF_INCIDENT, ...TERMS, ...RERUN_TERMS })
export const BulkRequest = request('BulkRequest', { ...OF_FILTER, ...TERMS })
export const BulkRerunRequest = request('BulkRerunRequest', { ...OF_FILTER, ...TERMS, ...RERUN_TERMS })
export type BulkRequestJson = Shaped<typeof BulkRerunRequest>

export const WouldSteer = named(
  'WouldSteer',
  object({
    matches: noted(whole, 'How many runs the filter meets, up to the limit.'),
    isComplete: noted(flag, 'Whether there are no more than the limit.'),
    runs: noted(listOf(text), 'Some of them.'),
    can: noted(whole, 'How many of those that were looked at it can be done to.'),
    refused: noted(
      listOf(object({ why: text, count: whole, runs: listOf(text) })),
      'The others that were looked at, by why it cannot be done to them.',
    ),
    unchecked: noted(whole, 'How many were not looked at more closely.'),
  }),
)
export type WouldSteerJson = Shaped<typeof WouldSteer>
