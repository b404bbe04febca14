import type { Command } from 'commander'
import type { Incident } from '../../sdk/index.ts'
import { fromNow } from '../../sdk/views/moments.ts'
import { Session } from '../session.ts'
import { textTable } from '../text-table.ts'

const LONGEST = 70

export function addIncidents(program: Command): void {
  const command = program
    .command('incidents')
    .summary('list what goes wrong, and how many runs it has met')
    .description('Lists runs that failed or are stuck, by what their errors have in common: what differs from run to run, an id for example, does not count.')
    .option('--workflow <name>', 'only of this workflow')
    .action(async ({ workflow }: { workflow?: string }) => {
      const session = Session.of(command)
      const { incidents, isComplete } = await session.client.incidents(workflow === undefined ? {} : { workflow })
      const more = isComplete ? '' : '\n\nThere are more: only the newest 1,000 failed and stuck runs were looked at'
      const next = '\n\n`overwinter retry --incident <fingerprint>` lets all runs of one go on'
      session.print(incidents.length === 0 ? 'nothing has gone wrong' : incidentTable(incidents, Date.now()) + more + next, { incidents, isComplete })
    })
}

function incidentTable(incidents: readonly Incident[], now: number): string {
  const rows = incidents.map(({ fingerprint, workflow, count, stuck, step, name, says, lastAt }) => [
    fingerprint,
    `${count}${stuck > 0 ? ` (${stuck} stuck)` : ''}`,
    workflow,
    step ?? '',
    fromNow(lastAt, now),
    clip(says === '' ? name : `${name}: ${says}`),
  ])
  return textTable(['FINGERPRINT', 'RUNS', 'WORKFLOW', 'STEP', 'LAST', 'ERROR'], rows)
}

const clip = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text)
