import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { IncidentPage } from './incidents/incident.tsx'
import { IncidentsPage } from './incidents/incidents.tsx'
import { useKeys } from './keys.ts'
import { LimitPage, LimitsPage } from './limits/limits.tsx'
import { Empty } from './parts/states.tsx'
import { go, href, place } from './route.ts'
import { RunPage } from './run/run.tsx'
import { RunsPage } from './runs/runs.tsx'
import { SchedulesPage } from './schedules.tsx'
import { config } from './settings.ts'
import { Head } from './shell/head.tsx'
import { Help } from './shell/help.tsx'
import { LostServer } from './shell/lost-server.tsx'
import { WorkersPage } from './workers.tsx'
import { WorkflowPage } from './workflows/workflow.tsx'
import { WorkflowsPage } from './workflows/workflows.tsx'

export function App() {
  const [isHelpShown, showHelp] = useState(false)
  useKeys({ '?': () => showHelp(true) })
  const { path } = place.value
  const [view, name] = path
  useEffect(() => {
    if (view === undefined) go(href(['runs']), { replaces: true })
    document.title = `${config.value.name} · ${name ?? view ?? 'runs'} · Overwinter`
  }, [view, name])
  return (
    <>
      <a class="skip" href="#main">
        To the content
      </a>
      <Head view={view ?? 'runs'} onHelp={() => showHelp(true)} />
      <LostServer />
      <main id="main" tabIndex={-1}>
        {pageOf(view, name)}
      </main>
      {isHelpShown && <Help onClose={() => showHelp(false)} />}
    </>
  )
}

/** A page is created anew for another run, incident, workflow or limit: no state of the one before stays. */
function pageOf(view: string | undefined, name: string | undefined): ComponentChildren {
  if (view === undefined) return null
  if (view === 'runs') return name === undefined ? <RunsPage /> : <RunPage key={name} id={name} />
  if (view === 'incidents')
    return name === undefined ? <IncidentsPage /> : <IncidentPage key={name} fingerprint={name} />
  if (view === 'workflows') return name === undefined ? <WorkflowsPage /> : <WorkflowPage key={name} name={name} />
  if (view === 'limits') return name === undefined ? <LimitsPage /> : <LimitPage key={name} name={name} />
  if (view === 'schedules') return <SchedulesPage />
  if (view === 'workers') return <WorkersPage />
  return (
    <div class="page">
      <h1>There is no view ‘{view}’</h1>
      <Empty title="Try one of these">
        <p>
          There are <a href={href(['runs'])}>runs</a>, <a href={href(['incidents'])}>incidents</a>,{' '}
          <a href={href(['workflows'])}>workflows</a>, <a href={href(['limits'])}>limits</a>,{' '}
          <a href={href(['schedules'])}>schedules</a> and <a href={href(['workers'])}>workers</a>.
        </p>
      </Empty>
    </div>
  )
}
