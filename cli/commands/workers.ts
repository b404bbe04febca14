import type { Command } from 'commander'
import { type Duration, milliseconds } from '../../sdk/base/duration.ts'
import { newTokenToJson, tokenToJson, workerToJson } from '../../sdk/http-api/encode.ts'
import type { LiveWorker } from '../../sdk/tasks/directory.ts'
import { checkTerms, TOKEN_SCOPES, type TokenScope, type TokenView } from '../../sdk/tasks/tokens.ts'
import { clockTime, fromNow } from '../../sdk/views/moments.ts'
import { Failure } from '../failure.ts'
import { Session } from '../session.ts'
import { textTable } from '../text-table.ts'

/** Adds the commands for external workers and their tokens. */
export function addWorkers(program: Command): void {
  const workers = program
    .command('workers')
    .summary('list the workers that are there')
    .description('Lists the workers that have sent a heartbeat in the last minute.')
    .action(async () => {
      const session = Session.of(workers)
      const live = await session.client.listWorkers()
      session.print(live.length === 0 ? 'no workers' : workerTable(live, Date.now()), {
        workers: live.map(workerToJson),
      })
    })

  const tokens = program
    .command('tokens')
    .summary('make, list or revoke tokens')
    .description('Workers prove with a token that they may take tasks, and others that they may use a part of the API.')
  const create = tokens
    .command('create')
    .description('Makes a token. It is shown now and never again: only its SHA-256 is kept.')
    .argument('[name]', 'what it is for, for people (default: its scopes and workflows)')
    .option(
      '--scope <scopes>',
      `what it is good for, with commas in between: ${TOKEN_SCOPES.join(', ')} (default: work)`,
    )
    .option('--workflow <workflows>', 'the workflows it is good for, with commas in between (default: all)')
    .option('--types <types>', 'the types of tasks it is good for, with commas in between (default: all)')
    .option('--expires <duration>', "until it is worth nothing: '90d', '12h' (default: never)")
    .action(async (name: string | undefined, { scope, workflow, types, expires }: CreateOptions) => {
      const session = Session.of(create)
      if (expires !== undefined) milliseconds(expires, '--expires')
      const terms = {
        ...(scope !== undefined && { scopes: listOf(scope) as TokenScope[] }),
        ...(workflow !== undefined && { workflows: listOf(workflow) }),
        ...(types !== undefined && { types: listOf(types) }),
      }
      checkTerms(terms)
      const { token, ...made } = await session.client.createToken({
        name: name ?? [scope ?? 'work', workflow ?? types ?? ''].join(' ').trim(),
        ...terms,
        ...(expires !== undefined && { expiresIn: expires }),
      })
      session.print(
        `${token}\n\nThis is the only time it is shown. To revoke it: overwinter tokens revoke ${made.id}`,
        newTokenToJson({ ...made, token }),
      )
    })
  const list = tokens
    .command('list')
    .description('Lists the tokens, without what makes them work.')
    .action(async () => {
      const session = Session.of(list)
      const known = await session.client.listTokens()
      session.print(known.length === 0 ? 'no tokens' : tokenTable(known, Date.now()), {
        tokens: known.map(tokenToJson),
      })
    })
  const revoke = tokens
    .command('revoke')
    .description('From now on the token opens nothing.')
    .argument('<id>', 'its id, as the list has it')
    .action(async (id: string) => {
      const session = Session.of(revoke)
      const known = (await session.client.listTokens()).map((token) => token.id)
      if (!known.includes(id)) throw new Failure(`no token '${id}'; known: ${known.join(', ') || 'none'}`)
      await session.client.revokeToken(id)
      session.print(`${id} opens nothing any more`, { id })
    })
}

interface CreateOptions {
  scope?: string
  workflow?: string
  types?: string
  expires?: Duration
}

const listOf = (text: string): string[] => text.split(',').map((each) => each.trim())

function workerTable(workers: LiveWorker[], now: number): string {
  const rows = workers.map(({ worker_id, language, transport, task_types, load, max_tasks, seenAt }) => [
    worker_id,
    language,
    transport,
    task_types.join(', '),
    `${load}/${max_tasks}`,
    // The server's clock may be ahead of ours.
    fromNow(Math.min(seenAt, now - 1), now),
  ])
  return textTable(['WORKER', 'LANGUAGE', 'TRANSPORT', 'TYPES', 'LOAD', 'LAST SEEN'], rows)
}

function tokenTable(tokens: TokenView[], now: number): string {
  const rows = tokens.map(({ id, name, scopes, workflows, types, state, createdAt, expiresAt }) => [
    id,
    name,
    scopes.join(', '),
    (workflows ?? types)?.join(', ') ?? 'all',
    state,
    clockTime(createdAt, now),
    expiresAt === undefined ? 'never' : clockTime(expiresAt, now),
  ])
  return textTable(['TOKEN', 'NAME', 'SCOPE', 'FOR', 'STATE', 'CREATED', 'EXPIRES'], rows)
}
