import { resolve } from 'node:path'
import type { Command } from 'commander'
import { portArgument } from '../arguments.ts'
import { Failure } from '../failure.ts'
import { Session } from '../session.ts'
import { paint } from '../terminal.ts'
import { serveUi } from '../ui/server.ts'

const DEFAULT_PORT = 4480

export function addUi(program: Command): void {
  const command = program
    .command('ui')
    .summary('show the dashboard of a deployment')
    .description(
      'Serves the dashboard on this machine, for the API at --url. Its requests carry your AWS credentials, or ' +
        '--token.',
    )
    .argument('[run]', 'the id of a run to look at')
    .option('--port <port>', 'where to listen; 0 takes any port that is free', portArgument, DEFAULT_PORT)
    .option('--read-only', 'let nothing through that changes anything')
    .option('--entry <file>', 'exports the workflows: shows where in this code runs stood')
    .action(
      async (
        runId: string | undefined,
        { port, readOnly = false, entry }: { port: number; readOnly?: boolean; entry?: string },
      ) => {
        const session = Session.of(command)
        const { connection, client } = session
        if (!/^https?:\/\//.test(connection.url) || !URL.canParse(connection.url))
          throw new Failure(`'${connection.url}' is no address; it begins with https:// or http://`)
        const { link } = await serveUi(connection, client, {
          port,
          isReadOnly: readOnly,
          ...(entry !== undefined && { entry: resolve(entry) }),
        })
        const url = link(runId === undefined ? '/ui/' : `/ui/runs/${encodeURIComponent(runId)}`)
        const how = readOnly ? ', and changes nothing' : ''
        session.print(
          `\n  The dashboard of ${connection.url}${how}:\n\n    ${paint('cyan', url)}\n\n  The link works ` +
            `once, in the browser that opens it first. Ctrl-C stops it.\n`,
          { url },
        )
        // Runs until it is stopped.
        await new Promise(() => {})
      },
    )
}
