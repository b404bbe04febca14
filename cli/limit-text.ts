import type { GateView, LimitView } from '../sdk/index.ts'
import { countInWords, damageOf, inForceInWords, keysInWords, specInWords, totalsOf } from '../sdk/views/limit-words.ts'
import { clockTime, fromNow, span } from '../sdk/views/moments.ts'
import { dropCommand, quoted } from '../sdk/views/turn.ts'
import { paint } from './terminal.ts'
import { textTable } from './text-table.ts'

export function limitTable(limits: readonly LimitView[]): string {
  const rows = limits.map((limit) => {
    const { inside, waiting } = totalsOf(limit)
    return [
      limit.name,
      inForceInWords(limit),
      limit.isSet ? 'yes' : '',
      countInWords(inside) + keysInWords(limit),
      countInWords(waiting),
      damageOf(limit).length > 0 ? 'cannot be read' : limit.paused ? 'yes' : restsInWords(limit),
    ]
  })
  return textTable(['LIMIT', 'IN FORCE', 'SET', 'INSIDE', 'WAITING', 'PAUSED'], rows)
}

const restsInWords = ({ gates }: LimitView): string =>
  gates.some(({ restUntil }) => restUntil !== undefined) ? 'cooldown' : ''
/** One limit, key by key. */
export function limitText(limit: LimitView, now: number): string {
  const { name, code, isSet, paused, gates, hasMore } = limit
  const set = isSet
    ? `, as was set (the code has ${specInWords(code)}; \`overwinter limits reset ${quoted(name)}\`)`
    : ''
  const lines = [`${paint('bold', name)}  ${inForceInWords(limit)}${set}`]
  for (const problem of damageOf(limit)) lines.push(`  ${paint('red', 'cannot be read')}: ${problem}`)
  if (damageOf(limit).length > 0) lines.push(`  repair it, or drop it: \`${dropCommand(name)}\``)
  if (paused)
    lines.push(`  ${paint('yellow', 'paused')}: it admits nothing; \`overwinter limits resume ${quoted(name)}\``)
  for (const gate of gates) lines.push(...gateLines(gate, now))
  if (gates.length === 0) lines.push('  not used lately')
  if (hasMore) lines.push('  There are more keys')
  return lines.join('\n')
}

function gateLines({ key, inside, holders, waiting, next, restUntil, heldMs }: GateView, now: number): string[] {
  const indent = key === undefined ? '  ' : '    '
  const field = (title: string, text: string) => `${indent}${paint('dim', title.padEnd(8))} ${text}`
  return [
    ...(key === undefined ? [] : [`  ${key}`]),
    field('inside', `${inside}${some(holders, inside)}`),
    field('waiting', `${countInWords(waiting)}${some(next, waiting.count)}`),
    ...(heldMs === undefined ? [] : [field('stay', `about ${span(heldMs)} each, lately`)]),
    ...(restUntil === undefined
      ? []
      : [
          field(
            'cooldown',
            `until ${clockTime(restUntil, now)} (${fromNow(restUntil, now)}); \`overwinter limits resume\` ends that`,
          ),
        ]),
  ]
}

function some(names: readonly string[], of: number): string {
  return names.length === 0 ? '' : `: ${names.join(', ')}${names.length < of ? ', …' : ''}`
}
