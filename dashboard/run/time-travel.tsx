import { useMemo } from 'preact/hooks'
import { asWritten } from '../../sdk/views/as-written.ts'
import { type Row, timeline } from '../../sdk/views/timeline.ts'
import { getReplay, type PlacedEvent, type ShownRun } from '../api.ts'
import { absolute, amount, duration, plural } from '../format.ts'
import { useKeys } from '../keys.ts'
import { useLoaded } from '../live/use-loaded.ts'
import { Icon } from '../parts/icons.tsx'
import { Empty, Shown } from '../parts/states.tsx'
import { Tree } from '../parts/tree.tsx'
import { href, place, select, selected } from '../route.ts'
import { config } from '../settings.ts'
import { opOf, wordsOf } from './event-words.ts'

/** How many settled operations are listed, the latest first. */
const MOST = 30

/** The run as it was at any moment of its history. */
export function TimeTravel({ run, events }: { run: ShownRun; events: readonly PlacedEvent[] }) {
  const wanted = selected('at')
  const found = wanted === undefined ? -1 : events.findIndex(({ n }) => n === wanted)
  const index = found === -1 ? events.length - 1 : found
  const event = events[index]
  const view = useMemo(() => timeline(events.slice(0, index + 1)), [events, index])
  const move = (to: number) => {
    const target = events[Math.max(0, Math.min(events.length - 1, to))]
    if (target) select({ at: target.n, event: undefined }, { replaces: true })
  }
  useKeys({
    j: () => move(index + 1),
    k: () => move(index - 1),
    ArrowRight: () => move(index + 1),
    ArrowLeft: () => move(index - 1),
  })
  if (!event) return <Empty title="Nothing has happened yet" />
  const rows = view.rows.flatMap((row) => row.folded?.members ?? [row])
  const open = rows.filter(({ outcome }) => outcome === 'open')
  const settled = rows.filter(({ outcome }) => outcome !== 'open').sort((a, b) => byPlace(b.last, a.last))
  return (
    <div class="travel">
      <div class="travel-controls">
        <button type="button" onClick={() => move(index - 1)} disabled={index === 0}>
          Back
        </button>
        <input
          type="range"
          min={0}
          max={events.length - 1}
          value={index}
          aria-label="Place in the history"
          aria-valuetext={`event ${index + 1} of ${events.length}: ${event.type}`}
          onInput={(input) => move(Number(input.currentTarget.value))}
        />
        <button type="button" onClick={() => move(index + 1)} disabled={index === events.length - 1}>
          Next
        </button>
      </div>
      <p class="travel-event" role="status">
        <span class="number muted">
          {amount(index + 1)} of {amount(events.length)}
        </span>{' '}
        <strong>{event.type}</strong> {opOf(event) !== undefined && <code>{asWritten(opOf(event)!)}</code>}{' '}
        <span class="muted">{wordsOf(event)}</span>
        <br />
        <span class="muted number">
          {absolute(event.at)}, {duration(event.at - events[0]!.at)} after its start
        </span>
      </p>
      <div class="columns">
        <section aria-label="Open then">
          <h2>{open.length === 0 ? 'Nothing was open' : `${plural(open.length, 'operation')} open`}</h2>
          <Rows rows={open.slice(0, MOST)} />
          <h2>{amount(settled.length)} settled</h2>
          <Rows rows={settled.slice(0, MOST)} />
          {settled.length > MOST && <p class="muted">and {amount(settled.length - MOST)} before those</p>}
        </section>
        {config.value.hasReplay && <Replay runId={run.runId} n={event.n} />}
      </div>
    </div>
  )
}

function Rows({ rows }: { rows: readonly Row[] }) {
  const { path, query } = place.value
  return (
    <ul class="plain travel-rows">
      {rows.map(({ id, kind, outcome, last, error }) => (
        <li key={`${kind} ${id}`} class={`is-${outcome.replace(' ', '-')}`}>
          <Icon name={kind} />
          <a class="mono" href={href(path, { ...Object.fromEntries(query), event: last })}>
            {asWritten(id)}
          </a>{' '}
          <span class="muted">
            {outcome === 'done' || outcome === 'open' ? '' : outcome}
            {error && outcome === 'failed' && `: ${error.message.split('\n')[0]}`}
          </span>
        </li>
      ))}
    </ul>
  )
}

/** Where today's code is when it gets the history up to that event. */
function Replay({ runId, n }: { runId: string; n: string }) {
  const loaded = useLoaded(`replay ${runId} ${n}`, (signal) => getReplay(runId, n, signal))
  return (
    <section aria-label="Where the code stood" class={loaded.isStale ? 'is-stale' : ''}>
      <h2>Where the code stood</h2>
      <Shown loaded={loaded}>
        {({ open, source, changed, ended }) => (
          <div class="stack">
            {changed !== undefined && <p class="problem">Today’s code no longer fits this history: {changed}</p>}
            {open.length > 0 && (
              <ul class="plain">
                {open.map(({ id, kind, at }) => (
                  <li key={id}>
                    {kind} ‘{asWritten(id)}’ {at !== undefined && <code class="muted">{at}</code>}
                  </li>
                ))}
              </ul>
            )}
            {source && (
              <figure class="source" tabIndex={0}>
                <figcaption class="mono muted">{source.file}</figcaption>
                <ol>
                  {source.lines.map((line) => (
                    <li key={line.n} {...(line.n === source.line && { class: 'is-here' })}>
                      <span class="number muted">{line.n}</span>
                      <code>{line.text}</code>
                    </li>
                  ))}
                </ol>
              </figure>
            )}
            {ended?.error && (
              <p class="problem">
                It had failed: {ended.error.name}: {ended.error.message}
              </p>
            )}
            {ended && !ended.error && (
              <>
                <p>It had returned.</p>
                <Tree value={ended.output} />
              </>
            )}
          </div>
        )}
      </Shown>
    </section>
  )
}

/** By place in the history: several events may share a millisecond. */
function byPlace(a: string, b: string): number {
  const [[frameA = 0, indexA = 0], [frameB = 0, indexB = 0]] = [a.split('.').map(Number), b.split('.').map(Number)] as [
    number[],
    number[],
  ]
  return frameA - frameB || indexA - indexB
}
