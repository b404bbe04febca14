import { type Duration, milliseconds, pointInTime } from '../base/duration.ts'
import { RUN_STATUSES } from '../ports/run.ts'
import { among, fitting, maybe, noted, query, tested, text } from './kit.ts'
import { LONGEST_WAIT_MS, momentOf, PLACE } from './terms.ts'

/** What routes that read runs take in their query. */

const waited = (description: string) =>
  maybe(tested((wait: Duration) => milliseconds(wait, 'wait'), { type: 'string', description }))

const CUT = `at most this long: '20s'. Cut to ${LONGEST_WAIT_MS / 1000} s`

const WAIT = {
  wait: waited(`Holds the request until the run has ended or is stuck, ${CUT}.`),
}
const PAYLOADS = {
  payloads: maybe(
    fitting<'omit'>((value) => value === 'omit', "must be 'omit', or not be there", {
      enum: ['omit'],
      description:
        '`omit` leaves out what users pass around: inputs, outputs, results, signals. `omitted` ' +
        'names what was left out.',
    }),
  ),
}
export const Waits = query(WAIT)
export const AskQuery = query({
  wait: waited(`Holds the request until there is a reply, ${CUT}, which is the default.`),
})
export const RunQuery = query({ ...WAIT, ...PAYLOADS })

const moment = (name: string, description: string) =>
  maybe(
    tested((time: string) => pointInTime(momentOf(time), Number.POSITIVE_INFINITY, name), {
      type: 'string',
      description: `${description}: ISO 8601, or epoch milliseconds.`,
    }),
  )
const LIMIT = /^(?:[1-9]\d{0,2}|1000)$/

export const RunFilter = query({
  workflow: maybe(noted(text, 'Only runs of this workflow.')),
  status: maybe(noted(among(RUN_STATUSES), 'Only runs in this state.')),
  limit: maybe(
    fitting<string>((value) => LIMIT.test(String(value)), 'must be a whole number from 1 to 1000', {
      type: 'integer',
      minimum: 1,
      maximum: 1000,
      description: 'How many, 1 to 1000. Default 50.',
    }),
  ),
  tag: maybe(noted(text, 'Only runs with this tag.')),
  idPrefix: maybe(noted(text, 'Only runs whose id begins with this.')),
  from: moment('from', 'Created at or after'),
  to: moment('to', 'Created before'),
  internal: maybe(
    fitting<'show' | 'hide'>((value) => value === 'show' || value === 'hide', 'must be show or hide', {
      enum: ['show', 'hide'],
      description:
        '`hide` leaves out what Overwinter itself runs, schedules for example, unless a workflow or ' +
        'an id is asked for.',
    }),
  ),
  cursor: maybe(noted(text, 'The cursor of the page before, unchanged.')),
})

export const StepsQuery = query({
  ofCode: maybe(
    noted(text, {
      enum: ['none'],
      description: '`none` answers 204 for a run of code, which has no steps to list. Otherwise that is a conflict.',
    }),
  ),
})

const HISTORY_CURSOR = /^\d{1,9}\.\d{1,9}\.\d{1,9}$/

export const HistoryQuery = query({
  after: maybe(
    fitting<string>(
      (value) => PLACE.test(String(value)),
      "must be the 'n' of an event of this history, '12.0' for example",
      {
        type: 'string',
        description: "Only what came behind this event: its 'n'. A caller that asks again and again follows a run.",
      },
    ),
  ),
  ...PAYLOADS,
  cursor: maybe(
    fitting<string>((value) => HISTORY_CURSOR.test(String(value)), 'must be the cursor of the page before, unchanged', {
      type: 'string',
      description: 'The cursor of the page before, unchanged.',
    }),
  ),
})

export const ReplayQuery = query({
  upTo: maybe(noted(text, "The 'n' of the event. Default: the last one.")),
})
