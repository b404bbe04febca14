import type { QueueView } from '../client/run-view.ts'
import type { LimitSpec } from '../flow/limiter/limit.ts'
import { isPause, type PauseScope, scopeOf } from '../flow/limiter/pause-scope.ts'
import type { PauseView } from '../flow/pauses.ts'
import type { Count } from '../ports/run-lists.ts'
import { runsInWords, specInWords } from './limit-words.ts'
import { about } from './moments.ts'
import type { Remedy } from './why.ts'

/** The place of a run or an operation in a queue. */
export interface Place {
  place: Count
  expectedAt?: number
  paused: boolean
  /** The limiter grants no permit before, because a holder asked for a cooldown. */
  restUntil?: number
  /** A pause that also applies, besides the limit. */
  pause?: PauseScope
  /** The stored parts of the limiter that cannot be read. */
  unreadable?: string[]
}

/** What a queued run waits for, as a phrase. */
export function turnOf(queue: QueueView, now: number): string {
  const { limit, key, paused, pause, unreadable } = queue
  const damage = unreadable ? ', of which something cannot be read' : ''
  const where = `${damage} (${placeInWords(queue, now)})${pause ? `, while ${scopeInWords(pause)} is paused` : ''}`
  if (isPause(limit))
    return (
      `${paused ? 'the end of the pause of' : 'its turn after the pause of'} ` +
      `${scopeInWords(scopeOf(limit))}${where}`
    )
  return `its turn at limit '${limit}'${key === undefined ? '' : ` for '${key}'`}${paused ? ', which is paused' : ''}${where}`
}

/** `place 12, expected in about 3 min`. */
export function placeInWords({ place, expectedAt }: Pick<Place, 'place' | 'expectedAt'>, now: number): string {
  const at = `place ${place.isMore ? 'behind ' : ''}${place.count.toLocaleString('en')}`
  if (expectedAt === undefined) return at
  return `${at}, expected ${expectedAt <= now ? 'any moment' : `in about ${about(expectedAt - now)}`}`
}

export function scopeInWords(scope: PauseScope): string {
  return 'all' in scope ? 'everything' : 'workflow' in scope ? `workflow '${scope.workflow}'` : `run '${scope.run}'`
}

/** Whether it is paused, or resumed with a rate: the first run goes on at once, whatever the rate. */
export function stateInWords({
  scope,
  perSecond,
  unreadable,
}: Pick<PauseView, 'scope' | 'perSecond' | 'unreadable'>): string {
  if (unreadable !== undefined) return 'is paused, and its record cannot be read'
  if (perSecond === undefined) return 'is paused'
  return 'run' in scope ? 'goes on' : `goes on, ${runsInWords({ count: perSecond })} a second`
}

/** The shell command that resumes it. */
export function resumeCommand(scope: PauseScope): string {
  return `overwinter resume ${'all' in scope ? '--all' : 'workflow' in scope ? quoted(scope.workflow) : `--run ${quoted(scope.run)}`}`
}

const endOf = (scope: PauseScope): Remedy => ({
  what: `let ${scopeInWords(scope)} go on`,
  command: resumeCommand(scope),
})

/** How an operator can speed it up. `spec`: the numbers of the limit, where they are known. */
export function remediesInQueue(
  {
    limit,
    paused,
    pause,
    restUntil,
    unreadable,
  }: Pick<QueueView, 'limit' | 'paused' | 'pause' | 'unreadable'> & { restUntil?: number },
  spec: LimitSpec | undefined,
): Remedy[] {
  const isOfPause = isPause(limit)
  const name = quoted(limit)
  // Unreadable state must be repaired first; no other fact is reliable.
  if (unreadable)
    return [{ what: 'repair what is stored, and it goes on within a minute; or drop it', command: dropCommand(limit) }]
  const ends = [
    ...(pause ? [endOf(pause)] : []),
    ...(paused && isOfPause ? [endOf(scopeOf(limit))] : []),
    ...(paused && !isOfPause ? [{ what: `resume limit '${limit}'`, command: resumeLimitCommand(limit) }] : []),
  ]
  // While it is paused, only a resume helps.
  if (ends.length > 0) return ends
  if (restUntil !== undefined)
    return [
      {
        what: `end the cooldown of limit '${limit}', if the service has recovered`,
        command: resumeLimitCommand(limit),
      },
    ]
  if (isOfPause) return [{ what: 'raise their rate', command: `${resumeCommand(scopeOf(limit))} --rate …/s` }]
  const look: Remedy = { what: 'see what is inside, and what is queued', command: `overwinter limits show ${name}` }
  // A singleton's limit of one is its purpose.
  if (limit.endsWith(':singleton') || !spec) return [look]
  const numbers = [spec.concurrency !== undefined && ' --concurrency …', spec.rate !== undefined && ' --rate …']
    .filter(Boolean)
    .join('')
  return [
    { what: `raise the limit, which is ${specInWords(spec)}`, command: `overwinter limits set ${name}${numbers}` },
    look,
  ]
}

/** The command that drops the unreadable state of a limit or a pause, so that it goes on. */
export const dropCommand = (limit: string): string =>
  isPause(limit) ? resumeCommand(scopeOf(limit)) : `overwinter limits reset ${quoted(limit)}`

export const resumeLimitCommand = (limit: string): string => `overwinter limits resume ${quoted(limit)}`

/** Quotes a workflow's name, which may contain anything, for a command that is pasted into a shell. */
export function quoted(name: string): string {
  const word = /^[\w:.@+=~-]+$/.test(name) && !name.startsWith('~') ? name : `'${name.replaceAll("'", "'\\''")}'`
  return name.startsWith('-') ? `-- ${word}` : word
}
