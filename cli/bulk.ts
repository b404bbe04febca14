import type { Command } from 'commander'
import { pastMoment, pointInTime } from '../sdk/base/duration.ts'
import { BULK_BOUNDS } from '../sdk/bulk/steer-many.ts'
import type { Bulk, BulkAction, RunStatus, WouldSteer } from '../sdk/index.ts'
import { RUN_STATUSES } from '../sdk/ports/run.ts'
import { wholeArgument } from './arguments.ts'
import { Failure } from './failure.ts'
import type { Session } from './session.ts'

export interface BulkOptions {
  status?: RunStatus
  workflow?: string
  tag?: string
  idPrefix?: string | undefined
  createdFrom?: string | undefined
  to?: string
  since?: string
  incident?: string
  perSecond?: number
  limit?: number
  yes?: boolean
  reason?: string
  /** Of a rerun. */
  from?: string
  inheritUndone?: boolean
}

/** A rerun uses --id and --from itself, for the id of the new run and its first step. */
const NAMES = { short: { id: '--id', from: '--from' }, long: { id: '--id-prefix', from: '--created-from' } }

/** Options that select many runs instead of one by its id. A run must match all filters. */
export function takesMany(command: Command, names: keyof typeof NAMES = 'short'): Command {
  const { perSecond, limit } = BULK_BOUNDS
  return command
    .addOption(command.createOption('--status <status>', 'all runs in this state').choices(RUN_STATUSES))
    .option('--workflow <name>', 'all runs of this workflow')
    .option('--tag <tag>', 'all runs with this tag')
    .option(`${NAMES[names].id} <prefix>`, 'all runs whose id begins with this')
    .option(`${NAMES[names].from} <time>`, 'only those created at or after this time (ISO 8601)')
    .option('--to <time>', 'only those created before this time')
    .option('--since <when>', 'only those that ended or got stuck since then: a time, or how long ago, as in 2h')
    .option('--incident <fingerprint>', 'all runs of an incident; `overwinter incidents` lists them')
    .option(
      '--per-second <count>',
      `how many a second, ${perSecond.least} to ${perSecond.most} (default ${perSecond.unless})`,
      wholeArgument,
    )
    .option('--limit <count>', `how many at most, up to ${limit.most} (default ${limit.unless})`, wholeArgument)
    .option('--yes', 'do it, where many runs are meant')
}

/** Shows how many runs it would affect, and acts only with --yes. */
export async function steerMany(session: Session, action: BulkAction, options: BulkOptions): Promise<void> {
  const { client } = session
  const bulk = bulkOf(action, options)
  if (Object.keys(bulk.filter).length === 0)
    throw new Failure(
      `say which run to ${action}, by its id, or which runs, with --status, --workflow, --tag, --since or --incident`,
    )
  const would = await client.wouldSteer(bulk)
  if (would.matches === 0)
    throw new Failure('no run is meant by that; `overwinter runs` lists them, with the same filters')
  const refused = would.refused.map(({ why, count }) => `\n${count} ${why}`).join('')
  if (would.can === 0 && would.unchecked === 0)
    throw new Failure(`this would ${action} none of ${runsOf(would.matches)}:${refused}`)
  if (!options.yes) throw new Failure(`${promise(action, would)}; say --yes to do it${refused}`)
  const started = await client.steerMany(bulk)
  const text =
    `run ${started.runId} does it to ${some(would)}; \`overwinter show ${started.runId}\` says how ` +
    `far it is, \`overwinter cancel ${started.runId}\` stops it${refused}`
  session.print(text, { ...started, ...would })
}

function promise(action: BulkAction, would: WouldSteer): string {
  const { matches, isComplete, runs, refused } = would
  const named = runs.filter((id) => !refused.some((group) => group.runs.includes(id)))
  const which = named.length === 0 ? '' : ` (${named.slice(0, 5).join(', ')}${matches > 5 ? ', …' : ''})`
  return (
    `this would ${action} ` +
    `${some(would)}${which}${isComplete ? '' : ', and leave those behind them: --limit says how many at most'}`
  )
}

function some({ matches, can, refused, unchecked }: WouldSteer): string {
  if (refused.length === 0) return runsOf(matches)
  return `${can} of ${runsOf(matches - unchecked)}${unchecked > 0 ? `, and as many as can be of ${unchecked} more` : ''}`
}

const runsOf = (count: number): string => `${count} run${count === 1 ? '' : 's'}`

function bulkOf(action: BulkAction, options: BulkOptions): Bulk {
  const {
    status,
    workflow,
    tag,
    idPrefix,
    createdFrom,
    to,
    since,
    incident,
    perSecond,
    limit,
    reason,
    from,
    inheritUndone,
  } = options
  const time = (text: string | undefined, name: string) =>
    text === undefined ? undefined : pointInTime(text, Number.POSITIVE_INFINITY, `--${name}`)
  const filter = {
    ...{ status, workflow, tag, idPrefix, incident },
    ...{ from: time(createdFrom, 'created-from'), to: time(to, 'to') },
    since: since === undefined ? undefined : pastMoment(since, Date.now(), '--since'),
  }
  return { action, filter: given(filter), ...given({ perSecond, limit, reason, from, inheritUndone }) }
}

const given = <T extends object>(fields: T) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>
  }
