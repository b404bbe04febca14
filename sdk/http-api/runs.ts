import { RUN_STATUSES, type RunStatus, type Waiting } from '../ports/run.ts'
import { ErrorShape } from './errors.ts'
import {
  among,
  anything,
  eachOf,
  flag,
  listOf,
  maybe,
  named,
  noted,
  object,
  only,
  recordOf,
  type Shape,
  type Shaped,
  text,
  time,
  whole,
} from './kit.ts'
import { Count, Scope } from './scope.ts'

/** What the API says of runs. `encode.ts` writes them, `http-client/wire.ts` reads them. */

export const Status: Shape<RunStatus> = named('Status', among(RUN_STATUSES))

const WAITING_KINDS = eachOf<Waiting['kind']>({
  sleep: true,
  signal: true,
  callback: true,
  child: true,
  task: true,
  retry: true,
  pause: true,
  until: true,
  code: true,
  limit: true,
})

const SUMMARY = {
  runId: text,
  workflow: text,
  version: whole,
  status: Status,
  error: maybe(ErrorShape),
  createdAt: time,
  startedAt: maybe(time),
  endedAt: maybe(time),
  stuckAt: maybe(noted(time, 'When it got stuck, if it is.')),
  wakeAt: maybe(time),
  waitingFor: maybe(
    listOf(
      object({
        kind: WAITING_KINDS,
        id: text,
        on: maybe(text),
        key: maybe(text),
        isLeft: maybe(noted(only(true), 'Of a limit: the run gave up its place in the queue when it was paused.')),
        until: maybe(time),
        since: maybe(time),
        round: maybe(whole),
        failures: maybe(whole),
      }),
    ),
  ),
  tags: listOf(text),
  parent: maybe(object({ runId: text, op: text, generation: maybe(whole) })),
  generation: whole,
  attempt: whole,
}

/** A run in a list: no payloads. */
export const RunSummary = named('RunSummary', object(SUMMARY))
export type RunSummaryJson = Shaped<typeof RunSummary>

const Queue = object({
  limit: text,
  key: maybe(text),
  place: Count,
  expectedAt: maybe(time),
  paused: flag,
  pause: maybe(noted(Scope, 'What else is paused, and holds the run back when its turn has come.')),
  unreadable: maybe(
    noted(
      listOf(text),
      'What is stored of the limiter and cannot be read. The run waits until it is put right or dropped.',
    ),
  ),
})

export const Run = named(
  'Run',
  object({
    ...SUMMARY,
    input: maybe(anything),
    output: maybe(anything),
    keptSignals: maybe(
      noted(
        recordOf(whole),
        'Signals that were sent and that the run has not waited for so far, by name. Only where one run is asked for.',
      ),
    ),
    trace: maybe(
      noted(text, 'The traceparent of the caller that made the run, or this generation of it, where that is known.'),
    ),
    logs: maybe(noted(text, 'Where what it has logged can be read. Only where one run is asked for, and only on AWS.')),
    progress: maybe(anything),
    heartbeat: maybe(object({ step: text, at: time, details: maybe(anything) })),
    queue: maybe(
      noted(
        Queue,
        'Of a queued run: the limit or the pause that it is queued for, and its place in that queue, from 1. ' +
          'Of a pending one: the rate that it was the first to be over, which lets it start then. ' +
          'Only where one run is asked for.',
      ),
    ),
    omitted: maybe(noted(listOf(text), 'Payloads that were left out, as was asked for.')),
  }),
)
export type RunJson = Shaped<typeof Run>

export const RunPage = named('RunPage', object({ runs: listOf(RunSummary), cursor: maybe(text) }))
export type RunPageJson = Shaped<typeof RunPage>

/** What became of a request to start or to steer a run. */
export const Started = named('Started', object({ runId: text, status: Status }))
export type StartedJson = Shaped<typeof Started>

export const Counts = named('Counts', object({ counts: recordOf(Count) }))
export type CountsJson = Shaped<typeof Counts>
