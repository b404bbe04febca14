import type { Command } from 'commander'
import { pastMoment } from '../../sdk/base/duration.ts'
import { incidentToJson } from '../../sdk/http-api/encode.ts'
import type { Incident } from '../../sdk/index.ts'
import { asWritten } from '../../sdk/views/as-written.ts'
import { fromNow } from '../../sdk/views/moments.ts'
import { Session } from '../session.ts'
import { textTable } from '../text-table.ts'

const LONGEST = 70

export function addIncidents(program: Command): void {
  const command = program
    .command('incidents')
    .summary('list what goes wrong, and how many runs it has met')
    .description(
      'Lists runs that failed or are stuck, grouped by their errors. Parts that differ from run to run, such ' +
        'as ids, are ignored.',
    )
    .option('--workflow <name>', 'only of this workflow')
    .option('--since <when>', 'only of runs that failed or got stuck since then: a time, or how long ago, as in 2h')
    .action(async ({ workflow, since }: { workflow?: string; since?: string }) => {
      const session = Session.of(command)
      const at = since === undefined ? undefined : pastMoment(since, Date.now(), '--since')
      const { incidents, isComplete } = await session.client.incidents({
        ...(workflow !== undefined && { workflow }),
        ...(at !== undefined && { since: at }),
      })
      const more = isComplete ? '' : '\n\nThere are more: only the newest 1,000 failed and stuck runs were looked at'
      const next =
        '\n\n`overwinter retry --incident <fingerprint>` retries all runs of an incident; `overwinter rerun` ' +
        'starts them anew'
      const none = since === undefined ? 'nothing has gone wrong' : `nothing has gone wrong since ${since}`
      session.print(incidents.length === 0 ? none : incidentTable(incidents, Date.now()) + more + next, {
        incidents: incidents.map(incidentToJson),
        isComplete,
      })
    })
}

function incidentTable(incidents: readonly Incident[], now: number): string {
  const rows = incidents.map(({ fingerprint, workflow, count, stuck, step, name, says, lastAt }) => [
    fingerprint,
    `${count}${stuck > 0 ? ` (${stuck} stuck)` : ''}`,
    workflow,
    asWritten(step ?? ''),
    fromNow(lastAt, now),
    clip(says === '' ? name : `${name}: ${says}`),
  ])
  return textTable(['FINGERPRINT', 'RUNS', 'WORKFLOW', 'STEP', 'LAST', 'ERROR'], rows)
}

const clip = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text)
