import { useMemo } from 'preact/hooks'
import { runIdAsWritten } from '../../sdk/views/as-written.ts'
import { timeline } from '../../sdk/views/timeline.ts'
import { getRun, getWhy, type PlacedEvent, type ShownRun } from '../api.ts'
import { duration } from '../format.ts'
import { concerns, useLoaded } from '../live/use-loaded.ts'
import { Copy } from '../parts/copy.tsx'
import { Empty, Shown, Skeleton, Trouble } from '../parts/states.tsx'
import { Status } from '../parts/status.tsx'
import { Ago, now } from '../parts/time.tsx'
import { href, select, selected } from '../route.ts'
import { Actions } from './actions.tsx'
import { Compare } from './compare.tsx'
import { GraphTab } from './graph.tsx'
import { HistoryTab } from './history.tsx'
import { PayloadPanel } from './payload-panel.tsx'
import { Reason } from './reason.tsx'
import { TimeTravel } from './time-travel.tsx'
import { TimelineTab } from './timeline.tsx'
import { useHistory } from './use-history.ts'

const TABS = { timeline: 'Timeline', graph: 'Graph', history: 'History', travel: 'Time travel', compare: 'Compare' }
type Tab = keyof typeof TABS

export function RunPage({ id }: { id: string }) {
  const isConcerned = concerns(id)
  const run = useLoaded(`run ${id}`, (signal) => getRun(id, signal), isConcerned)
  const why = useLoaded(`why ${id}`, (signal) => getWhy(id, signal), isConcerned)
  const history = useHistory(id)
  return (
    <div class="page fills run-page">
      <p class="crumbs">
        <a href={href(['runs'])}>Runs</a>
      </p>
      {run.value === undefined && run.refusal && <h1 class="mono">{id}</h1>}
      <Shown loaded={run}>
        {(loaded) => (
          <>
            <RunHead run={loaded} />
            {why.value && <Reason run={loaded} why={why.value} />}
            <Tabs />
            {history.refusal && <Trouble refusal={history.refusal} />}
            {history.isLoaded ? <Body run={loaded} events={history.events} /> : <Skeleton />}
          </>
        )}
      </Shown>
    </div>
  )
}

function RunHead({ run }: { run: ShownRun }) {
  const { runId, workflow, version, status, createdAt, startedAt, endedAt, tags, parent, attempt, generation } = run
  return (
    <div class="run-head">
      <div class="run-title">
        <h1 class="mono">{runIdAsWritten(runId)}</h1>
        <Copy text={runId} what="the id" />
        <Status status={status} />
      </div>
      <p class="run-facts">
        <a href={href(['workflows', workflow])}>{workflow}</a> <span class="muted">v{version}</span>
        <span>
          created <Ago at={createdAt} />
        </span>
        {startedAt !== undefined && (
          <span>
            {endedAt === undefined
              ? `running for ${duration(now.value - startedAt)}`
              : `took ${duration(endedAt - startedAt)}`}
          </span>
        )}
        {attempt > 1 && <span>attempt {attempt}</span>}
        {generation > 0 && <span>generation {generation}</span>}
        {parent && (
          <span>
            child of{' '}
            <a class="mono" href={href(['runs', parent.runId])}>
              {parent.runId}
            </a>
          </span>
        )}
        {tags.map((tag) => (
          <a key={tag} class="tag" href={href(['runs'], { tag })}>
            {tag}
          </a>
        ))}
      </p>
      <Actions run={run} />
    </div>
  )
}

const isTab = (name: string | undefined): name is Tab => name !== undefined && Object.hasOwn(TABS, name)
const tabOf = (): Tab => {
  const tab = selected('tab')
  return isTab(tab) ? tab : 'timeline'
}

function Tabs() {
  const current = tabOf()
  return (
    <div class="tabs" role="tablist" aria-label="Ways to look at this run">
      {Object.entries(TABS).map(([tab, title]) => (
        <button
          key={tab}
          type="button"
          role="tab"
          id={`tab-${tab}`}
          aria-selected={tab === current}
          aria-controls="tab-panel"
          onClick={() => select({ tab: tab === 'timeline' ? undefined : tab })}
        >
          {title}
        </button>
      ))}
    </div>
  )
}

function Body({ run, events }: { run: ShownRun; events: readonly PlacedEvent[] }) {
  const tab = tabOf()
  const needsRows = tab !== 'history' && tab !== 'travel'
  const view = useMemo(() => timeline(needsRows ? events : []), [events, needsRows])
  const shown = {
    timeline: () => <TimelineTab view={view} events={events} />,
    graph: () => <GraphTab run={run} view={view} />,
    history: () => <HistoryTab events={events} />,
    travel: () => <TimeTravel run={run} events={events} />,
    compare: () => <Compare run={run} view={view} />,
  }
  const isNew = events.length === 0 && (tab === 'timeline' || tab === 'graph')
  return (
    <div class="run-body">
      <section class="run-main" role="tabpanel" id="tab-panel" aria-labelledby={`tab-${tab}`}>
        {isNew ? (
          <Empty title="Nothing has happened yet">
            <p>As soon as a runner takes this run, what it does appears here.</p>
          </Empty>
        ) : (
          shown[tab]()
        )}
      </section>
      <PayloadPanel run={run} events={events} />
    </div>
  )
}
