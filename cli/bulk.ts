import type { Command } from 'commander'
import { RUN_STATUSES } from '../functions/http/openapi-schemas.ts'
import { BULK_BOUNDS } from '../sdk/bulk/steer-many.ts'
import { pointInTime } from '../sdk/engine/duration.ts'
import type { Bulk, BulkAction, RunStatus } from '../sdk/index.ts'
import { wholeArgument } from './arguments.ts'
import { Failure } from './failure.ts'
import type { Session } from './session.ts'

export interface BulkOptions {
  status?: RunStatus
  workflow?: string
  tag?: string
  id?: string
  from?: string
  to?: string
  incident?: string
  perSecond?: number
  limit?: number
  yes?: boolean
  reason?: string
}

/** What says which runs are meant, where it is not one by its id. */
export function takesMany(command: Command): Command {
  const { perSecond, limit } = BULK_BOUNDS
  return command
    .addOption(command.createOption('--status <status>', 'all runs in this state').choices(RUN_STATUSES))
    .option('--workflow <name>', 'all runs of this workflow')
    .option('--tag <tag>', 'all runs with this tag')
    .option('--id <prefix>', 'all runs whose id begins with this')
    .option('--from <time>', 'only those created at or after this time (ISO 8601)')
    .option('--to <time>', 'only those created before this time')
    .option('--incident <fingerprint>', 'all runs of an incident; `overwinter incidents` lists them')
    .option('--per-second <count>', `how many a second, ${perSecond.least} to ${perSecond.most} (default ${perSecond.unless})`, wholeArgument)
    .option('--limit <count>', `how many at most, up to ${limit.most} (default ${limit.unless})`, wholeArgument)
    .option('--yes', 'do it, where many runs are meant')
}

/** Says how many runs it would be, and does it only when told so. */
export async function steerMany(session: Session, action: BulkAction, options: BulkOptions): Promise<void> {
  const { client } = session
  const bulk = bulkOf(action, options)
  if (Object.keys(bulk.filter).length === 0)
    throw new Failure(`say which run to ${action}, by its id, or which runs, with --status, --workflow, --tag, --id or --incident`)
  const { matches, isComplete, runs } = await client.wouldSteer(bulk)
  if (matches === 0) throw new Failure('no run is meant by that; `overwinter runs` lists them, with the same filters')
  const some = runs.slice(0, 5).join(', ')
  if (!options.yes) {
    const more = isComplete ? '' : `, and leave those behind them: --limit says how many at most`
    const which = `this would ${action} ${matches} run${matches === 1 ? '' : 's'} (${some}${matches > 5 ? ', …' : ''})${more}; say --yes to do it`
    throw new Failure(which)
  }
  const started = await client.steerMany(bulk)
  const text = `run ${started.runId} does it to ${matches} run${matches === 1 ? '' : 's'}; \`overwinter show ${started.runId}\` says how far it is, \`overwinter cancel ${started.runId}\` stops it`
  session.print(text, { ...started, matches })
}

function bulkOf(action: BulkAction, { status, workflow, tag, id, from, to, incident, perSecond, limit, reason }: BulkOptions): Bulk {
  const time = (text: string | undefined, name: string) => (text === undefined ? undefined : pointInTime(text, Number.POSITIVE_INFINITY, `--${name}`))
  const filter = { status, workflow, tag, idPrefix: id, from: time(from, 'from'), to: time(to, 'to'), incident }
  return { action, filter: given(filter), ...given({ perSecond, limit, reason }) }
}

const given = <T extends object>(fields: T) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as { [K in keyof T]?: NonNullable<T[K]> }
