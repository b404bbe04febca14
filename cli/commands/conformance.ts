import type { Command } from 'commander'
import { type Duration, milliseconds } from '../../sdk/base/duration.ts'
import { type Checks, type Outcome, outcomeLine, tryOne } from '../conformance/checks.ts'
import { Failure } from '../failure.ts'
import { Session } from '../session.ts'
import { say } from '../terminal.ts'

interface Flags {
  worker?: true
  workersUrl?: string
  workerToken?: string
  within: Duration
  port: string
}

/** Enough time for both sides to start. */
const WITHIN = '60s'

export function addConformance(program: Command): void {
  const command = program
    .command('conformance')
    .summary('check that a server, or a worker, keeps to the workers’ protocol')
    .description(
      "Checks a server: it needs the workflow 'conformance' of the examples, and must dispatch tasks of the type " +
        "'conformance'. With --worker, checks a worker: starts a server for it, prints what to do with each task, " +
        'and waits. Exit code 1 if a check fails.',
    )
    .option('--worker', 'check a worker instead of a server')
    .option('--workers-url <url>', 'where the server listens to workers, if that is another address')
    .option(
      '--worker-token <token>',
      'the token of a worker; OVERWINTER_WORKER_TOKEN says so too (default: one is made, and revoked afterwards)',
    )
    .option('--within <duration>', 'with --worker: how long each task may take', WITHIN)
    .option('--port <port>', 'with --worker: where the server listens (default: any free port)', '0')
    .action(async (flags: Flags) => {
      const session = Session.of(command)
      const outcomes = flags.worker ? await checkWorker(session, flags) : await checkServer(session, flags)
      const isWell = outcomes.every(({ problem }) => problem === undefined)
      if (session.isJson) session.print('', { ok: isWell, checks: outcomes })
      if (!isWell) process.exitCode = 1
    })
}

async function checkServer(session: Session, flags: Flags): Promise<Outcome[]> {
  const [{ serverChecks }, { Wire }] = await Promise.all([
    import('../conformance/server-checks.ts'),
    import('../conformance/wire.ts'),
  ])
  const { client, connection } = session
  const url = flags.workersUrl ?? connection.url
  const given = flags.workerToken ?? process.env.OVERWINTER_WORKER_TOKEN
  const made = given === undefined ? await client.createToken({ name: 'conformance', expiresIn: '1h' }) : undefined
  try {
    const { beside, inTurn } = serverChecks(
      client,
      new Wire(url, given ?? made!.token),
      (token) => new Wire(url, token),
    )
    // Most of the time is spent waiting for the next heartbeat.
    const meanwhile = Promise.all(Object.entries(beside).map(([name, check]) => tryOne(name, check)))
    const outcomes = await performInTurn(session, inTurn)
    const others = await meanwhile
    for (const outcome of others) tell(session, outcome)
    return [...outcomes, ...others]
  } finally {
    if (made) await client.revokeToken(made.id)
  }
}

async function checkWorker(session: Session, { within, port }: Flags): Promise<Outcome[]> {
  const [{ serveLocal }, { Workers }, { conformance }, { TASKS, workerChecks }] = await Promise.all([
    import('../../functions/local/serve.ts'),
    import('../../sdk/tasks/workers.ts'),
    import('../conformance/workflow.ts'),
    import('../conformance/worker-checks.ts'),
  ])
  if (!/^\d+$/.test(port)) throw new Failure(`a port is a whole number, got '${port}'`)
  const withinMs = milliseconds(within, '--within')
  await using server = await serveLocal({
    path: ':memory:',
    workflows: [conformance],
    port: Number(port),
    log: () => {},
  })
  const { directory, tokens } = new Workers(server.local.world)
  const { token } = await tokens.create({ name: 'conformance' })
  const tasks = Object.entries(TASKS).map(([type, what]) => `  ${type.padEnd(15)} ${what}`)
  const text =
    `Start the worker with\n\n  OVERWINTER_URL=${server.url} ` +
    `OVERWINTER_WORKER_TOKEN=${token}\n\nand start it again when it ends. It has to do tasks of ` +
    `these types:\n\n${tasks.join('\n')}\n`
  session.print(text, { url: server.url, token, tasks: TASKS })
  return await performInTurn(session, workerChecks({ client: server.local, directory, withinMs }))
}

async function performInTurn(session: Session, checks: Checks): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for (const [name, check] of Object.entries(checks)) {
    const outcome = await tryOne(name, check)
    tell(session, outcome)
    outcomes.push(outcome)
  }
  return outcomes
}

function tell(session: Session, outcome: Outcome): void {
  if (!session.isJson) say(outcomeLine(outcome))
}
