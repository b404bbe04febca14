import { useMemo, useState } from 'preact/hooks'
import type { Row, Timeline } from '../../sdk/views/timeline.ts'
import type { PlacedEvent } from '../api.ts'
import { duration, plural } from '../format.ts'
import { useKeys } from '../keys.ts'
import { Empty } from '../parts/states.tsx'
import { now } from '../parts/time.tsx'
import { Virtual } from '../parts/virtual.tsx'
import { select, selected } from '../route.ts'
import { type Axis, cutAxis, trueAxis } from './axis.ts'
import { Search } from './search.tsx'
import { TimelineRow } from './timeline-row.tsx'

const ROW_HEIGHT = 28
const TICKS = [0, 0.2, 0.4, 0.6, 0.8]
/** With more cuts, their marks would hide the bars. */
const MOST_CUTS = 8

interface Line {
  row: Row
  level: number
  isOpen?: boolean
}

export function TimelineTab({ view, events }: { view: Timeline; events: readonly PlacedEvent[] }) {
  const isTrue = selected('scale') === 'true'
  const onlyErrors = selected('errors') === '1'
  const sought = selected('q') ?? ''
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set())
  const end = view.to ?? Math.max(now.value, events.at(-1)?.at ?? 0)
  // A running run needs no new axis every second: bursts end with the last event.
  const axis = useMemo(
    () => (isTrue ? trueAxis(view, end) : cutAxis(view, end)),
    [view, isTrue, isTrue ? end : view.to],
  )
  const lines = useMemo(() => linesOf(view.rows, { onlyErrors, sought, opened }), [view, onlyErrors, sought, opened])
  const chosen = selected('event')
  const active = chosen === undefined ? -1 : lines.findIndex(({ row }) => !row.folded && row.last === chosen)
  const choose = (i: number) => {
    const line = lines[Math.max(0, Math.min(lines.length - 1, i))]
    if (line) select({ event: line.row.last }, { replaces: true })
  }
  useKeys({ j: () => choose(active + 1), k: () => choose(active - 1) })
  const toggle = (id: string) =>
    setOpened((before) =>
      before.has(id) ? new Set([...before].filter((each) => each !== id)) : new Set([...before, id]),
    )
  return (
    <>
      <div class="tools">
        <Search label="Find a step" />
        <label class="check">
          <input
            type="checkbox"
            checked={onlyErrors}
            onChange={() => select({ errors: onlyErrors ? undefined : '1' })}
          />{' '}
          Only errors
        </label>
        <label class="check">
          <input type="checkbox" checked={isTrue} onChange={() => select({ scale: isTrue ? undefined : 'true' })} />{' '}
          True to scale
        </label>
        <p class="muted visits">{visitsOf(view, end)}</p>
      </div>
      {lines.length === 0 ? (
        <Empty title={view.rows.length === 0 ? 'It has done nothing so far but begin' : 'No row fits'} />
      ) : (
        <Virtual
          count={lines.length}
          rowHeight={ROW_HEIGHT}
          label="Timeline"
          role="list"
          className="timeline"
          active={active}
          head={<Scale axis={axis} from={view.from} />}
          row={(i, style) => {
            const { row, level, isOpen } = lines[i]!
            return (
              <TimelineRow
                key={`${level} ${row.id}`}
                {...{ row, level, style, axis, end }}
                isActive={i === active}
                {...(isOpen !== undefined && { isOpen })}
                onToggle={() => toggle(row.id)}
              />
            )
          }}
        />
      )}
    </>
  )
}

/** "awake 0.4 s of 30 d, in 3 visits" */
function visitsOf({ from, awakeMs, visits }: Timeline, end: number): string {
  return visits.length === 0
    ? ''
    : `awake ${duration(awakeMs)} of ${duration(end - from)}, in ${plural(visits.length, 'visit')}`
}

function linesOf(
  rows: readonly Row[],
  { onlyErrors, sought, opened }: { onlyErrors: boolean; sought: string; opened: ReadonlySet<string> },
): Line[] {
  const text = sought.toLowerCase()
  const fits = (row: Row): boolean =>
    (!onlyErrors || row.outcome === 'failed' || row.outcome === 'timed out' || row.error !== undefined) &&
    (text === '' ||
      row.id.toLowerCase().includes(text) ||
      (row.on?.toLowerCase().includes(text) ?? false) ||
      (row.error?.message.toLowerCase().includes(text) ?? false))
  return rows.flatMap((row): Line[] => {
    if (!row.folded) return fits(row) ? [{ row, level: 0 }] : []
    const members = row.folded.members.filter(fits)
    if (members.length === 0) return []
    const isOpen = opened.has(row.id)
    return [{ row, level: 0, isOpen }, ...(isOpen ? members.map((member) => ({ row: member, level: 1 })) : [])]
  })
}

/** About how much of the axis a label takes. */
const LABEL = 0.09

/** The longest cuts whose labels do not overlap. */
function apart(cuts: readonly Axis['cuts'][number][]): Axis['cuts'] {
  const kept: Axis['cuts'] = []
  for (const cut of cuts) if (kept.every(({ place }) => Math.abs(place - cut.place) >= LABEL)) kept.push(cut)
  return kept
}

function Scale({ axis, from }: { axis: Axis; from: number }) {
  const cuts = apart(axis.cuts.toSorted((a, b) => b.ms - a.ms)).slice(0, MOST_CUTS)
  const ticks = TICKS.map((place) => ({ place, text: `+${duration(axis.timeAt(place) - from)}` })).filter(
    ({ text }, i, all) => text !== all[i - 1]?.text,
  )
  return (
    <div class="scale" role="presentation">
      <div class="scale-track">
        {ticks.map(({ place, text }) => (
          <span key={place} class="tick" style={{ left: `${place * 100}%` }}>
            {text}
          </span>
        ))}
        {cuts.map(({ place, ms }) => (
          <span
            key={place}
            class="cut-mark"
            style={{ left: `${place * 100}%` }}
            title={`${duration(ms)} in which nothing happened, cut out`}
          >
            {duration(ms)}
          </span>
        ))}
      </div>
    </div>
  )
}
