import type { CSSProperties } from 'preact'
import { asWritten } from '../../sdk/views/as-written.ts'
import { join } from '../../sdk/views/fold.ts'
import type { Bar, Outcome, Row } from '../../sdk/views/timeline.ts'
import { amount, clockTime, duration } from '../format.ts'
import { Icon } from '../parts/icons.tsx'
import { href, place, select } from '../route.ts'
import type { Axis } from './axis.ts'

interface RowProps {
  row: Row
  level: number
  style: CSSProperties
  axis: Axis
  end: number
  isActive: boolean
  /** Of a folded row. */
  isOpen?: boolean
  onToggle(): void
}

/** More bars in one row would be narrower than a pixel: neighbours are merged. */
const MOST_BARS = 24

export function TimelineRow({ row, level, style, axis, end, isActive, isOpen, onToggle }: RowProps) {
  const { id, kind, outcome, folded, on, from, to, last, error } = row
  const took = duration((to ?? end) - from)
  const { path, query } = place.value
  const name = (
    <>
      <Icon name={kind} />
      <span class="row-id cut">{asWritten(id)}</span>
      {folded && (
        <span class="row-count">
          ×{amount(folded.members.length)}
          {folded.failures > 0 && <span class="is-failed-text"> {amount(folded.failures)} failed</span>}
          {folded.medianMs !== undefined && <span class="muted"> median {duration(folded.medianMs)}</span>}
        </span>
      )}
      {on !== undefined && on !== id && <span class="muted cut row-on">{on}</span>}
    </>
  )
  return (
    <div
      role="listitem"
      class={`timeline-row is-${outcome.replace(' ', '-')} ${isActive ? 'is-active' : ''} ${level > 0 ? 'is-member' : ''}`}
      style={style}
    >
      {folded ? (
        <button type="button" class="row-name" aria-expanded={isOpen ?? false} onClick={onToggle} title={asWritten(id)}>
          <Icon name="open" className="fold" />
          {name}
        </button>
      ) : (
        <a
          class="row-name"
          href={href(path, { ...Object.fromEntries(query), event: last })}
          title={error ? `${asWritten(id)}: ${error.name}: ${error.message}` : asWritten(id)}
        >
          {name}
        </a>
      )}
      {/* The name before it does the same; this is for mouse users. */}
      <div class="track" onClick={folded ? onToggle : () => select({ event: last })}>
        {drawn(row.bars, axis, end).map((bar) => (
          <span
            key={bar.key}
            class={`bar is-${bar.kind} is-${bar.outcome.replace(' ', '-')}`}
            style={{ left: `min(${bar.left * 100}%, 100% - 3px)`, width: `${bar.width * 100}%` }}
            title={bar.title}
          >
            {bar.share && bar.share.failed > 0 && bar.outcome !== 'failed' && (
              <span class="bar-failed" style={{ width: `max(2px, ${(bar.share.failed / bar.share.of) * 100}%)` }} />
            )}
          </span>
        ))}
      </div>
      <span class="row-took number">
        {SAYS[outcome]}
        {took}
      </span>
    </div>
  )
}

const SAYS: Record<Outcome, string> = {
  open: 'open · ',
  done: '',
  failed: 'failed · ',
  'timed out': 'timed out · ',
  'taken back': 'taken back · ',
}

interface Drawn {
  key: string
  kind: Bar['kind']
  outcome: Outcome
  left: number
  width: number
  share?: { failed: number; of: number }
  title: string
}

function drawn(bars: readonly Bar[], axis: Axis, end: number): Drawn[] {
  const all: Drawn[] = []
  const finest = bars.length > MOST_BARS ? 1 / MOST_BARS : 0
  for (const { kind, outcome, share, from, to = end, n, attempt } of bars) {
    const [left, right] = [axis.at(from), axis.at(to)]
    const last = all.at(-1)
    if (last && finest > 0 && right - last.left < finest) {
      last.width = Math.max(last.width, right - last.left)
      join(last, { outcome, ...(share && { share }) })
      continue
    }
    const title =
      `${attempt === undefined ? kind : `attempt ${attempt}`}: ${outcome}, ${duration(to - from)}, ` +
      `from ${clockTime(from)}`
    const failures =
      share && share.failed > 0 && share.of > 1 ? `; ${amount(share.failed)} of ${amount(share.of)} failed` : ''
    all.push({
      key: `${kind}${n}`,
      kind,
      outcome,
      left,
      width: right - left,
      title: title + failures,
      ...(share && { share }),
    })
  }
  return all
}
