import { resolve } from 'node:path'
import type { Command } from 'commander'
import { portArgument } from '../arguments.ts'
import { Supervisor } from '../dev/supervisor.ts'

const DEFAULT_ENTRY = 'workflows/index.ts'

export function addDev(program: Command): void {
  program
    .command('dev')
    .summary('run workflows on this machine, with an HTTP API')
    .description(
      'Runs the workflows that a file exports, in a SQLite file on this machine, behind the HTTP API. Changed ' +
        'code is picked up.',
    )
    .argument('[file]', 'exports the workflows', DEFAULT_ENTRY)
    .option('--port <port>', 'where to listen; the environment variable PORT says so too (default: 4400)', portArgument)
    .option('--data <folder>', 'where the database goes; OVERWINTER_DATA says so too (default: .overwinter)')
    .option('--codec <file>', 'a module whose default export encodes payloads before they are stored')
    .action(async (file: string, options: { port?: number; data?: string; codec?: string }) => {
      const { PORT, OVERWINTER_DATA } = process.env
      const port = options.port ?? (PORT ? portArgument(PORT) : 4400)
      const data = resolve(options.data ?? OVERWINTER_DATA ?? '.overwinter')
      // An orphaned server notices that its supervisor is gone, and ends too.
      process.exit(
        await new Supervisor({
          entry: resolve(file),
          port,
          data,
          ...(options.codec !== undefined && { codec: resolve(options.codec) }),
        }).run(),
      )
    })
}
