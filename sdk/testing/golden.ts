import { AssertionError } from 'node:assert'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { InvalidInputError } from '../base/errors.ts'
import { isTerminal, type JournalEvent } from '../base/events.ts'
import { FORMAT } from '../base/names.ts'
import { type HistoryEvent, inputAsRecorded } from '../client/history.ts'
import { replaySilently } from '../engine/silent-replay.ts'
import type { HistoryEventJson } from '../http-api/run-details.ts'
import { eventFromJson } from '../http-client/wire.ts'
import type { RunRecord } from '../ports/run.ts'
import type { AnyWorkflow } from '../workflow.ts'

/**
 * A history as a golden file keeps it: times count from the start. Stacks, durations, positions, visits and
 * the maximum of attempts are left out, because no replay reads them.
 */
export function normaliseHistory(history: readonly HistoryEvent[]): Record<string, unknown>[] {
  const start = history[0]?.at ?? 0
  return history.map((event) => {
    const copy = JSON.parse(
      JSON.stringify(event, (key, value: unknown) => (key === 'stack' ? undefined : value)),
    ) as Record<string, unknown>
    copy.at = event.at - start
    delete copy.n
    delete copy.visit
    if (typeof copy.until === 'number') copy.until = copy.until - start
    if (String(copy.type).startsWith('step.')) delete copy.ms
    if (copy.type === 'step.retrying') delete copy.of
    return copy
  })
}

/** A run's history: from `run.history()`, `overwinter history <run> --json` or `GET /runs/{id}/history`. */
export type RecordedHistory = readonly HistoryEvent[] | { events: readonly unknown[] }

function eventsOf(recorded: RecordedHistory): HistoryEvent[] {
  const events = (recorded as { events?: unknown } | null)?.events ?? recorded
  if (!Array.isArray(events))
    throw new InvalidInputError(
      'a history is a list of events, as run.history() gives it, or what `overwinter history <run> --json` ' +
        'prints, parsed',
    )
  return (events as (HistoryEvent | HistoryEventJson)[]).map((event) => {
    if ('omitted' in event && event.omitted)
      throw new InvalidInputError(
        `this history lacks the payloads of '${event.type}', which a replay needs; ask for it with payloads`,
      )
    return typeof event.at === 'string' ? eventFromJson(event as HistoryEventJson) : (event as HistoryEvent)
  })
}

/**
 * A matcher: with vitest `import 'overwinter/testing/vitest'`, with jest `expect.extend({ toMatchHistory })`, then
 * `expect(await handle.history()).toMatchHistory('golden/order.json')`. The file is written when it does not exist,
 * or when the environment variable UPDATE_HISTORIES is set.
 */
export function toMatchHistory(
  history: RecordedHistory,
  file: string,
): { pass: boolean; message: () => string; actual?: unknown; expected?: unknown } {
  const actual = normaliseHistory(eventsOf(history))
  if (!existsSync(file) || process.env.UPDATE_HISTORIES) {
    if (process.env.CI && !existsSync(file))
      return { pass: false, message: () => `${file} does not exist; record it and commit it` }
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `[\n${actual.map((event) => `  ${JSON.stringify(event)}`).join(',\n')}\n]\n`)
  }
  const expected = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>[]
  // Files recorded before histories contained the parsed input are compared without it.
  if (expected[0]?.parsed === undefined) delete actual[0]?.parsed
  const differsAt = [...Array(Math.max(actual.length, expected.length)).keys()].find(
    (i) => JSON.stringify(actual[i]) !== JSON.stringify(expected[i]),
  )
  return {
    pass: differsAt === undefined,
    message: () =>
      `the history differs from ${file} at event ${differsAt}:\n  recorded ` +
      `${JSON.stringify(expected[differsAt!])}\n  now      ${JSON.stringify(actual[differsAt!])}\nIf that is ` +
      'meant, record it anew with UPDATE_HISTORIES=1',
    actual,
    expected,
  }
}

/** `toMatchHistory` for test runners without matchers, `node:test` among them: throws an AssertionError. */
export function assertHistory(history: RecordedHistory, file: string): void {
  const { pass, message, actual, expected } = toMatchHistory(history, file)
  if (!pass) throw new AssertionError({ message: message(), actual, expected, operator: 'assertHistory' })
}

/**
 * Replays a recorded history against today's code, as a run that was asleep across a deployment would. Throws the
 * NonDeterminismError that would park such a run; returns the operations the code asks for next.
 */
export async function replayHistory(
  workflow: AnyWorkflow,
  recorded: RecordedHistory,
  upTo?: number,
): Promise<{ id: string; kind: string }[]> {
  const history = eventsOf(recorded)
  const started = history.find((event) => event.type === 'run.started')
  const at = started?.at ?? history[0]?.at ?? 0
  const run: RunRecord = {
    id: 'replayed',
    workflow: workflow.name,
    version: workflow.version,
    status: 'running',
    format: FORMAT,
    ...(started ? inputAsRecorded(started) : { input: undefined, reparse: true }),
    generation: 0,
    attempt: 1,
    baseSeq: 0,
    epoch: 1,
    stimulus: 0,
    secret: 'replayed',
    tags: [],
    createdAt: at,
    startedAt: at,
  }
  const events = history
    .slice(0, upTo)
    .filter((event) => event.type !== 'run.started' && !isTerminal(event as JournalEvent))
  const frames = events.map((event, index) => ({
    seq: index + 1,
    at: event.at,
    epoch: 1,
    events: [event as JournalEvent],
  }))
  const replay = await replaySilently(workflow, run, frames)
  if (replay.violation) throw replay.violation
  return replay
    .takeFresh()
    .filter((operation) => !operation.settled)
    .map(({ id, kind }) => ({ id, kind }))
}
