import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { styleText } from 'node:util'
import type { Command } from 'commander'
import { isLocal } from '../connection.ts'
import { type Check, checkRuns, checkServer } from '../doctor/checks.ts'
import { explain } from '../failure.ts'
import { Session } from '../session.ts'

const MARKS = { ok: styleText('green', '✓'), warn: styleText('yellow', '!'), bad: styleText('red', '✗') }

export function addDoctor(program: Command): void {
  const command = program
    .command('doctor')
    .summary('look for runs and servers in trouble')
    .description('Checks that the server answers and that no run is overdue, stuck or without code. Exit code 1 if something is wrong.')
    .option('--data <folder>', 'where the dev server keeps its database; OVERWINTER_DATA says so too (default: .overwinter)')
    .action(async ({ data }: { data?: string }) => {
      const session = Session.of(command)
      const checks = await examine(session, resolve(data ?? process.env.OVERWINTER_DATA ?? '.overwinter'))
      const isWell = checks.every(({ state }) => state !== 'bad')
      session.print(checks.map(({ state, text }) => `${MARKS[state]} ${text}`).join('\n'), { ok: isWell, checks })
      if (!isWell) process.exitCode = 1
    })
}

async function examine(session: Session, data: string): Promise<Check[]> {
  const { url } = session.connection
  try {
    return [...(await checkServer(session)), ...(await checkRuns((filter) => session.client.list(filter)))]
  } catch (error) {
    const unreachable: Check = { name: 'server', state: 'bad', text: explain(error, url) }
    return isLocal(url) ? [unreachable, ...(await checkFile(join(data, 'runs.db')))] : [unreachable]
  }
}

/** Without a server, the file still tells what waits for one. */
async function checkFile(path: string): Promise<Check[]> {
  if (!existsSync(path)) return [{ name: 'database', state: 'warn', text: `there is no database at ${path} yet` }]
  const [{ LocalWorld }, { Client, Registry }] = await Promise.all([import('../../sdk/local.ts'), import('../../sdk/index.ts')])
  const world = new LocalWorld({ path })
  try {
    const client = new Client(world, new Registry([]))
    return [{ name: 'database', state: 'ok', text: `read ${path} instead` }, ...(await checkRuns((filter) => client.list(filter)))]
  } finally {
    world.close()
  }
}
