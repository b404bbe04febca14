import type { Command } from 'commander'
import { eventToJson } from '../../sdk/http-api/encode.ts'
import type { RunSummary } from '../../sdk/index.ts'
import { RunNotFoundError } from '../../sdk/index.ts'
import { clockTime } from '../../sdk/views/moments.ts'
import { Session } from '../session.ts'
import { paint } from '../terminal.ts'
import { eventText } from '../timeline.ts'

const LOOK_EVERY_MS = 1_000
/** Following more runs at once is for a dashboard. */
const MOST_FOLLOWED = 200

interface Seen {
  state: string
  generation: number
  events: number
}

export function addTail(program: Command): void {
  const tail = program
    .command('tail')
    .summary('tell what happens in all runs, until Ctrl-C')
    .description(`Tells what happens in the newest ${MOST_FOLLOWED} runs from now on, one event a line, until Ctrl-C.`)
    .option('--workflow <name>', 'only of this workflow')
    .option('--tag <tag>', 'only with this tag')
    .action(async (filter: { workflow?: string; tag?: string }) => {
      const session = Session.of(tail)
      const seen = new Map<string, Seen>()
      for (let isFirst = true; ; isFirst = false) {
        const { runs } = await session.client.list({ ...filter, limit: MOST_FOLLOWED })
        for (const run of runs.toReversed()) await follow(session, run, seen, isFirst)
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
      }
    })
}

/** Prints events that are new. Runs that ended before this command started are not read. */
async function follow(session: Session, run: RunSummary, seen: Map<string, Seen>, isFirst: boolean): Promise<void> {
  const { runId, generation } = run
  const state = JSON.stringify([run.status, run.waitingFor, generation, run.attempt, run.endedAt])
  const before = seen.get(runId)
  if (before?.state === state && run.status !== 'running') return
  if (isFirst && run.endedAt !== undefined) return void seen.set(runId, { state, generation, events: 0 })
  const events = await historyOf(session, runId)
  // The history of a run that has continued as new, or was retried, starts over.
  const told = isFirst
    ? events.length
    : before && before.generation === generation
      ? Math.min(before.events, events.length)
      : 0
  seen.set(runId, { state, generation, events: events.length })
  for (const event of events.slice(told)) {
    const where = `${paint('dim', clockTime(event.at, Date.now()))}  ${runId}  ${run.workflow}`
    session.print(`${where}  ${eventText(event)}`, { runId, workflow: run.workflow, ...eventToJson(event, true) })
  }
}

async function historyOf(session: Session, runId: string) {
  try {
    return await session.client.history(runId)
  } catch (error) {
    // The run was erased, or its retention ended, between the list and now.
    if (error instanceof RunNotFoundError) return []
    throw error
  }
}
