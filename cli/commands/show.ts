import type { Command } from 'commander'
import { eventToJson, runToJson, whyToJson } from '../../sdk/http-api/encode.ts'
import { hasEnded } from '../../sdk/ports/run.ts'
import { withRun } from '../failure.ts'
import { runEnd, runHead } from '../run-text.ts'
import { Session } from '../session.ts'
import { say } from '../terminal.ts'
import { timelineLine } from '../timeline.ts'
import { whyText } from '../why-text.ts'

const LOOK_EVERY_MS = 200

export function addShow(program: Command): void {
  const show = program
    .command('show')
    .summary('show a run: its timeline, and what it waits for')
    .description('Shows what happened in a run, how it ended, or what it waits for and until when.')
    .argument('<run>', 'its id')
    .option('-w, --watch', 'go on until it has ended')
    .action((runId: string, { watch }: { watch?: boolean }) => {
      const session = Session.of(show)
      return withRun(session.client, runId, () => (watch ? follow(session, runId) : showOnce(session, runId)))
    })

  const why = program
    .command('why')
    .summary('say why a run stands where it stands, and what to do')
    .description(
      'Says what a run waits for, since when and until when, what is known about that, and what can be done.',
    )
    .argument('<run>', 'its id')
    .action(async (runId: string) => {
      const session = Session.of(why)
      const reasons = await withRun(session.client, runId, () => session.client.why(runId))
      session.print(whyText(runId, reasons, Date.now()), whyToJson(reasons))
    })

  const history = program
    .command('history')
    .summary("print a run's history, event by event")
    .description("Prints a run's history as it is kept: one event a line.")
    .argument('<run>', 'its id')
    .action(async (runId: string) => {
      const session = Session.of(history)
      const { client } = session
      const [{ generation }, found] = await withRun(client, runId, () =>
        Promise.all([client.get(runId), client.history(runId)]),
      )
      const events = found.map((event) => eventToJson(event, true))
      const line = ({ at, type, ...rest }: (typeof events)[number]) =>
        `${at}  ${type.padEnd(18)} ${JSON.stringify(rest)}`
      session.print(events.map(line).join('\n'), { events, generation })
    })
}

async function showOnce(session: Session, runId: string): Promise<void> {
  const [run, events] = await Promise.all([session.client.get(runId), session.client.history(runId)])
  const now = Date.now()
  const timeline = events.map((event) => timelineLine(event, run.startedAt ?? run.createdAt))
  const data = { ...runToJson(run, true), history: events.map((event) => eventToJson(event, true)) }
  const logs = run.logs === undefined ? [] : ['', `Its log: ${run.logs}`]
  session.print(
    [runHead(run, now), '', ...timeline, ...(timeline.length > 0 ? [''] : []), runEnd(run, events, now), ...logs].join(
      '\n',
    ),
    data,
  )
}

/** Prints events as they come, one per line. */
async function follow(session: Session, runId: string): Promise<void> {
  let shown = 0
  let isFirst = true
  for (;;) {
    // Read in this order, the history of an ended run is complete.
    const run = await session.client.get(runId)
    const events = await session.client.history(runId)
    if (isFirst && !session.isJson) say(`${runHead(run, Date.now())}\n`)
    isFirst = false
    // Continued as new: the history begins anew.
    if (events.length < shown) shown = 0
    for (const event of events.slice(shown))
      session.print(timelineLine(event, run.startedAt ?? run.createdAt), eventToJson(event, true))
    shown = events.length
    if (hasEnded(run.status) || run.status === 'stuck') {
      if (!session.isJson) say(`\n${runEnd(run, events, Date.now())}`)
      return
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
}
