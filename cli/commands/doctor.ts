import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { Schedules } from '../../sdk/client/schedules.ts'
import type { OverwinterClient } from '../../sdk/http-client/index.ts'
import type { Client } from '../../sdk/index.ts'
import { isLocal, regionOf } from '../connection.ts'
import { type Check, checkRuns, checkSchedules, checkServer } from '../doctor/checks.ts'
import { checkFlow } from '../doctor/flow.ts'
import { explain } from '../failure.ts'
import { Session } from '../session.ts'
import { paint } from '../terminal.ts'

const MARKS = {
  ok: paint('green', '✓'),
  warn: paint('yellow', '!'),
  bad: paint('red', '✗'),
  skipped: paint('dim', '–'),
}

interface DoctorOptions {
  data?: string
  stack?: string
  url?: string
  profile?: string
}

export function addDoctor(program: Command): void {
  const command = program
    .command('doctor')
    .summary('look for runs, schedules and servers in trouble')
    .description(
      'Checks that the server answers, that no run is overdue, stuck or without code, and that no schedule is behind. ' +
        'Shows what is paused and how many runs are queued. With --stack, and AWS credentials, it checks the queues of ' +
        'a deployment too. Exit code 1 if something is wrong.',
    )
    .option(
      '--data <folder>',
      'where the dev server keeps its database; OVERWINTER_DATA says so too (default: .overwinter)',
    )
    .option(
      '--stack <name>',
      'the CloudFormation stack of a deployment, for its queues, dead letters and schedule group',
    )
    .action(async () => {
      const session = Session.of(command)
      const checks = await examine(session, command.optsWithGlobals())
      const isWell = checks.every(({ state }) => state !== 'bad')
      session.print(checks.map(({ state, text }) => `${MARKS[state]} ${text}`).join('\n'), { ok: isWell, checks })
      if (!isWell) process.exitCode = 1
    })
}

async function examine(session: Session, { data, stack, url, profile }: DoctorOptions): Promise<Check[]> {
  const isAddressed = url !== undefined || process.env.OVERWINTER_URL !== undefined
  const unchecked: Check = {
    name: 'server',
    state: 'skipped',
    text: 'the API, its runs and its schedules were not checked; --url <address> does',
  }
  const folder = resolve(data ?? process.env.OVERWINTER_DATA ?? '.overwinter')
  const seen = stack === undefined || isAddressed ? await checkApi(session, folder) : [unchecked]
  if (stack === undefined && isLocal(session.connection.url)) return seen
  // Loaded on demand: the dev server needs none of it.
  const { checkDeployment, deploymentUnchecked } = await import('../doctor/deployment.ts')
  if (stack === undefined) return [...seen, deploymentUnchecked]
  const { AwsAccount } = await import('../aws-account.ts')
  return [
    ...seen,
    ...(await checkDeployment(new AwsAccount({ profile, region: regionOf(session.connection.url) }), stack)),
  ]
}

async function checkApi(session: Session, data: string): Promise<Check[]> {
  const { connection, client } = session
  try {
    const server = await checkServer(session)
    return [...server, ...(await checkWhatIsThere(client))]
  } catch (error) {
    const unreachable: Check = { name: 'server', state: 'bad', text: explain(error, connection.url) }
    return isLocal(connection.url) ? [unreachable, ...(await checkFile(join(data, 'runs.db')))] : [unreachable]
  }
}

/** The checks that work with a server and with a file. */
async function checkWhatIsThere(client: Client | OverwinterClient): Promise<Check[]> {
  const runs = await checkRuns((filter) => client.list(filter))
  const [pauses, limits, queued] = await Promise.all([
    client.pauses(),
    client.limits.list(),
    client.list({ status: 'queued', limit: 1_000 }),
  ])
  return [...runs, ...checkFlow({ pauses, limits, queued }), ...checkSchedules(await new Schedules(client).list())]
}

/** Without a server, the file still shows which runs wait for one. */
async function checkFile(path: string): Promise<Check[]> {
  if (!existsSync(path)) return [{ name: 'database', state: 'warn', text: `there is no database at ${path} yet` }]
  const [{ LocalWorld }, { Client, Registry }] = await Promise.all([
    import('../../sdk/local.ts'),
    import('../../sdk/index.ts'),
  ])
  const world = new LocalWorld({ path })
  try {
    const client = new Client(world, new Registry([]))
    const read: Check = { name: 'database', state: 'ok', text: `read ${path} instead` }
    return [read, ...(await checkWhatIsThere(client))]
  } finally {
    world.close()
  }
}
