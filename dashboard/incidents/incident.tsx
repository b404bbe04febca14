import { useState } from 'preact/hooks'
import { asWritten } from '../../sdk/views/as-written.ts'
import { type BulkAction, type Incident, listIncidents } from '../api.ts'
import { amount } from '../format.ts'
import { always, useLoaded } from '../live/use-loaded.ts'
import { Empty, Shown } from '../parts/states.tsx'
import { Ago } from '../parts/time.tsx'
import { href, selected } from '../route.ts'
import { config } from '../settings.ts'
import { BulkDialog } from './bulk.tsx'
import { Since } from './since.tsx'

export function IncidentPage({ fingerprint }: { fingerprint: string }) {
  const since = selected('since')
  const loaded = useLoaded(`incidents ${since}`, (signal) => listIncidents({ since }, signal), always)
  // The dialog stays open when the incident is over, to show the result.
  const [open, setOpen] = useState<{ action: BulkAction; incident: Incident } | undefined>()
  return (
    <div class="page">
      <p class="crumbs">
        <a href={href(['incidents'], { since })}>Incidents</a>
      </p>
      <Since since={since} />
      <Shown loaded={loaded}>
        {({ incidents }) => {
          const incident = incidents.find((each) => each.fingerprint === fingerprint)
          return incident ? (
            <Details incident={incident} onOpen={(action) => setOpen({ action, incident })} />
          ) : (
            <>
              <h1>Incident</h1>
              <Empty title={`No runs are in trouble like '${fingerprint}' now`}>
                <p>
                  They may have been retried. <a href={href(['incidents'])}>See what there is</a>
                </p>
              </Empty>
            </>
          )
        }}
      </Shown>
      {open && <BulkDialog {...open} since={since} onClose={() => setOpen(undefined)} />}
    </div>
  )
}

const ACTIONS: { action: BulkAction; title: string; isPossible(incident: Incident): boolean }[] = [
  { action: 'retry', title: 'Retry all', isPossible: () => true },
  { action: 'rerun', title: 'Rerun all', isPossible: ({ failed }) => failed > 0 },
  { action: 'cancel', title: 'Cancel all', isPossible: ({ stuck }) => stuck > 0 },
  { action: 'terminate', title: 'Terminate all', isPossible: ({ stuck }) => stuck > 0 },
]

function Details({ incident, onOpen }: { incident: Incident; onOpen: (action: BulkAction) => void }) {
  const { workflow, name, code, step, says, count, failed, stuck, firstAt, lastAt, runs } = incident
  const { isReadOnly } = config.value
  return (
    <>
      <h1>
        {name}
        {code !== undefined && <span class="muted"> {code}</span>}
      </h1>
      <p class="incident-says">{says}</p>
      <fieldset class="actions" disabled={isReadOnly}>
        <legend class="unseen">Actions</legend>
        {ACTIONS.filter(({ isPossible }) => isPossible(incident)).map(({ action, title }) => (
          <button
            key={action}
            type="button"
            class={action === 'retry' ? 'primary' : action === 'rerun' ? '' : 'grave'}
            title={isReadOnly ? 'This page is read only' : ''}
            onClick={() => onOpen(action)}
          >
            {title}
          </button>
        ))}
      </fieldset>
      <dl class="facts in-a-row">
        <div>
          <dt>Workflow</dt>
          <dd>
            <a href={href(['workflows', workflow])}>{workflow}</a>
          </dd>
        </div>
        {step !== undefined && (
          <div>
            <dt>Step</dt>
            <dd>
              <code>{asWritten(step)}</code>
            </dd>
          </div>
        )}
        <div>
          <dt>Runs</dt>
          <dd class="number">
            {amount(count)}{' '}
            <span class="muted">
              ({amount(failed)} failed, {amount(stuck)} stuck)
            </span>
          </dd>
        </div>
        <div>
          <dt>First</dt>
          <dd>
            <Ago at={Date.parse(firstAt)} />
          </dd>
        </div>
        <div>
          <dt>Last</dt>
          <dd>
            <Ago at={Date.parse(lastAt)} />
          </dd>
        </div>
      </dl>
      <h2>{count > runs.length ? `The newest ${runs.length} runs` : 'Its runs'}</h2>
      <ul class="plain">
        {runs.map((id) => (
          <li key={id}>
            <a class="mono" href={href(['runs', id])}>
              {id}
            </a>
          </li>
        ))}
      </ul>
      {count > runs.length && (
        <p>
          {(['failed', 'stuck'] as const)
            .filter((status) => incident[status] > 0)
            .map((status) => (
              <a key={status} class="more" href={href(['runs'], { workflow, status })}>
                All {status} runs of {workflow}
              </a>
            ))}
        </p>
      )}
    </>
  )
}
