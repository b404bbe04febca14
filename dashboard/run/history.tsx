import { useMemo } from 'preact/hooks'
import { asWritten } from '../../sdk/views/as-written.ts'
import type { PlacedEvent } from '../api.ts'
import { absolute, amount, clockTime, day } from '../format.ts'
import { useKeys } from '../keys.ts'
import { Empty } from '../parts/states.tsx'
import { Virtual } from '../parts/virtual.tsx'
import { href, place, select, selected } from '../route.ts'
import { isError, opOf, wordsOf } from './event-words.ts'
import { Search } from './search.tsx'

const ROW_HEIGHT = 26

export function HistoryTab({ events }: { events: readonly PlacedEvent[] }) {
  const onlyErrors = selected('errors') === '1'
  const sought = (selected('q') ?? '').toLowerCase()
  const shown = useMemo(
    () =>
      events.filter(
        (event) =>
          (!onlyErrors || isError(event)) &&
          (sought === '' ||
            event.type.toLowerCase().includes(sought) ||
            opOf(event)?.toLowerCase().includes(sought) ||
            wordsOf(event).toLowerCase().includes(sought)),
      ),
    [events, onlyErrors, sought],
  )
  const chosen = selected('event')
  const active = chosen === undefined ? -1 : shown.findIndex(({ n }) => n === chosen)
  const choose = (i: number) => {
    const event = shown[Math.max(0, Math.min(shown.length - 1, i))]
    if (event) select({ event: event.n }, { replaces: true })
  }
  useKeys({ j: () => choose(active + 1), k: () => choose(active - 1) })
  const { path, query } = place.value
  return (
    <>
      <div class="tools">
        <Search label="Find in the history" />
        <label class="check">
          <input
            type="checkbox"
            checked={onlyErrors}
            onChange={() => select({ errors: onlyErrors ? undefined : '1' })}
          />{' '}
          Only errors
        </label>
        <p class="muted">
          {amount(shown.length)} of {amount(events.length)} events
        </p>
      </div>
      {shown.length === 0 ? (
        <Empty title={events.length === 0 ? 'Nothing has happened yet' : 'No event fits'} />
      ) : (
        <Virtual
          count={shown.length}
          rowHeight={ROW_HEIGHT}
          label="History"
          role="table"
          className="history"
          active={active}
          head={<HistoryHead />}
          row={(i, style) => {
            const event = shown[i]!
            const isNewDay = i === 0 || day(event.at) !== day(shown[i - 1]!.at)
            return (
              <div
                key={event.n}
                role="row"
                aria-rowindex={i + 2}
                class={`history-row ${i === active ? 'is-active' : ''} ${isError(event) ? 'is-error' : ''}`}
                style={style}
              >
                <span role="cell" class="number muted">
                  {event.n}
                </span>
                <span role="cell" class="number" title={absolute(event.at)}>
                  {isNewDay && <span class="muted">{day(event.at)} </span>}
                  {clockTime(event.at)}
                </span>
                <span role="cell">
                  <a href={href(path, { ...Object.fromEntries(query), event: event.n })}>{event.type}</a>
                </span>
                <span role="cell" class="mono cut" title={asWritten(opOf(event) ?? '')}>
                  {asWritten(opOf(event) ?? '')}
                </span>
                <span role="cell" class="cut muted" title={wordsOf(event)}>
                  {wordsOf(event)}
                </span>
              </div>
            )
          }}
        />
      )}
    </>
  )
}

function HistoryHead() {
  return (
    <div role="rowgroup" class="virtual-head">
      <div role="row" class="history-row">
        {['Place', 'When', 'What', 'Operation', 'More'].map((title) => (
          <span key={title} role="columnheader">
            {title}
          </span>
        ))}
      </div>
    </div>
  )
}
