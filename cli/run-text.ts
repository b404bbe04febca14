import type { QueueView } from '../sdk/client/run-view.ts'
import type { ErrorRecord, HistoryEvent, RunStatus, RunView } from '../sdk/index.ts'
import type { RunSummary } from '../sdk/ports/run-lists.ts'
import { runIdAsWritten } from '../sdk/views/as-written.ts'
import { awaited } from '../sdk/views/awaited.ts'
import { clockTime, fromNow, span } from '../sdk/views/moments.ts'
import { turnOf } from '../sdk/views/turn.ts'
import { refusalOfRetry } from '../sdk/views/why.ts'
import { inLine, paint } from './terminal.ts'

const COLOURS: Record<RunStatus, 'cyan' | 'yellow' | 'green' | 'red' | 'dim'> = {
  pending: 'dim',
  queued: 'dim',
  running: 'cyan',
  sleeping: 'yellow',
  waiting: 'yellow',
  stuck: 'red',
  completed: 'green',
  failed: 'red',
  cancelled: 'dim',
  terminated: 'dim',
}
const HEADINGS = ['RUN', 'WORKFLOW', 'STATUS', 'CREATED', 'WAITS FOR']
const LONGEST_ERROR = 80

/** What the run waits for, and until when; empty for an ended run. */
export function waitsFor(run: RunSummary & { queue?: QueueView }, now: number): string {
  // Only the run itself says at which limit it is queued.
  if (run.queue) return turnOf(run.queue, now)
  if (run.status === 'queued') return 'its turn'
  const when = (until: number | undefined) =>
    until === undefined ? '' : ` until ${clockTime(until, now)} (${fromNow(until, now)})`
  const isForCode = run.waitingFor?.some(({ kind }) => kind === 'code')
  if (run.status === 'pending' && run.wakeAt !== undefined && run.wakeAt > now && !isForCode)
    return (
      `${run.attempt > 1 ? `its attempt ${run.attempt}` : 'its start'} at ${clockTime(run.wakeAt, now)} ` +
      `(${fromNow(run.wakeAt, now)})`
    )
  if (run.status !== 'sleeping' && run.status !== 'waiting' && !isForCode) return ''
  return (run.waitingFor ?? []).map((waiting) => awaited(waiting) + when(waiting.until)).join(', ')
}

export function statusText(status: RunStatus, width = 0): string {
  return paint(COLOURS[status], status.padEnd(width))
}

export function runTable(runs: RunSummary[], now: number): string {
  const cells = (run: RunSummary) => [
    runIdAsWritten(run.runId),
    run.workflow,
    run.status,
    fromNow(run.createdAt, now),
    troubleOf(run) || waitsFor(run, now),
  ]
  const rows = runs.map((run) => cells(run).map(inLine))
  const widths = HEADINGS.map((heading, column) => Math.max(heading.length, ...rows.map((row) => row[column]!.length)))
  const line = (cells: string[]) => cells.map((cell, column) => cell.padEnd(widths[column]!)).join('  ')
  const coloured = (row: string[], run: RunSummary) =>
    line(row).replace(run.status.padEnd(widths[2]!), statusText(run.status, widths[2]!))
  return [paint('dim', line(HEADINGS).trimEnd()), ...rows.map((row, i) => coloured(row, runs[i]!).trimEnd())].join('\n')
}

function troubleOf({ status, error }: RunSummary): string {
  if (!error || (status !== 'failed' && status !== 'stuck')) return ''
  const text = `${error.name}: ${error.message.split('\n')[0]}`
  return text.length > LONGEST_ERROR ? `${text.slice(0, LONGEST_ERROR - 1)}…` : text
}

/** The run in a few lines, without its history. */
export function runHead(run: RunView, now: number): string {
  const field = (name: string, value: string) => `  ${paint('dim', name.padEnd(11))}${value}`
  const lines = [
    `${paint('bold', runIdAsWritten(run.runId))}  ${run.workflow} v${run.version}  ${statusText(run.status)}`,
  ]
  lines.push(field('created', `${clockTime(run.createdAt, now)} (${fromNow(run.createdAt, now)})`))
  if (run.tags.length > 0) lines.push(field('tags', run.tags.join(', ')))
  if (run.parent) lines.push(field('parent', run.parent.runId))
  if (run.generation > 0) lines.push(field('generation', String(run.generation)))
  if (run.progress !== undefined) lines.push(field('progress', JSON.stringify(run.progress)))
  return lines.join('\n')
}

/** How the run ended, or what it waits for and until when; and what can be done about it. */
export function runEnd(run: RunView, history: readonly HistoryEvent[], now: number): string {
  const took =
    run.endedAt !== undefined && run.startedAt !== undefined ? ` after ${span(run.endedAt - run.startedAt)}` : ''
  if (run.status === 'completed')
    return `${statusText(run.status)}${took}: ${JSON.stringify(run.output) ?? 'no output'}`
  if (run.status === 'failed')
    return `${statusText(run.status)}${took}\n${errorText(run.error)}\n${afterFailure(run, history)}`
  if (run.status === 'stuck')
    return `${statusText(run.status)}\n${errorText(run.error)}\nOnce the code is fixed: overwinter retry ${run.runId}`
  const waiting = waitsFor(run, now) + keptText(run.keptSignals)
  return waiting === '' ? `${statusText(run.status)}${took}` : `${statusText(run.status)}: waits for ${waiting}`
}

/** Suggests `retry` only if it would be accepted. */
function afterFailure({ runId }: RunView, history: readonly HistoryEvent[]): string {
  const refusal = refusalOfRetry(runId, history)
  return refusal ?? `To let it go on from there: overwinter retry ${runId}`
}

/** Signals that the run does not wait for: a name may be misspelt. */
function keptText(kept: RunView['keptSignals']): string {
  const names = Object.entries(kept ?? {}).map(([name, count]) => `'${name}'${count === 1 ? '' : ` (${count} times)`}`)
  return names.length === 0 ? '' : `\n  Signals that came and that it does not wait for: ${names.join(', ')}`
}

function errorText(error: ErrorRecord | undefined): string {
  const lines: string[] = []
  for (let e = error; e; e = e.cause)
    lines.push(`  ${lines.length === 0 ? '' : 'because of '}${e.stack ?? `${inLine(e.name)}: ${e.message}`}`)
  return lines.join('\n')
}
