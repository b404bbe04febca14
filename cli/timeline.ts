import type { ErrorRecord, HistoryEvent } from '../sdk/index.ts'
import { asWritten } from '../sdk/views/as-written.ts'
import { clockTime, span } from '../sdk/views/moments.ts'
import { inLine, paint } from './terminal.ts'

type EventOf<T extends HistoryEvent['type']> = Extract<HistoryEvent, { type: T }>

interface Entry {
  mark: 'begin' | 'done' | 'wait' | 'bad' | 'note'
  what: string
  /** The outcome or detail. */
  detail?: string
}

const MARKS = { begin: '●', done: '✓', wait: '◌', bad: '✗', note: '·' } as const
const COLOURS = { begin: 'cyan', done: 'green', wait: 'yellow', bad: 'red', note: 'dim' } as const
const LONGEST_DETAIL = 90
const NAME_WIDTH = 24

/** One line per event, its time counted from the run's start. */
export function timelineLine(event: HistoryEvent, start: number): string {
  const time = `+${span(Math.max(0, event.at - start))}`.padStart(12)
  return `${paint('dim', time)}  ${eventText(event)}`
}

/** The same without a time. */
export function eventText(event: HistoryEvent): string {
  const { mark, what, detail = '' } = describe(event)
  return `${paint(COLOURS[mark], MARKS[mark])} ${asWritten(what).padEnd(NAME_WIDTH)} ${paint('dim', detail)}`.trimEnd()
}

function describe(event: HistoryEvent): Entry {
  const entryOf = ENTRIES[event.type] as (event: HistoryEvent) => Entry
  return entryOf(event)
}

const until = (event: { at: number; until?: number }) =>
  event.until === undefined ? '' : ` until ${clockTime(event.until, event.at)}`
const attempt = (n: number | undefined) => (n === undefined || n === 1 ? '' : `, attempt ${n}`)
const took = (ms: number | undefined) => (ms === undefined ? '' : ` in ${span(ms)}`)
const gave = (value: unknown) => (value === undefined ? '' : ` → ${short(value)}`)
const because = (error: ErrorRecord) => clip(`${inLine(error.name)}: ${error.message.split('\n')[0]}`)

const decision = ({ won, failed }: { won?: string[]; failed?: string }) =>
  failed === undefined ? won && `won by ${won.map(asWritten).join(', ')}` : `failed with '${asWritten(failed)}'`

const retriedFrom = ({ ops, step }: { ops?: string[]; step?: string }) => {
  const from = ops ?? (step === undefined ? [] : [step])
  return from.length === 0 ? '' : clip(`from ${from.map((op) => `'${asWritten(op)}'`).join(', ')}`)
}

/** Operations that the code did not await, perhaps by mistake. */
const leftBehind = ({ abandoned = [] }: { abandoned?: string[] }) =>
  abandoned.length === 0 ? '' : clip(`; did not wait for ${abandoned.map((op) => `'${asWritten(op)}'`).join(', ')}`)

function short(value: unknown): string {
  return clip(JSON.stringify(value) ?? '')
}

function clip(text: string): string {
  return text.length > LONGEST_DETAIL ? `${text.slice(0, LONGEST_DETAIL - 1)}…` : text
}

const forKey = (key: string | undefined): string => (key === undefined ? '' : ` for '${key}'`)

/** A new kind of event does not compile until it has an entry here. */
const ENTRIES: { [T in HistoryEvent['type']]: (event: EventOf<T>) => Entry } = {
  'run.started': (e) => ({ mark: 'begin', what: 'started', detail: e.input === undefined ? '' : short(e.input) }),
  'step.started': (e) => ({ mark: 'note', what: e.id, detail: `at most once${attempt(e.attempt)}` }),
  'step.queued': (e) => ({
    mark: 'note',
    what: e.id,
    detail: `asked for a permit of limit '${e.limit}'${forKey(e.key)}`,
  }),
  'task.queued': (e) => ({
    mark: 'note',
    what: e.id,
    detail: `asked for a permit of limit '${e.limit}'${forKey(e.key)}`,
  }),
  'step.admitted': (e) => ({ mark: 'note', what: e.id, detail: `got a permit of limit '${e.limit}'${forKey(e.key)}` }),
  'task.admitted': (e) => ({ mark: 'note', what: e.id, detail: `got a permit of limit '${e.limit}'${forKey(e.key)}` }),
  'step.completed': (e) => ({
    mark: 'done',
    what: e.id,
    detail: e.timedOut ? 'not so in time' : `step${took(e.ms)}${attempt(e.attempt)}${gave(e.result)}`,
  }),
  'step.retrying': (e) => ({
    mark: 'bad',
    what: e.id,
    detail: `attempt ${e.attempt} failed, ${because(e.error)}; waits${until(e)}`,
  }),
  'step.checkpoint': (e) => ({ mark: 'note', what: e.id, detail: `checkpoint${gave(e.data)}` }),
  'step.repeating': (e) => ({
    mark: 'wait',
    what: e.id,
    detail: `asks again and again${e.until === undefined ? '' : `, at most${until(e)}`}`,
  }),
  'step.paused': (e) => ({ mark: 'wait', what: e.id, detail: `pauses as '${e.name}'${until(e)}` }),
  'step.failed': (e) => ({
    mark: 'bad',
    what: e.id,
    detail: `gave up after attempt ${e.attempt}: ${because(e.error)}`,
  }),
  'sleep.started': (e) => ({ mark: 'wait', what: e.id, detail: `sleeps${until(e)}` }),
  'sleep.completed': (e) => ({
    mark: 'done',
    what: e.id,
    detail: e.skippedBy === undefined ? 'slept' : 'woken from outside',
  }),
  'wait.started': (e) => ({ mark: 'wait', what: e.id, detail: `waits for signal '${e.signal}'${until(e)}` }),
  'wait.completed': (e) => ({ mark: 'done', what: e.id, detail: `signal${gave(e.payload)}` }),
  'wait.timedOut': (e) => ({ mark: 'note', what: e.id, detail: 'no signal in time' }),
  'signal.rejected': (e) => ({ mark: 'bad', what: e.id, detail: clip(`a signal did not fit: ${e.reason}`) }),
  'request.replied': (e) => ({ mark: 'done', what: e.id, detail: `replied${gave(e.result)}` }),
  'request.refused': (e) => ({ mark: 'note', what: e.id, detail: `refused, ${because(e.error)}` }),
  'callback.created': (e) => ({ mark: 'wait', what: e.id, detail: `waits for a callback${until(e)}` }),
  'callback.rejected': (e) => ({ mark: 'bad', what: e.id, detail: clip(`a result did not fit: ${e.reason}`) }),
  'callback.completed': (e) => ({ mark: 'done', what: e.id, detail: `callback${gave(e.result)}` }),
  'callback.failed': (e) => ({ mark: 'bad', what: e.id, detail: because(e.error) }),
  'child.started': (e) => ({ mark: 'wait', what: e.id, detail: `child ${e.workflow}, run ${e.run}` }),
  'child.detached': (e) => ({ mark: 'done', what: e.id, detail: 'child goes its own way' }),
  'child.completed': (e) => ({ mark: 'done', what: e.id, detail: `child${gave(e.result)}` }),
  'child.failed': (e) => ({ mark: 'bad', what: e.id, detail: because(e.error) }),
  'task.dispatched': (e) => ({ mark: 'wait', what: e.id, detail: `waits for a worker of '${e.task}'` }),
  'task.completed': (e) => ({ mark: 'done', what: e.id, detail: `task${attempt(e.attempt)}${gave(e.result)}` }),
  'task.failed': (e) => ({
    mark: 'bad',
    what: e.id,
    detail: `gave up after attempt ${e.attempt}: ${because(e.error)}`,
  }),
  patch: (e) => ({ mark: 'note', what: e.id, detail: 'takes the new branch' }),
  map: (e) => ({ mark: 'note', what: e.id, detail: `goes over ${e.count} items` }),
  changed: (e) => ({
    mark: 'note',
    what: e.id,
    detail: `the code now says ${e.field} ${short(e.now)}; ${short(e.journaled)} stands`,
  }),
  'run.cancelRequested': (e) => ({ mark: 'note', what: 'asked to stop', detail: e.reason ?? '' }),
  'run.timedOut': () => ({ mark: 'bad', what: 'out of time' }),
  'run.completed': (e) => ({
    mark: 'begin',
    what: 'completed',
    detail: `${e.output === undefined ? '' : short(e.output)}${leftBehind(e)}`,
  }),
  'run.failed': (e) => ({ mark: 'bad', what: 'failed', detail: because(e.error) }),
  'run.cancelled': (e) => ({ mark: 'bad', what: 'cancelled', detail: e.reason ?? '' }),
  'run.terminated': (e) => ({ mark: 'bad', what: 'terminated', detail: e.reason ?? '' }),
  'run.continued': (e) => ({
    mark: 'begin',
    what: 'continued as new',
    detail: e.input === undefined ? '' : short(e.input),
  }),
  'run.retrying': (e) => ({
    mark: 'bad',
    what: 'runs again',
    detail: `attempt ${e.attempt}${until(e)}, after ${because(e.error)}`,
  }),
  decided: (e) => ({
    mark: 'note',
    what: e.id,
    detail: clip(
      [decision(e), e.withdrawn && `withdrew ${e.withdrawn.map(asWritten).join(', ')}`].filter(Boolean).join('; '),
    ),
  }),
  'run.rerun': (e) => ({
    mark: 'note',
    what: 'rerun',
    detail: `of ${e.of}, from ${e.from === undefined ? 'the beginning' : asWritten(e.from)}`,
  }),
  'run.retried': (e) => ({ mark: 'note', what: 'retried by request', detail: retriedFrom(e) }),
}
