import type { OpKind } from '../base/events.ts'
import type { HistoryEvent } from '../client/history.ts'
import type { StepStatus, StepView } from '../definitions/step-states.ts'
import type { WaitReason } from '../views/why.ts'
import { ErrorShape } from './errors.ts'
import {
  anything,
  eachOf,
  listOf,
  maybe,
  named,
  noted,
  object,
  openObject,
  type Shape,
  type Shaped,
  text,
  time,
  whole,
} from './kit.ts'

/** What the API says of one run beside the run itself: its history, its steps, why it stands where it stands. */

export const Event = named(
  'Event',
  openObject({
    type: text as unknown as Shape<HistoryEvent['type']>,
    at: time,
    n: noted(text, 'Its place in the history.'),
    visit: maybe(noted(whole, 'Which visit of a runner observed it.')),
    until: maybe(time),
    error: maybe(ErrorShape),
    omitted: maybe(noted(listOf(text), 'Payloads that were left out, as was asked for.')),
  }),
)
export type HistoryEventJson = Shaped<typeof Event>

export const History = named(
  'History',
  object({
    events: listOf(Event),
    generation: noted(whole, 'Each generation of a run has a history of its own.'),
    cursor: maybe(text),
  }),
)
export type HistoryPageJson = Shaped<typeof History>

const STEP_STATUSES = eachOf<StepStatus>({
  PENDING: true,
  RUNNING: true,
  WAITING: true,
  COMPLETED: true,
  FAILED: true,
  SKIPPED: true,
})

const Step = object({
  name: text,
  type: text as unknown as Shape<StepView['type']>,
  after: listOf(text),
  status: STEP_STATUSES,
  startedAt: maybe(time),
  endedAt: maybe(time),
  wakeAt: maybe(time),
})
export type StepJson = Shaped<typeof Step>
export const Steps = named('Steps', object({ steps: listOf(Step) }))
export type StepsJson = Shaped<typeof Steps>

export const Why = named(
  'Why',
  object({
    reason: text,
    waits: listOf(
      object({
        kind: text as unknown as Shape<WaitReason['kind']>,
        id: text,
        on: maybe(text),
        what: text,
        since: maybe(time),
        until: maybe(time),
        overdueMs: maybe(whole),
        evidence: listOf(text),
      }),
    ),
    remedies: listOf(object({ what: text, command: maybe(text) })),
  }),
)
export type WhyJson = Shaped<typeof Why>

export const Replayed = named(
  'Replayed',
  object({
    upTo: text,
    events: noted(whole, 'How many it had seen by then.'),
    open: listOf(
      object({
        id: text,
        kind: text as unknown as Shape<OpKind>,
        at: maybe(noted(text, 'file:line:column of the call.')),
      }),
    ),
    ended: maybe(object({ output: maybe(anything), error: maybe(ErrorShape) })),
    changed: maybe(noted(text, 'Why the code of today does not get there.')),
    source: maybe(object({ file: text, line: whole, lines: listOf(object({ n: whole, text })) })),
  }),
)
export type ReplayedJson = Shaped<typeof Replayed>
