import type { Command } from 'commander'
import { encode } from '../../sdk/base/values.ts'
import type { OverwinterClient } from '../../sdk/http-client/index.ts'
import type { BulkAction, Duration } from '../../sdk/index.ts'
import { jsonArgument } from '../arguments.ts'
import { type BulkOptions, steerMany, takesMany } from '../bulk.ts'
import { Failure, withRun } from '../failure.ts'
import { Session } from '../session.ts'

/** Adds the commands that change the course of a run. */
export function addSteering(program: Command): void {
  const signal = program
    .command('signal')
    .summary('send a signal to a run')
    .description('Sends a signal. It is kept until the run waits for it.')
    .argument('<run>', 'the id of the run')
    .argument('<name>', 'the name of the signal')
    .option('-p, --payload <json>', 'JSON, @file, or - for standard input', jsonArgument)
    .option('--key <key>', 'an idempotency key: sent twice under it, the signal counts once')
    .action(async (runId: string, name: string, { payload, key }: { payload?: unknown; key?: string }) => {
      const session = Session.of(signal)
      const { accepted } = await withRun(session.client, runId, () =>
        session.client.signal(runId, name, payload, { idempotencyKey: key }),
      )
      session.print(accepted ? `sent ${name} to ${runId}` : `${name} had been sent under this key before`, {
        runId,
        accepted,
      })
    })

  const ask = program
    .command('ask')
    .summary('send a request to a run and print its reply')
    .description('Sends a request, waits until the run has replied, and prints the reply.')
    .argument('<run>', 'the id of the run')
    .argument('<name>', 'the name of the request')
    .option('-p, --payload <json>', 'JSON, @file, or - for standard input', jsonArgument)
    .option('--timeout <duration>', 'how long to wait for the reply', '30s')
    .option('--key <key>', 'an idempotency key: asked twice under it, the request counts once')
    .action(
      async (
        runId: string,
        name: string,
        { payload, timeout, key }: { payload?: unknown; timeout: Duration; key?: string },
      ) => {
        const session = Session.of(ask)
        const { client } = session
        const result = await withRun(client, runId, () =>
          client.ask(runId, name, payload, { timeout, ...(key !== undefined && { idempotencyKey: key }) }),
        )
        const json = encode(result, 'the reply')
        session.print(JSON.stringify(json, undefined, 2) ?? '(nothing)', { result: json })
      },
    )

  const cancel = program
    .command('cancel')
    .summary('ask a run to stop; its clean-up runs')
    .description('Asks a run to stop. Its clean-up runs.')
  const terminate = program
    .command('terminate')
    .summary('end a run at once, without clean-up')
    .description('Ends a run at once. None of its code runs any more.')
  for (const command of [cancel, terminate])
    takesMany(command.argument('[run]', 'its id')).option('--reason <text>', 'kept in its history')
  steers(cancel, (client, runId, { reason }) => client.cancel(runId, reason), 'asked to stop', 'cancel')
  steers(terminate, (client, runId, { reason }) => client.terminate(runId, reason), 'ended', 'terminate')

  const retry = program
    .command('retry')
    .summary('let a failed or stuck run go on')
    .description('Lets a failed run go on from the step that failed, or tries a stuck one again.')
    .argument('[run]', 'its id')
  steers(takesMany(retry), (client, runId) => client.retry(runId), 'is retried', 'retry')

  const wake = program
    .command('wake')
    .summary('end the sleeps a run is in')
    .description('Ends the sleeps a run is in, or tries a stuck one again.')
    .argument('<run>', 'its id')
  steers(wake, (client, runId) => client.wake(runId), 'woken')

  const erase = program
    .command('erase')
    .summary('remove everything that is stored of an ended run, or of all runs with a tag')
    .description(
      'Removes the input, output, history, signals, tasks and payloads of a run that has ended. This cannot be undone. ' +
        'With --tag it starts a run that does so for all runs with that tag.',
    )
    .argument('[run]', 'its id')
    .option('--tag <tag>', 'all runs with this tag')
    .option('--workflow <name>', 'with --tag: only runs of this workflow')
    .option('--terminate', 'with --tag: end runs that have not ended, and erase them too')
    .option('--yes', 'do it')
    .action(async (runId: string | undefined, { yes, tag, workflow: of, terminate }: EraseOptions) => {
      const session = Session.of(erase)
      if ((runId === undefined) === (tag === undefined))
        throw new Failure('say which run, by its id, or which runs, with --tag; one of the two')
      if (runId === undefined) {
        const which = `all runs tagged '${tag}'${of === undefined ? '' : ` of ${of}`}${terminate ? '' : ' that have ended'}`
        if (!yes) throw new Failure(`this would remove ${which} for good; say --yes to do it`)
        const started = await session.client.eraseTagged(tag!, {
          ...(of !== undefined && { workflow: of }),
          ...(terminate && { terminate }),
        })
        return session.print(
          `run ${started.runId} erases ${which}; \`overwinter show ${started.runId}\` says how far it is`,
          started,
        )
      }
      const { workflow, status } = await withRun(session.client, runId, () => session.client.get(runId))
      if (!yes)
        throw new Failure(
          `this would remove all there is of ${runId} (${workflow}, ${status}) for good; say --yes to do it`,
        )
      await session.client.erase(runId)
      session.print(`erased ${runId}`, { runId, erased: true })
    })

  const rerun = program
    .command('rerun')
    .summary('start a run anew, from its beginning or from one of its steps')
    .description(
      'Starts a new run with the same input. With --from it takes over the results of all steps before the given one.',
    )
    .argument('[run]', 'the id of the run to repeat')
    .option('--from <step>', 'the first step to run again; without it, the run begins at its beginning')
    .option('--id <id>', 'the id of the new run')
    .option('--inherit-undone', 'with --from: take over results that the run has undone since (ctx.compensate)')
  takesMany(rerun, 'long').action(
    async (runId: string | undefined, { id, from, inheritUndone, ...many }: BulkOptions & { id?: string }) => {
      const session = Session.of(rerun)
      const options = { ...(from !== undefined && { from }), ...(inheritUndone && { inheritUndone }) }
      if (runId === undefined) {
        if (id !== undefined)
          throw new Failure('--id is the id of one new run; for runs whose ids begin alike, give --id-prefix')
        return steerMany(session, 'rerun', { ...many, ...options })
      }
      if (Object.keys(many).length > 0) throw new Failure(ONE_OF_THE_TWO)
      const started = await withRun(session.client, runId, () =>
        session.client.rerun(runId, { ...options, ...(id !== undefined && { id }) }),
      )
      const { status } = await session.client.get(started.runId)
      session.print(
        `started ${started.runId}, from ${from === undefined ? 'the beginning' : `'${from}'`} of ${runId}`,
        { ...started, status },
      )
    },
  )
}

const ONE_OF_THE_TWO = 'say which run, by its id, or which runs, with filters; one of the two'

interface EraseOptions {
  yes?: boolean
  tag?: string
  workflow?: string
  terminate?: boolean
}

/** `many`: the command's summary, if it can be applied to many runs at once. */
function steers(
  command: Command,
  steer: (client: OverwinterClient, runId: string, options: BulkOptions) => Promise<void>,
  done: string,
  many?: BulkAction,
): void {
  command.action(async (runId: string | undefined, options: BulkOptions & { id?: string }) => {
    const session = Session.of(command)
    const { id: idPrefix, from: createdFrom, ...rest } = options
    if (many && runId === undefined) return steerMany(session, many, { ...rest, idPrefix, createdFrom })
    const stray = Object.keys(options).find((name) => name !== 'reason')
    if (runId === undefined || stray !== undefined) throw new Failure(ONE_OF_THE_TWO)
    await withRun(session.client, runId, () => steer(session.client, runId, options))
    const { status } = await session.client.get(runId)
    session.print(`${runId} ${done}; it is ${status}`, { runId, status })
  })
}
