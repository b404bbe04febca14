import type { Command } from 'commander'
import { summaryToJson } from '../../sdk/http-api/encode.ts'
import type { ListOptions } from '../../sdk/index.ts'
import { RUN_STATUSES } from '../../sdk/ports/run.ts'
import type { RunPage, RunSummary } from '../../sdk/ports/run-lists.ts'
import { countArgument } from '../arguments.ts'
import { runTable } from '../run-text.ts'
import { screenful } from '../screenful.ts'
import { Session } from '../session.ts'
import { sayInstead } from '../terminal.ts'

const LOOK_EVERY_MS = 1_000

export function addRuns(program: Command): void {
  const command = program
    .command('runs')
    .summary('list runs, newest first')
    .description('Lists runs, newest first.')
    .option('--workflow <name>', 'only of this workflow')
    .option('--tag <tag>', 'only with this tag')
    .option('--id <prefix>', 'only those whose id begins with this')
    .option('--from <time>', 'only created at or after this time (ISO 8601)')
    .option('--to <time>', 'only created before this time')
    .option('--limit <count>', 'how many, 1 to 1000', countArgument, 50)
    .option('--cursor <cursor>', 'go on where a page ended')
    .option('--internal', 'also what Overwinter itself runs: schedules, and what is done to many runs')
    .option('-w, --watch', 'go on showing them, until Ctrl-C')
  command.addOption(command.createOption('--status <status>', 'only in this state').choices(RUN_STATUSES))
  command.action(
    async ({
      watch,
      id,
      internal = false,
      ...options
    }: ListOptions & { watch?: boolean; id?: string; internal?: boolean }) => {
      const session = Session.of(command)
      const filter: ListOptions = { ...options, hidesInternal: !internal, ...(id !== undefined && { idPrefix: id }) }
      if (watch) return follow(session, filter)
      const { runs, cursor } = await fullPage(session, filter)
      const more = cursor === undefined ? '' : `\n\nThere are more: --cursor ${cursor}`
      const text = runs.length === 0 ? 'no runs' : runTable(runs, Date.now()) + more
      session.print(text, { runs: runs.map(summaryToJson), cursor })
    },
  )
}

/** How many requests one page may take: for each, the server reads only as much as it finds reasonable. */
const MOST_ASKED = 20

/** A page of the requested length, if there are so many runs. */
async function fullPage(session: Session, filter: ListOptions): Promise<RunPage> {
  const { limit = 50 } = filter
  let { runs, cursor } = await session.client.list(filter)
  for (let asked = 1; cursor !== undefined && runs.length < limit && asked < MOST_ASKED; asked++) {
    const page = await session.client.list({ ...filter, cursor, limit: limit - runs.length })
    runs = [...runs, ...page.runs]
    cursor = page.cursor
  }
  return { runs, ...(cursor !== undefined && { cursor }) }
}

/** A terminal shows the current list; a pipe gets the changes. */
async function follow(session: Session, filter: ListOptions): Promise<never> {
  const seen = new Map<string, string>()
  for (;;) {
    const { runs } = await fullPage(session, filter)
    if (process.stdout.isTTY && !session.isJson) sayInstead(screenful(runTable(runs, Date.now()), process.stdout))
    else for (const run of runs.filter((run) => isNews(run, seen)).reverse()) printChange(session, run)
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
}

function isNews(run: RunSummary, seen: Map<string, string>): boolean {
  const state = JSON.stringify([run.status, run.waitingFor])
  if (seen.get(run.runId) === state) return false
  seen.set(run.runId, state)
  return true
}

function printChange(session: Session, run: RunSummary): void {
  const [, row] = runTable([run], Date.now()).split('\n')
  session.print(row!, summaryToJson(run))
}
