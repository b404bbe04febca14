import type { Bar, Row } from './timeline.ts'

/**
 * Folds repeats into one row: `charge`, `charge:1`, `charge:2`, and what a map does to each of its items.
 * Groups of one stay as they are.
 */
export function fold(rows: readonly Row[], maps: ReadonlySet<string>): Row[] {
  const groups = new Map<string, Row[]>()
  for (const row of rows) {
    const key = `${row.kind} ${inCommon(row.id, maps)}`
    const group = groups.get(key)
    if (group) group.push(row)
    else groups.set(key, [row])
  }
  return [...groups.values()].map((members) =>
    members.length === 1 ? members[0]! : folded(inCommon(members[0]!.id, maps), members),
  )
}

/** `orders/…/charge` stands for `orders/17/charge:2` and its like. */
function inCommon(id: string, maps: ReadonlySet<string>): string {
  let scope = ''
  const parts = id.split('/').map((part) => {
    const isItem = maps.has(scope)
    scope = scope === '' ? part : `${scope}/${part}`
    return isItem ? '…' : withoutRepeat(part)
  })
  return parts.join('/')
}

/** `charge` for `charge:2`. */
export const withoutRepeat = (part: string): string => part.replace(/:\d+$/, '')

function folded(id: string, members: Row[]): Row {
  const open = members.filter(({ outcome }) => outcome === 'open').length
  const failed = members.filter(({ outcome }) => outcome === 'failed')
  const error = failed.at(-1)?.error
  const medianMs = median(
    members.flatMap(({ outcome, from, to }) => (outcome === 'done' && to !== undefined ? [to - from] : [])),
  )
  const ends = members.map(({ to }) => to)
  return {
    id,
    kind: members[0]!.kind,
    outcome: open > 0 ? 'open' : failed.length > 0 ? 'failed' : members.at(-1)!.outcome,
    from: members[0]!.from,
    ...(open === 0 && { to: ends.reduce<number>((latest, to) => Math.max(latest, to!), 0) }),
    bars: merged(members),
    marks: members.flatMap(({ marks }) => marks),
    ...(error && { error }),
    first: members[0]!.first,
    last: members.at(-1)!.last,
    folded: { members, failures: failed.length, open, ...(medianMs !== undefined && { medianMs }) },
  }
}

/** Bars of members that overlap become one bar, which shows how many of them failed. */
function merged(members: readonly Row[]): Bar[] {
  const bars: Bar[] = []
  for (const bar of members.flatMap((member) => member.bars).sort((a, b) => a.from - b.from)) {
    const last = bars.at(-1)
    const touches = last && last.kind === bar.kind && (last.to === undefined || bar.from <= last.to)
    if (!touches) {
      bars.push({ ...bar, share: shareOf(bar) })
      continue
    }
    if (bar.to === undefined) delete last.to
    else if (last.to !== undefined) last.to = Math.max(last.to, bar.to)
    join(last, bar)
  }
  return bars
}

/** The outcome of two bars that are drawn as one. It is failed only if all of it is. */
export function join(last: Pick<Bar, 'outcome' | 'share'>, bar: Pick<Bar, 'outcome' | 'share'>): void {
  const [a, b] = [shareOf(last), shareOf(bar)]
  last.share = { failed: a.failed + b.failed, of: a.of + b.of }
  if (last.outcome === 'failed' || bar.outcome === 'open') last.outcome = bar.outcome
}

const shareOf = ({ outcome, share }: Pick<Bar, 'outcome' | 'share'>) =>
  share ?? { failed: outcome === 'failed' ? 1 : 0, of: 1 }

function median(values: number[]): number | undefined {
  if (values.length === 0) return undefined
  const sorted = values.sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1]! + sorted[middle]!) / 2
}
