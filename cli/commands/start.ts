import type { Command } from 'commander'
import type { Duration } from '../../sdk/base/duration.ts'
import { runToJson } from '../../sdk/http-api/encode.ts'
import { jsonArgument, listArgument } from '../arguments.ts'
import { Failure } from '../failure.ts'
import { runEnd } from '../run-text.ts'
import { Session } from '../session.ts'
import { say } from '../terminal.ts'

interface StartFlags {
  input?: unknown
  id?: string
  key?: string
  delay?: Duration
  at?: string
  tag?: string[]
  wait?: Duration | true
}

export function addStart(program: Command): void {
  program
    .command('start')
    .summary('start a run')
    .description('Starts a run. The same --id, or --key, with the same input again gives the first run.')
    .argument('<workflow>', 'its name')
    .option('-i, --input <json>', 'the input: JSON, @file, or - for standard input', jsonArgument)
    .option('--id <id>', 'the id of the run')
    .option('--key <key>', 'an idempotency key, for callers that have one but no id')
    .option('--delay <duration>', "start it later: '30s', '2h', '7d'")
    .option('--at <time>', 'start it at this time (ISO 8601)')
    .option('--tag <tag>', 'a tag to find it by; may be repeated', listArgument)
    .option('--wait [duration]', 'wait for its end, at most this long, and print its output')
    .action(start)
}

async function start(workflow: string, flags: StartFlags, command: Command): Promise<void> {
  const session = Session.of(command)
  const { client } = session
  const { input, id, key: idempotencyKey, delay, at: startAt, tag: tags, wait } = flags
  const { runId, status, created } = await client.start(workflow, input, { id, idempotencyKey, delay, startAt, tags })
  if (wait === undefined) {
    const text = created
      ? `started ${runId}\nFollow it: overwinter show ${runId} --watch`
      : `${runId} had been started before; it is ${status}`
    return session.print(text, { runId, status, created })
  }
  const run = await client.settled(runId, wait === true ? {} : { timeout: wait })
  if (session.isJson) session.print('', runToJson(run, true))
  if (run.status !== 'completed')
    throw new Failure(`run ${runId} has not completed. It is ${runEnd(run, await client.history(runId), Date.now())}`)
  if (!session.isJson && run.output !== undefined) say(JSON.stringify(run.output, null, 2))
}
