import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { opKindOf } from '../../sdk/base/events.ts'
import type { Json } from '../../sdk/base/json.ts'
import { asWritten } from '../../sdk/views/as-written.ts'
import { getEvent, getWholeRun, type PlacedEvent, type ShownRun } from '../api.ts'
import { absolute, duration } from '../format.ts'
import { useKeys } from '../keys.ts'
import { concerns, useLoaded } from '../live/use-loaded.ts'
import { Copy } from '../parts/copy.tsx'
import { Icon } from '../parts/icons.tsx'
import { Shown } from '../parts/states.tsx'
import { Tree } from '../parts/tree.tsx'
import { href, place, select, selected } from '../route.ts'
import { ErrorText } from './error-text.tsx'
import { opOf } from './event-words.ts'
import { RerunButton } from './rerun.tsx'

/** The details of an event, beside its payload. */
const NAMES: Record<string, string> = {
  result: 'Result',
  payload: 'Payload',
  input: 'Input',
  output: 'Output',
  data: 'Data',
}
const MOST_SIBLINGS = 12

/** Beside every tab: the run's own payloads, or those of the selected event. Each is fetched when it is opened. */
export function PayloadPanel({ run, events }: { run: ShownRun; events: readonly PlacedEvent[] }) {
  const n = selected('event')
  const event = n === undefined ? undefined : events.find((each) => each.n === n)
  const panel = useRef<HTMLElement>(null)
  // On a narrow screen it is below the tapped row.
  useEffect(() => {
    if (n !== undefined && matchMedia('(max-width: 600px)').matches) panel.current?.scrollIntoView({ block: 'start' })
  }, [n])
  useKeys({ ...(n !== undefined && { Escape: () => select({ event: undefined }) }) })
  return (
    <aside ref={panel} class="panel" aria-label={event ? 'The selected event' : 'The run’s payloads'}>
      {n === undefined ? (
        <RunPayloads run={run} />
      ) : (
        <>
          <header class="panel-head">
            <h2>{event?.type ?? 'No such event'}</h2>
            <button
              type="button"
              class="quiet icon-button"
              aria-label="Close the event"
              onClick={() => select({ event: undefined })}
            >
              <Icon name="close" />
            </button>
          </header>
          {event ? (
            <EventDetails key={n} run={run} event={event} events={events} />
          ) : (
            <p class="muted">There is no event {n} in this history.</p>
          )}
        </>
      )}
    </aside>
  )
}

function RunPayloads({ run }: { run: ShownRun }) {
  const loaded = useLoaded(`payloads ${run.runId}`, (signal) => getWholeRun(run.runId, signal), concerns(run.runId))
  return (
    <Shown loaded={loaded}>
      {({ input, output, error, progress, heartbeat, keptSignals }) => (
        <>
          <h2 class="unseen">Payloads</h2>
          <Payload title="Input" value={input} />
          {output !== undefined && <Payload title="Output" value={output} />}
          {error && <ErrorText error={error} />}
          {progress !== undefined && <Payload title="Progress" value={progress} />}
          {heartbeat?.details !== undefined && (
            <Payload title={`Heartbeat of ${heartbeat.step}`} value={heartbeat.details} />
          )}
          {keptSignals && Object.keys(keptSignals).length > 0 && (
            <Payload title="Signals it has not waited for" value={keptSignals} />
          )}
        </>
      )}
    </Shown>
  )
}

function EventDetails({ run, event, events }: { run: ShownRun; event: PlacedEvent; events: readonly PlacedEvent[] }) {
  const needsMore = (event.omitted?.length ?? 0) > 0 || 'error' in event
  const loaded = useLoaded(`event ${run.runId} ${event.n}`, async (signal) =>
    needsMore ? getEvent(run.runId, event.n, signal) : event,
  )
  const op = opOf(event)
  const isStep = op !== undefined && event.type.startsWith('step.') && opKindOf(event.type as 'step.failed') === 'step'
  return (
    <>
      <dl class="facts">
        {op !== undefined && (
          <Fact title="Operation">
            <code>{asWritten(op)}</code>
          </Fact>
        )}
        <Fact title="When">
          <span class="number">{absolute(event.at)}</span>
        </Fact>
        {'attempt' in event && event.attempt !== undefined && <Fact title="Attempt">{event.attempt}</Fact>}
        {'ms' in event && event.ms !== undefined && <Fact title="Took">{duration(event.ms)}</Fact>}
        {'until' in event && event.until !== undefined && <Fact title="Until">{absolute(event.until)}</Fact>}
        {'signal' in event && <Fact title="Signal">{event.signal}</Fact>}
        {'task' in event && <Fact title="Task">{event.task}</Fact>}
        {'run' in event && (
          <Fact title="Child">
            <a class="mono" href={href(['runs', event.run])}>
              {event.run}
            </a>
          </Fact>
        )}
        {'reason' in event && event.reason !== undefined && <Fact title="Reason">{event.reason}</Fact>}
      </dl>
      {isStep && <RerunButton run={run} events={events} from={op} />}
      {op !== undefined && <Siblings op={op} n={event.n} events={events} />}
      <Shown loaded={loaded}>
        {(whole) => (
          <>
            {'error' in whole && whole.error && <ErrorText error={whole.error} />}
            {Object.entries(NAMES).map(([field, title]) =>
              field in whole ? (
                <Payload key={field} title={title} value={(whole as unknown as Record<string, Json>)[field]} />
              ) : null,
            )}
          </>
        )}
      </Shown>
    </>
  )
}

/** Other events of the same operation. */
function Siblings({ op, n, events }: { op: string; n: string; events: readonly PlacedEvent[] }) {
  const all = events.filter((event) => opOf(event) === op)
  const { path, query } = place.value
  if (all.length < 2) return null
  return (
    <ol class="siblings" aria-label={`Events of ${asWritten(op)}`}>
      {all.slice(-MOST_SIBLINGS).map((event) => (
        <li key={event.n}>
          <a
            href={href(path, { ...Object.fromEntries(query), event: event.n })}
            {...(event.n === n && { 'aria-current': 'true' as const })}
          >
            {event.type}
          </a>{' '}
          <span class="muted number">{event.n}</span>
        </li>
      ))}
    </ol>
  )
}

function Fact({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>{children}</dd>
    </div>
  )
}

export function Payload({ title, value }: { title: string; value: Json | undefined }) {
  return (
    <section class="payload" aria-label={title}>
      <header>
        <h3>{title}</h3>
        {value !== undefined && <Copy text={() => JSON.stringify(value, null, 2)} what={title.toLowerCase()} />}
      </header>
      <Tree value={value} />
    </section>
  )
}
