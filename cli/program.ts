import { Command, CommanderError } from 'commander'
import { ownVersion } from '../functions/local/own-version.ts'
import { addCallbacks } from './commands/callbacks.ts'
import { addConformance } from './commands/conformance.ts'
import { addDefinitions } from './commands/definitions.ts'
import { addDev } from './commands/dev.ts'
import { addDoctor } from './commands/doctor.ts'
import { addGraph } from './commands/graph.ts'
import { addIncidents } from './commands/incidents.ts'
import { addInit } from './commands/init.ts'
import { addLimits } from './commands/limits.ts'
import { addLint } from './commands/lint.ts'
import { addPauses } from './commands/pauses.ts'
import { addRuns } from './commands/runs.ts'
import { addSchedules } from './commands/schedules.ts'
import { addShow } from './commands/show.ts'
import { addStart } from './commands/start.ts'
import { addSteering } from './commands/steer.ts'
import { addTail } from './commands/tail.ts'
import { addTrace } from './commands/trace.ts'
import { addUi } from './commands/ui.ts'
import { addWorkers } from './commands/workers.ts'
import { explain } from './failure.ts'
import { Session } from './session.ts'
import { complain, say } from './terminal.ts'

const EXIT = { ok: 0, failure: 1, usage: 2 } as const

/** Runs one command; its exit code. */
export async function run(argv: string[]): Promise<number> {
  const program = overwinter()
  try {
    await program.parseAsync(argv)
    return Number(process.exitCode ?? EXIT.ok)
  } catch (error) {
    // Commander has printed the problem, or the requested help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
    const { connection, isJson } = Session.of(program)
    const message = explain(error, connection.url)
    complain(isJson ? JSON.stringify({ error: message }) : message)
    return EXIT.failure
  }
}

function overwinter(): Command {
  const program = new Command('overwinter')
    .description('Durable workflows: start them, watch them, steer them.')
    .option(
      '--url <url>',
      'where the API is; OVERWINTER_URL says so too (default: the dev server on http://localhost:4400)',
    )
    .option('--token <token>', 'a bearer token; OVERWINTER_TOKEN says so too')
    .option('--profile <name>', 'the AWS profile to sign with, for an API with IAM')
    .option('--json', 'print JSON, for programs')
    .version(ownVersion(), '--version', 'print the version')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeOut: (text) => say(text.trimEnd()), writeErr: (text) => complain(text.trimEnd()) })
    .helpCommand(false)
    .showHelpAfterError('(--help says more)')
  // Inherited by the commands that are added after it.
  program.exitOverride()
  const oversight = [
    addLimits,
    addPauses,
    addSchedules,
    addDefinitions,
    addLint,
    addGraph,
    addTrace,
    addWorkers,
    addConformance,
    addDoctor,
  ]
  // New projects call it before their tests and before synth: an old Node gets the message of main.ts, and
  // nothing else.
  program.command('check-node', { hidden: true }).action(() => {})
  for (const add of [
    addInit,
    addDev,
    addUi,
    addStart,
    addRuns,
    addShow,
    addTail,
    addIncidents,
    addSteering,
    addCallbacks,
    ...oversight,
  ])
    add(program)
  return program
}
