import { join } from 'node:path'
import { inspect } from 'node:util'
import { serveLocal } from '../../functions/local/serve.ts'
import { Local, LocalFileError } from '../../sdk/local.ts'
import type { LogSink } from '../../sdk/ports/world.ts'
import { Tokens } from '../../sdk/tasks/tokens.ts'
import { paint, say } from '../terminal.ts'
import { exampleInput } from './example-input.ts'
import { waitForPort } from './free-port.ts'
import { FinalError, loadCodec, loadEntry } from './load-entry.ts'
import type { ServerMessage, ServerOptions } from './messages.ts'
import { Narrator } from './narrator.ts'

/**
 * The process that runs the workflows of `overwinter dev`. It is replaced whenever their code changes, which
 * is like a crash and a restart: sleeping runs are not affected.
 */

const HTTP_GRACE_MS = 100
const STEP_GRACE_MS = 1_000

const tell = (message: ServerMessage) => new Promise<void>((resolve) => process.send!(message, () => resolve()))

const LEVEL_COLOUR = { debug: 'dim', info: 'cyan', warn: 'yellow', error: 'red' } as const
const log: LogSink = (level, message, fields) => {
  const rest = Object.keys(fields).length === 0 ? '' : paint('dim', ` ${JSON.stringify(fields)}`)
  say(`${paint(LEVEL_COLOUR[level], level.padEnd(5))} ${message}${rest}`)
}

async function serve({ entry, codec: codecFile, port, data }: ServerOptions): Promise<void> {
  const watched = (file: string) => void tell({ kind: 'loaded', file })
  const { workflows, schedules, handlers, mappings, functions } = await loadEntry(entry, watched)
  const codec = codecFile === undefined ? undefined : await loadCodec(codecFile, watched)
  await waitForPort(port)
  const path = join(data, 'runs.db')
  const narrator = new Narrator(say, Date.now)
  const local = await Local.open({
    ...{ path, workflows, schedules, handlers, codec, functions, log, publicUrl: `http://localhost:${port}` },
    tracesCalls: true,
    tracing: true,
    aroundStore: (store) => narrator.around(store),
  })
  const neighbours = local.world.runnerRegistry.neighbours()
  if (neighbours > 0) log('warn', sharedWith(neighbours, path), {})
  const workerToken = process.env.OVERWINTER_WORKER_TOKEN
  const server = await serveLocal({ local, port, exposeStacks: true, workerToken, mappings })
  const stop = async () => {
    await server.close(HTTP_GRACE_MS)
    await local.close(STEP_GRACE_MS)
    process.exit(0)
  }
  process.once('SIGTERM', () => void stop())
  await tell({
    kind: 'ready',
    url: `http://localhost:${server.port}`,
    database: path,
    workflows: workflows.map((workflow) => ({ name: workflow.name, example: exampleInput(workflow) })),
    ...(!workerToken && { newToken: await firstToken(new Tokens(local.world)) }),
  })
}

/**
 * Sharing a file is safe. But a developer who has changed the code of one process wonders why old code still
 * runs.
 */
function sharedWith(neighbours: number, path: string): string {
  const who = neighbours === 1 ? 'another process runs' : `${neighbours} other processes run`
  return (
    `${who} workflows in ${path} too (a second \`overwinter dev\`?). They share its runs: the one that is free takes a run, with its own code. ` +
    'Stop one of them, or give this one a folder of its own: overwinter dev --data <folder>'
  )
}

/**
 * Creates a token at the first start, so that a worker can be tried at once. Only its hash is stored, so it
 * is shown once.
 */
async function firstToken(tokens: Tokens): Promise<string | undefined> {
  return (await tokens.list()).length > 0 ? undefined : (await tokens.create({ name: 'dev' })).token
}

// Ctrl-C reaches every process of the terminal; the supervisor decides when this one ends.
process.on('SIGINT', () => {})
// If the supervisor is killed, this process ends too.
process.on('disconnect', () => process.exit(1))

try {
  await serve(JSON.parse(process.argv[2]!) as ServerOptions)
} catch (error) {
  const isFinal = error instanceof FinalError || error instanceof LocalFileError
  // The stack of an error in the module helps; the stack of an error of ours does not.
  await tell({ kind: 'failed', message: isFinal ? error.message : inspect(error), isFinal })
  process.exit(1)
}
