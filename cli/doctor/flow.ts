import type { LimitView, PauseView } from '../../sdk/index.ts'
import type { RunPage } from '../../sdk/ports/run-lists.ts'
import { damageOf, runsInWords, totalsOf } from '../../sdk/views/limit-words.ts'
import { span } from '../../sdk/views/moments.ts'
import { dropCommand, resumeCommand, resumeLimitCommand, scopeInWords, stateInWords } from '../../sdk/views/turn.ts'
import type { Check } from './checks.ts'

interface Flow {
  pauses: readonly PauseView[]
  limits: readonly LimitView[]
  queued: RunPage
}

/** Runs may be paused one by one. */
const MOST_NAMED = 5

/** Reports pauses, which an operator may have forgotten. */
export function checkFlow({ pauses, limits, queued }: Flow, now = Date.now()): Check[] {
  const widestFirst = pauses.toSorted((a, b) => breadth(b) - breadth(a))
  const closed = limits.filter(({ paused }) => paused)
  const left = pauses.length - MOST_NAMED
  const isHeldBack = closed.length > 0 || pauses.some(({ perSecond }) => perSecond === undefined)
  return [
    ...widestFirst.slice(0, MOST_NAMED).map((pause) => ofPause(pause, now)),
    ...(left > 0 ? [ofOthers(left)] : []),
    ...closed.map(ofLimit),
    ...limits.filter((limit) => damageOf(limit).length > 0).map(ofDamaged),
    ...(pauses.length + closed.length === 0
      ? [{ name: 'pauses', state: 'ok', text: 'nothing is paused' } as const]
      : []),
    ofQueued(queued, isHeldBack),
  ]
}

const breadth = ({ scope }: PauseView): number => ('all' in scope ? 2 : 'workflow' in scope ? 1 : 0)

function ofPause(pause: PauseView, now: number): Check {
  const { scope, since, perSecond, waiting = { count: 0 } } = pause
  const what = scopeInWords(scope)
  const line = `${runsInWords(waiting)} queued`
  if (perSecond !== undefined) return { name: 'pauses', state: 'ok', text: `${what} ${stateInWords(pause)}; ${line}` }
  const text =
    `${what} has been paused for ${span(Math.max(0, now - since))}, ${line}; ` +
    `\`${resumeCommand(scope)}\` resumes it`
  return { name: 'pauses', state: 'warn', text }
}

const ofOthers = (left: number): Check => ({
  name: 'pauses',
  state: 'warn',
  text: `there ${left === 1 ? 'is 1 more pause' : `are ${left} more pauses`}; \`overwinter pauses\` lists them all`,
})

function ofLimit(limit: LimitView): Check {
  const { count, isMore } = totalsOf(limit).waiting
  const text =
    `limit '${limit.name}' is paused, ${count.toLocaleString('en')}${isMore ? ' or more' : ''} ` +
    `queued; \`${resumeLimitCommand(limit.name)}\` resumes it`
  return { name: 'limits', state: 'warn', text }
}

function ofDamaged(limit: LimitView): Check {
  const [first, ...others] = damageOf(limit)
  const more = others.length === 0 ? '' : ` and ${others.length} more`
  const text =
    `limit '${limit.name}' cannot be read: ${first}${more}; repair it, or drop it with ` +
    `\`${dropCommand(limit.name)}\``
  return { name: 'limits', state: 'bad', text }
}

/** Queued runs are what limits are for; they are worth a warning if something is paused. */
function ofQueued({ runs, cursor }: RunPage, isHeldBack: boolean): Check {
  const count = { count: runs.length, ...(cursor !== undefined && { isMore: true as const }) }
  if (runs.length === 0) return { name: 'queued', state: 'ok', text: 'no run is queued' }
  const text = `${runsInWords(count)} queued; \`overwinter limits\` and \`overwinter pauses\` say where`
  return { name: 'queued', state: isHeldBack ? 'warn' : 'ok', text }
}
