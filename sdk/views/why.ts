import type { ErrorRecord } from '../base/events.ts'
import type { RunView } from '../client/client.ts'
import type { HistoryEvent } from '../client/history.ts'
import { retryPlan } from '../engine/undone.ts'
import type { LimitSpec } from '../flow/limiter/limit.ts'
import type { Waiting } from '../ports/run.ts'
import { awaited } from './awaited.ts'
import { clockTime } from './moments.ts'
import { nearest } from './nearest.ts'
import { type Place, placeInWords, remediesInQueue, scopeInWords, turnOf } from './turn.ts'

/** Why a run does not move, for people: each part is a sentence. */
export interface Why {
  /** What it waits for: `waits for signal 'approved'`. */
  reason: string
  waits: WaitReason[]
  /** What can be done about it, most likely first. */
  remedies: Remedy[]
}

export interface WaitReason {
  kind: Waiting['kind'] | 'start' | 'queue'
  /** Of the operation. */
  id: string
  /** The signal's name, the child's run id, the task's type, or the limit's name. */
  on?: string
  what: string
  since?: number
  until?: number
  /** How long ago it was due without a runner having claimed it, in milliseconds. */
  overdueMs?: number
  /** What is known about it. */
  evidence: string[]
}

export interface Remedy {
  what: string
  /** The shell command, if there is one. */
  command?: string
}

/** Facts that the run's own record does not contain. */
export interface Facts {
  /** Children that it waits for, by their run id. */
  children?: ReadonlyMap<string, Pick<RunView, 'runId' | 'status' | 'error'> & { reason?: string }>
  /** How many workers are alive, by the type of task that they take. */
  workers?: ReadonlyMap<string, number>
  /** Where its operations are in their queues, by their id. */
  places?: ReadonlyMap<string, Place>
  /** The numbers in force of limits that it is queued at, by name. */
  limits?: ReadonlyMap<string, LimitSpec>
}

/** How long a runner may take to claim a run that is due. */
const GRACE_MS = 60_000

export function why(run: RunView, events: readonly HistoryEvent[], facts: Facts, now: number): Why {
  if (run.status === 'stuck' || run.status === 'failed') return ofTrouble(run, events)
  if (run.status === 'completed') return { reason: 'has completed', waits: [], remedies: [] }
  if (run.status === 'cancelled' || run.status === 'terminated')
    return { reason: `was ${run.status}${because(endReason(events))}`, waits: [], remedies: [] }
  // A queued run no longer waits for what it waited for before.
  const waits =
    run.status === 'queued'
      ? turn(run, now)
      : (run.waitingFor ?? []).map((waiting) => explain(waiting, run, events, facts, now))
  if (run.status === 'pending') waits.unshift(...startOf(run, now))
  const remedies = [
    ...new Map(waits.flatMap((wait) => remediesFor(wait, run, facts)).map((remedy) => [remedy.what, remedy])).values(),
  ]
  return { reason: reasonOf(run, waits), waits, remedies }
}

function reasonOf(run: RunView, waits: readonly WaitReason[]): string {
  if (run.status === 'running')
    return `is running${run.heartbeat ? `; step '${run.heartbeat.step}' sent the last heartbeat` : ''}`
  if (waits.length === 0) return run.status === 'pending' ? 'is about to start' : `is ${run.status}`
  const [first, ...others] = waits
  return `waits for ${first!.what}${others.length === 0 ? '' : ` and ${others.length} more`}`
}

function explain(
  waiting: Waiting,
  run: RunView,
  events: readonly HistoryEvent[],
  facts: Facts,
  now: number,
): WaitReason {
  const { kind, id, on, until } = waiting
  const since = waiting.since ?? openedAt(id, events)
  const overdueMs = until === undefined ? 0 : now - until
  return {
    kind,
    id,
    ...(on !== undefined && { on }),
    what: awaited(waiting),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
    ...(overdueMs > GRACE_MS && { overdueMs }),
    evidence: EVIDENCE[kind]?.(waiting, { run, events, facts, now }) ?? [],
  }
}

interface Known {
  run: RunView
  events: readonly HistoryEvent[]
  facts: Facts
  now: number
}

const EVIDENCE: { [K in Waiting['kind']]?: (waiting: Waiting, known: Known) => string[] } = {
  signal: signalEvidence,
  retry: ({ id }, { events }) => {
    const last = lastOf('step.retrying', id, events)
    return !last
      ? []
      : [`attempt ${last.attempt}${last.of === undefined ? '' : ` of ${last.of}`} failed: ${oneLine(last.error)}`]
  },
  pause: ({ id }, { events }) => {
    const last = lastOf('step.paused', id, events)
    return last ? [`the step pauses as '${last.name}'`] : []
  },
  until: ({ round, failures }) => [
    `${round ?? 0} looks in vain${failures ? `, the last ${failures} of them failed` : ''}`,
  ],
  child: ({ id, on }, { facts }) => {
    const child = facts.children?.get(on ?? id)
    if (!child) return []
    return [
      `it is ${child.status}${child.error ? `: ${oneLine(child.error)}` : ''}${child.reason === undefined ? '' : `; it ${child.reason}`}`,
    ]
  },
  task: ({ on }, { facts }) => {
    const alive = facts.workers?.get(on ?? '') ?? 0
    if (!facts.workers) return []
    return [
      alive === 0
        ? `no worker that takes '${on}' has sent a heartbeat`
        : `${alive} worker${alive === 1 ? '' : 's'} that take${alive === 1 ? 's' : ''} '${on}' ` +
          `${alive === 1 ? 'is' : 'are'} alive`,
    ]
  },
  limit: ({ id, on }, { facts, now }) => {
    const found = facts.places?.get(id)
    if (!found) return []
    const paused = [...(found.paused ? [`limit '${on}'`] : []), ...(found.pause ? [scopeInWords(found.pause)] : [])]
    const rests =
      found.restUntil === undefined
        ? []
        : [`it is in a cooldown until ${clockTime(found.restUntil, now)}, which the service behind it asked for`]
    return [
      ...damageOf(found),
      [...paused.map((what) => `${what} is paused`), ...rests, placeInWords(found, now)].join('; '),
    ]
  },
  callback: ({ id }, { events }) => {
    const last = lastOf('callback.rejected', id, events)
    return last ? [`an answer came that did not fit: ${firstLine(last.reason)}`] : []
  },
}

function signalEvidence({ id, on = id }: Waiting, { run, events }: Known): string[] {
  const evidence: string[] = []
  const rejected = lastOf('signal.rejected', id, events)
  if (rejected) evidence.push(`one came that did not fit: ${firstLine(rejected.reason)}`)
  const kept = Object.keys(run.keptSignals ?? {}).filter((name) => name !== on)
  const alike = nearest(on, kept)
  if (alike !== undefined)
    evidence.push(`signal '${alike}' came, which it does not wait for: is one of the two misspelt?`)
  else if (kept.length > 0)
    evidence.push(`these came, which it does not wait for: ${kept.map((name) => `'${name}'`).join(', ')}`)
  return evidence
}

function remediesFor(
  { kind, id, on = id, overdueMs }: WaitReason,
  { runId, queue }: RunView,
  { places, limits }: Facts,
): Remedy[] {
  const late: Remedy[] =
    overdueMs === undefined
      ? []
      : [{ what: 'its time has passed and no runner has claimed it: is a runner alive?', command: 'overwinter doctor' }]
  switch (kind) {
    case 'sleep':
      return [...late, { what: 'end its sleeps now', command: `overwinter wake ${runId}` }]
    case 'signal':
      return [...late, { what: 'send it what it waits for', command: `overwinter signal ${runId} ${on} --payload '…'` }]
    case 'callback':
      return [...late, { what: 'see its link, and answer', command: `overwinter callbacks list ${runId}` }]
    case 'child':
      return [...late, { what: 'look at the child', command: `overwinter why ${on}` }]
    case 'task':
      return [...late, { what: 'start a worker that takes it; who is alive', command: 'overwinter workers' }]
    case 'queue':
      return [...late, ...(queue ? remediesInQueue(queue, limits?.get(on)) : [])]
    case 'limit':
      return [...late, ...remediesInQueue({ paused: false, ...places?.get(id), limit: on }, limits?.get(on))]
    case 'code':
      return [...late, { what: 'deploy the code that it began with, or start a program that has it' }]
    default:
      return late
  }
}

function turn({ queue }: RunView, now: number): WaitReason[] {
  return queue ? [{ kind: 'queue', id: '', on: queue.limit, what: turnOf(queue, now), evidence: damageOf(queue) }] : []
}

/** The damage that keeps its limiter from granting permits. */
const damageOf = ({ unreadable = [] }: Pick<Place, 'unreadable'>): string[] =>
  unreadable.map((problem) => `cannot be read: ${problem}`)

function startOf(run: RunView, now: number): WaitReason[] {
  if (run.wakeAt === undefined || run.waitingFor?.some(({ kind }) => kind === 'code')) return []
  const overdueMs = now - run.wakeAt
  const what = run.attempt > 1 ? `attempt ${run.attempt} of the whole run` : 'its start'
  const [promised = { kind: 'start' as const, id: '', what }] = turn(run, now)
  return [
    { evidence: [], ...promised, since: run.createdAt, until: run.wakeAt, ...(overdueMs > GRACE_MS && { overdueMs }) },
  ]
}

function ofTrouble(run: RunView, events: readonly HistoryEvent[]): Why {
  const error = run.error ?? { name: 'Error', message: 'it does not say why' }
  const refusal = run.status === 'failed' ? refusalOfRetry(run.runId, events) : undefined
  const what =
    run.status === 'stuck'
      ? 'mend the code or what it depends on, deploy, and let it try again'
      : 'let it go on from what failed'
  const remedies: Remedy[] = [
    refusal === undefined
      ? { what, command: `overwinter retry ${run.runId}` }
      : { what: refusal, command: `overwinter rerun ${run.runId}` },
  ]
  return { reason: `${run.status === 'stuck' ? 'is stuck' : 'failed'}: ${oneLine(error)}`, waits: [], remedies }
}

/** Why `retry` would refuse; undefined if it would accept. */
export function refusalOfRetry(runId: string, events: readonly HistoryEvent[]): string | undefined {
  const plan = retryPlan(
    runId,
    events.filter((event) => event.type !== 'run.started'),
  )
  return 'refusal' in plan ? plan.refusal : undefined
}

function endReason(events: readonly HistoryEvent[]): string | undefined {
  const last = events.at(-1)
  return last && 'reason' in last ? last.reason : undefined
}

/** The last event of this type that speaks of the operation. */
function lastOf<T extends HistoryEvent['type']>(
  type: T,
  id: string,
  events: readonly HistoryEvent[],
): Extract<HistoryEvent, { type: T }> | undefined {
  return events.findLast(
    (event): event is Extract<HistoryEvent, { type: T }> => event.type === type && 'id' in event && event.id === id,
  )
}

const OPENS =
  /^(?:wait|sleep|child)\.started$|^callback\.created$|^task\.dispatched$|^step\.(?:retrying|paused|repeating)$/

function openedAt(id: string, events: readonly HistoryEvent[]): number | undefined {
  return events.findLast((event) => 'id' in event && event.id === id && OPENS.test(event.type))?.at
}

const because = (reason: string | undefined): string => (reason === undefined ? '' : `: ${reason}`)
const firstLine = (text: string): string => text.split('\n')[0]!
const oneLine = ({ name, message }: Pick<ErrorRecord, 'name' | 'message'>): string => `${name}: ${firstLine(message)}`
