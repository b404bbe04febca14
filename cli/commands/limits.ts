import { type Command, InvalidArgumentError } from 'commander'
import { limitToJson } from '../../sdk/http-api/encode.ts'
import type { Duration, LimitView } from '../../sdk/index.ts'
import { specInWords } from '../../sdk/views/limit-words.ts'
import { quoted } from '../../sdk/views/turn.ts'
import { Failure } from '../failure.ts'
import { limitTable, limitText } from '../limit-text.ts'
import { Session } from '../session.ts'

const SUMMARIES = {
  pause: 'admit no more runs and steps',
  resume: 'admit queued runs and steps again',
  reset: 'use the numbers of the code again, and drop unreadable state',
} as const
const DONE = {
  pause: () => 'admits nothing until it is resumed; what is inside stays there',
  resume: () => 'admits what is queued again',
  reset: ({ inForce }: LimitView) => `is as in the code again: ${specInWords(inForce)}`,
} as const

export function addLimits(program: Command): void {
  const limits = program
    .command('limits')
    .summary('list limits and their queues; set, pause, resume or reset one')
    .description(
      'Lists the limits that runs and steps have used: their numbers, how many are inside and how many are queued. ' +
        'Limits of a workflow are named after it.',
    )
    .action(async () => {
      const session = Session.of(limits)
      const found = await session.client.limits.list()
      session.print(found.length === 0 ? 'no limits; one is known once a run has used it' : limitTable(found), {
        limits: found.map(limitToJson),
      })
    })

  const show = limits
    .command('show')
    .description('Shows a limit, key by key: what is inside, and what is next.')
    .argument('<limit>', 'its name')
    .action(async (name: string) => {
      const session = Session.of(show)
      const limit = await session.client.limits.get(name)
      session.print(limitText(limit, Date.now()), limitToJson(limit))
    })

  const set = limits
    .command('set')
    .description(
      'Sets other numbers than those of the code, without a deployment, until they are reset. Omitted numbers ' +
        'stay as they are.',
    )
    .argument('<limit>', 'its name')
    .option('--concurrency <count>', 'how many may be inside at once', numberArgument)
    .option('--rate <count>', 'how many may begin within --per', numberArgument)
    .option('--per <duration>', "the time that the rate is for: '1s', '1m', '1h'")
    .action(async (name: string, options: { concurrency?: number; rate?: number; per?: Duration }) => {
      const session = Session.of(set)
      if (Object.keys(options).length === 0)
        throw new Failure(`say what ${name} is to be, with --concurrency, or with --rate and --per`)
      const limit = await session.client.limits.set(name, options)
      session.print(
        `${name} is now ${specInWords(limit.inForce)}; \`overwinter limits reset ${quoted(name)}\` takes it back`,
        limitToJson(limit),
      )
    })

  for (const action of ['pause', 'resume', 'reset'] as const) {
    const sub = limits
      .command(action)
      .description(SUMMARIES[action])
      .argument('<limit>', 'its name')
      .action(async (name: string) => {
        const session = Session.of(sub)
        const { limits } = session.client
        if (action === 'resume') {
          const { paused, gates } = await limits.get(name)
          if (!paused && gates.every(({ restUntil }) => restUntil === undefined))
            throw new Failure(
              `limit '${name}' is not paused, and does not rest; \`overwinter limits\` lists those that are paused`,
            )
        }
        const limit = await limits[action](name)
        session.print(`${name} ${DONE[action](limit)}`, limitToJson(limit))
      })
  }
}

function numberArgument(text: string): number {
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1)
    throw new InvalidArgumentError(
      'It must be a whole number from 1. To let nothing through, pause it: `overwinter limits pause <limit>`.',
    )
  return count
}
