import { resolve } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { Supervisor } from '../dev/supervisor.ts'

const DEFAULT_ENTRY = 'workflows/index.ts'

export function addDev(program: Command): void {
  program
    .command('dev')
    .summary('run workflows on this machine, with an HTTP API')
    .description('Runs the workflows that a file exports, in a SQLite file on this machine, behind the HTTP API. Changed code is picked up.')
    .argument('[file]', 'exports the workflows', DEFAULT_ENTRY)
    .option('--port <port>', 'where to listen; the environment variable PORT says so too (default: 4400)', portNumber)
    .option('--data <folder>', 'where the database goes; OVERWINTER_DATA says so too (default: .overwinter)')
    .option('--codec <file>', 'a module whose default export encodes payloads before they are stored')
    .action(async (file: string, options: { port?: number; data?: string; codec?: string }) => {
      const { PORT, OVERWINTER_DATA } = process.env
      const port = options.port ?? (PORT ? portNumber(PORT) : 4400)
      const data = resolve(options.data ?? OVERWINTER_DATA ?? '.overwinter')
      // A server that is still there notices that nobody watches over it any more, and ends too.
      process.exit(await new Supervisor({ entry: resolve(file), port, data, ...(options.codec !== undefined && { codec: resolve(options.codec) }) }).run())
    })
}

function portNumber(text: string): number {
  const port = Number(text)
  if (text === '' || !Number.isInteger(port) || port < 0 || port > 65_535)
    throw new InvalidArgumentError(`a port is a whole number from 0 to 65535, got '${text}'`)
  return port
}
