import { useState } from 'preact/hooks'
import type { RunStatus } from '../../sdk/ports/run.ts'
import { countRuns, listRuns, listWorkflows, type RunFilter, type RunInList } from '../api.ts'
import { amount } from '../format.ts'
import { useKeys } from '../keys.ts'
import { always, GAP_MS, useLoaded } from '../live/use-loaded.ts'
import { Empty, Shown } from '../parts/states.tsx'
import { Virtual } from '../parts/virtual.tsx'
import { go, href, place } from '../route.ts'
import { Filters } from './filters.tsx'
import { RunRow, RunsHead } from './run-row.tsx'
import { StatusChips } from './status-chips.tsx'
import { useSteady } from './use-steady.ts'

const PAGE = 50
/** The API's maximum. */
const MOST = 1_000
const ROW_HEIGHT = 36
const FILTERS = ['workflow', 'status', 'tag', 'idPrefix', 'from', 'to', 'internal'] as const

const filterOf = (query: URLSearchParams): RunFilter =>
  Object.fromEntries(FILTERS.flatMap((name) => (query.get(name) ? [[name, query.get(name)!]] : [])))

interface Listed {
  runs: RunInList[]
  cursor?: string | undefined
}

/** As many runs as requested, in as few pages as possible. */
async function listAtLeast(filter: RunFilter, wanted: number, signal: AbortSignal): Promise<Listed> {
  const all: RunInList[] = []
  let cursor: string | undefined
  do {
    const page = await listRuns(
      {
        internal: 'hide',
        ...filter,
        limit: Math.min(MOST, wanted - all.length),
        ...(cursor !== undefined && { cursor }),
      },
      signal,
    )
    all.push(...page.runs)
    cursor = page.cursor
  } while (cursor !== undefined && all.length < wanted)
  return { runs: all, cursor }
}

export function RunsPage() {
  const { query } = place.value
  const filter = filterOf(query)
  const key = JSON.stringify(filter)
  const [more, setMore] = useState({ key, count: PAGE })
  const wanted = more.key === key ? more.count : PAGE
  const list = useLoaded(
    `${key} ${wanted}`,
    (signal) => listAtLeast(filter, wanted, signal),
    always,
    GAP_MS * (wanted / PAGE),
  )
  const counts = useLoaded('counts', countRuns, always)
  const workflows = useLoaded('workflows', listWorkflows)
  const isFiltered = Object.keys(filter).length > 0
  return (
    <div class="page fills">
      <h1 class="unseen">Runs</h1>
      <StatusChips
        counts={filter.workflow === undefined ? counts.value : undefined}
        status={filter.status as RunStatus | undefined}
      />
      <Filters filter={filter} workflows={workflows.value?.map(({ name }) => name) ?? []} />
      <Shown loaded={list}>
        {({ runs, cursor }) =>
          runs.length === 0 && cursor === undefined ? (
            <NoRuns isFiltered={isFiltered} />
          ) : (
            <List
              filterKey={key}
              runs={runs}
              cursor={cursor}
              isStale={list.isStale}
              onMore={() => setMore({ key, count: wanted + (wanted < 500 ? PAGE * 4 : MOST) })}
            />
          )
        }
      </Shown>
    </div>
  )
}

function List({
  filterKey,
  runs: fresh,
  cursor,
  isStale,
  onMore,
}: Listed & { filterKey: string; isStale: boolean; onMore: () => void }) {
  const [active, setActive] = useState<string | undefined>()
  const [isScrolled, setScrolled] = useState(false)
  const [isPointedAt, setPointedAt] = useState(false)
  const { runs, arrived, letGo } = useSteady(filterKey, fresh, active !== undefined || isScrolled || isPointedAt)
  const index = runs.findIndex(({ runId }) => runId === active)
  const move = (by: number) => setActive(runs[Math.max(0, Math.min(runs.length - 1, index + by))]?.runId)
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    Escape: () => setActive(undefined),
    Enter: () => active !== undefined && go(href(['runs', active])),
  })
  return (
    <div class="steady" onPointerEnter={() => setPointedAt(true)} onPointerLeave={() => setPointedAt(false)}>
      {/* Over the titles: it must not move rows that the user may be about to click. */}
      {arrived > 0 && (
        <button type="button" class="primary arrived" onClick={letGo}>
          {amount(arrived)} new
        </button>
      )}
      <Virtual
        count={runs.length}
        rowHeight={ROW_HEIGHT}
        label="Runs"
        role="table"
        active={index}
        className={`runs ${isStale ? 'is-stale' : ''}`}
        head={<RunsHead />}
        onScroll={(top) => setScrolled(top > 0)}
        row={(i, style) => (
          <RunRow key={runs[i]!.runId} run={runs[i]!} index={i} style={style} isActive={i === index} />
        )}
        foot={
          <p class="list-end">
            {amount(runs.length)} shown{cursor === undefined ? ', which is all' : ''}
            {cursor !== undefined && (
              <button type="button" onClick={onMore}>
                Load more
              </button>
            )}
          </p>
        }
      />
    </div>
  )
}

function NoRuns({ isFiltered }: { isFiltered: boolean }) {
  return isFiltered ? (
    <Empty title="No run fits these filters">
      <p>
        <a href={href(['runs'])}>Show all runs</a>
      </p>
    </Empty>
  ) : (
    <Empty title="No runs yet">
      <p>
        <a href={href(['workflows'])}>Choose a workflow</a> and start one. It appears here at once.
      </p>
    </Empty>
  )
}
