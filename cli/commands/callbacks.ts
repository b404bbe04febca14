import type { Command } from 'commander'
import { callbackToJson } from '../../sdk/http-api/encode.ts'
import type { OpenCallback } from '../../sdk/index.ts'
import { clockTime, fromNow } from '../../sdk/views/moments.ts'
import { jsonArgument } from '../arguments.ts'
import { withRun } from '../failure.ts'
import { Session } from '../session.ts'

/** Adds the commands for callbacks: list them, and answer them. */
export function addCallbacks(program: Command): void {
  const callbacks = program
    .command('callbacks')
    .summary('list, complete or fail what a run waits for outside')
    .description('Lists the callbacks of a run that can be answered, and answers them.')

  const list = callbacks
    .command('list')
    .description(
      'Lists the callbacks of a run that can be answered now, each with its link. The bearer of a link may answer.',
    )
    .argument('<run>', 'its id')
    .action(async (runId: string) => {
      const session = Session.of(list)
      const open = await withRun(session.client, runId, () => session.client.listCallbacks(runId))
      const text =
        open.length === 0
          ? `${runId} waits for no callback`
          : open.map((each) => callbackText(each, Date.now())).join('\n')
      session.print(text, { callbacks: open.map(callbackToJson) })
    })

  const complete = callbacks
    .command('complete')
    .description('Answers a callback.')
    .argument('<token>', 'its token, or its link')
    .option('-r, --result <json>', 'JSON, @file, or - for standard input', jsonArgument)
    .action(async (token: string, { result }: { result?: unknown }) => {
      const session = Session.of(complete)
      await session.client.completeCallback(tokenIn(token), result)
      session.print('completed', { accepted: true, completed: true })
    })

  const fail = callbacks
    .command('fail')
    .description('Answers a callback with an error: the run gets it where it waits.')
    .argument('<token>', 'its token, or its link')
    .requiredOption('--message <text>', 'what went wrong')
    .action(async (token: string, { message }: { message: string }) => {
      const session = Session.of(fail)
      await session.client.failCallback(tokenIn(token), new Error(message))
      session.print('failed', { accepted: true, failed: true })
    })
}

const tokenIn = (text: string): string => text.slice(text.lastIndexOf('/') + 1)

function callbackText({ name, url, until }: OpenCallback, now: number): string {
  return `${name}${until === undefined ? '' : `, until ${clockTime(until, now)} (${fromNow(until, now)})`}\n  ${url}`
}
