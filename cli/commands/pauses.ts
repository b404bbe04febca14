import { type Command, InvalidArgumentError } from 'commander'
import { pauseToJson } from '../../sdk/http-api/encode.ts'
import type { PauseScope, PauseView } from '../../sdk/index.ts'
import { countInWords } from '../../sdk/views/limit-words.ts'
import { fromNow } from '../../sdk/views/moments.ts'
import { resumeCommand, scopeInWords, stateInWords } from '../../sdk/views/turn.ts'
import { Failure } from '../failure.ts'
import { Session } from '../session.ts'
import { textTable } from '../text-table.ts'

interface ScopeOptions {
  all?: true
  run?: string
}

/** For emergencies: nothing new begins until an operator resumes it. */
export function addPauses(program: Command): void {
  const pause = takesScope(program.command('pause'))
    .summary('let nothing new begin: of a workflow, of a run, or at all')
    .description(
      'Starts nothing new: new runs queue, sleeping ones stay due, running steps end. It holds until it is ' +
        'resumed, deployments included.',
    )
    .action(async (workflow: string | undefined, options: ScopeOptions) => {
      const session = Session.of(pause)
      const made = await session.client.pause(scopeOf('pause', workflow, options))
      const { scope } = made
      session.print(
        `paused ${scopeInWords(scope)}: nothing new begins, running steps end. \`${resumeCommand(scope)}\` resumes it`,
        pauseToJson(made),
      )
    })

  const resume = takesScope(program.command('resume'))
    .summary('let what is paused go on, so many runs a second')
    .description('Lets what is paused go on, gradually: the oldest runs and those of the highest priority first.')
    .option('--rate <rate>', 'how many runs a second: 20/s (default: 100/s)', rateArgument)
    .action(async (workflow: string | undefined, { rate, ...options }: ScopeOptions & { rate?: number }) => {
      const session = Session.of(resume)
      const scope = scopeOf('resume', workflow, options)
      const resumed = await session.client.resume(scope, rate === undefined ? {} : { perSecond: rate })
      session.print(`${scopeInWords(scope)} ${stateInWords(resumed)}`, pauseToJson(resumed))
    })

  const pauses = program
    .command('pauses')
    .summary('list what is paused')
    .description('Lists what is paused, and what is just being let go.')
    .action(async () => {
      const session = Session.of(pauses)
      const found = await session.client.pauses()
      session.print(found.length === 0 ? 'nothing is paused' : pauseTable(found, Date.now()), {
        pauses: found.map(pauseToJson),
      })
    })
}

function takesScope(command: Command): Command {
  return command
    .argument('[workflow]', 'all runs of this workflow')
    .option('--all', 'everything')
    .option('--run <id>', 'this run')
}

/** The scope must be named: no argument does not mean everything. */
function scopeOf(verb: string, workflow: string | undefined, { all, run }: ScopeOptions): PauseScope {
  const given: PauseScope[] = [
    ...(workflow === undefined ? [] : [{ workflow }]),
    ...(all ? [{ all }] : []),
    ...(run === undefined ? [] : [{ run }]),
  ]
  if (given.length !== 1)
    throw new Failure(
      `say what to ${verb}: a workflow by its name, --run <id>, or --all for everything; one of the three`,
    )
  return given[0]!
}

function rateArgument(text: string): number {
  const count = /^(\d{1,6})(\/s)?$/.exec(text.trim())?.[1]
  if (count === undefined || Number(count) < 1)
    throw new InvalidArgumentError('It must be so many a second, as in 20/s.')
  return Number(count)
}

function pauseTable(pauses: readonly PauseView[], now: number): string {
  const rows = pauses.map((pause) => [
    scopeInWords(pause.scope),
    fromNow(Math.min(pause.since, now - 1), now),
    stateInWords(pause),
    pause.waiting ? countInWords(pause.waiting) : '',
    // A run that goes on already would only get another rate.
    pause.perSecond === undefined ? resumeCommand(pause.scope) : '',
  ])
  return textTable(['WHAT', 'SINCE', 'STATE', 'IN LINE', 'TO LET IT GO ON'], rows)
}
