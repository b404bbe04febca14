import { asWritten } from '../../sdk/views/as-written.ts'
import { type Incident, listIncidents } from '../api.ts'
import { amount, plural } from '../format.ts'
import { always, useLoaded } from '../live/use-loaded.ts'
import { Empty, Shown } from '../parts/states.tsx'
import { Ago } from '../parts/time.tsx'
import { href, select, selected } from '../route.ts'
import { Since } from './since.tsx'

export function IncidentsPage() {
  const workflow = selected('workflow')
  const since = selected('since')
  const loaded = useLoaded(
    `incidents ${workflow} ${since}`,
    (signal) => listIncidents({ workflow, since }, signal),
    always,
  )
  return (
    <div class="page">
      <h1>Incidents</h1>
      <Since since={since} />
      {workflow !== undefined && (
        <p>
          Only of <code>{workflow}</code>.{' '}
          <button type="button" class="quiet" onClick={() => select({ workflow: undefined })}>
            Show all
          </button>
        </p>
      )}
      <Shown loaded={loaded}>
        {({ incidents, isComplete }) =>
          incidents.length === 0 ? (
            <Empty
              title={
                since === undefined
                  ? 'Nothing has failed, and nothing is stuck'
                  : 'Nothing has failed or got stuck since then'
              }
            >
              <p>Failures that have the same cause would be together here, however many runs they are in.</p>
            </Empty>
          ) : (
            <>
              {!isComplete && (
                <p class="muted">There are more runs in trouble than were looked at; these are the newest.</p>
              )}
              <ul class="incidents">
                {incidents.map((incident) => (
                  <Row key={incident.fingerprint} incident={incident} since={since} />
                ))}
              </ul>
            </>
          )
        }
      </Shown>
    </div>
  )
}

function Row({ incident, since }: { incident: Incident; since: string | undefined }) {
  const { fingerprint, workflow, name, code, step, says, count, failed, stuck, firstAt, lastAt } = incident
  return (
    <li class="incident">
      <span class="incident-count">
        <span class="number">{amount(count)}</span>
        <span class="muted">{count === 1 ? 'run' : 'runs'}</span>
      </span>
      <div class="incident-what">
        <a href={href(['incidents', fingerprint], { since })}>
          {name}
          {code !== undefined && ` ${code}`}
        </a>
        <p class="incident-says">{says}</p>
        <p class="muted">
          {workflow}
          {step !== undefined && ` · step ${asWritten(step)}`} ·{' '}
          {[failed > 0 && `${amount(failed)} failed`, stuck > 0 && `${plural(stuck, 'is', 'are')} stuck`]
            .filter(Boolean)
            .join(', ')}{' '}
          · last <Ago at={Date.parse(lastAt)} />, first <Ago at={Date.parse(firstAt)} />
        </p>
      </div>
    </li>
  )
}
