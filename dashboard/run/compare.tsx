import { useMemo } from 'preact/hooks'
import { asWritten } from '../../sdk/views/as-written.ts'
import { type Timeline, timeline } from '../../sdk/views/timeline.ts'
import { listRuns, type ShownRun } from '../api.ts'
import { amount, duration } from '../format.ts'
import { useLoaded } from '../live/use-loaded.ts'
import { Empty, Shown, Skeleton, Trouble } from '../parts/states.tsx'
import { Virtual } from '../parts/virtual.tsx'
import { href, select, selected } from '../route.ts'
import { type Compared, comparison, type Side } from './comparison.ts'
import { useHistory } from './use-history.ts'

const ROW_HEIGHT = 30

/** Compares with another run; by default, the last completed one of the same version. */
export function Compare({ run, view }: { run: ShownRun; view: Timeline }) {
  const chosen = selected('with')
  const usual = useLoaded(`usual ${run.workflow}`, async (signal) => {
    const { runs } = await listRuns({ workflow: run.workflow, status: 'completed', limit: 50 }, signal)
    return runs.filter(({ runId, version }) => runId !== run.runId && version === run.version).map(({ runId }) => runId)
  })
  const other = chosen ?? usual.value?.[0]
  const choose = (event: Event & { currentTarget: HTMLInputElement }) =>
    select({ with: event.currentTarget.value.trim() })
  return (
    <>
      <div class="tools">
        <label>
          Compare with{' '}
          <input
            key={other}
            class="mono"
            type="text"
            name="with"
            list="completed-runs"
            defaultValue={other ?? ''}
            spellcheck={false}
            autocomplete="off"
            onChange={choose}
          />
        </label>
        <datalist id="completed-runs">
          {usual.value?.map((id) => (
            <option key={id} value={id} />
          ))}
        </datalist>
        <label class="check">
          <input
            type="checkbox"
            checked={selected('all') === '1'}
            onChange={() => select({ all: selected('all') === '1' ? undefined : '1' })}
          />{' '}
          Also what is alike
        </label>
      </div>
      {usual.refusal && <Trouble refusal={usual.refusal} />}
      {other !== undefined ? (
        <Beside key={other} run={run} view={view} other={other} />
      ) : usual.value ? (
        <Empty title="There is nothing to compare it with">
          <p>No other run of this version has completed. Give any run’s id above.</p>
        </Empty>
      ) : (
        <Skeleton />
      )}
    </>
  )
}

function Beside({ run, view, other }: { run: ShownRun; view: Timeline; other: string }) {
  const history = useHistory(other)
  const rows = useMemo(() => comparison(view, timeline(history.events)), [view, history.events])
  const shown = selected('all') === '1' ? rows : rows.filter(({ difference }) => difference !== undefined)
  const loaded = {
    isStale: false,
    reload: async () => false,
    ...(history.refusal && { refusal: history.refusal }),
    ...(history.isLoaded && !history.refusal && { value: shown }),
  }
  return (
    <Shown loaded={loaded}>
      {(lines) =>
        lines.length === 0 ? (
          <Empty title="They did the same">
            <p>{amount(rows.length)} operations, with the same outcomes, in about the same time.</p>
          </Empty>
        ) : (
          <Virtual
            count={lines.length}
            rowHeight={ROW_HEIGHT}
            label="Comparison"
            role="table"
            className="comparison"
            head={<CompareHead run={run.runId} other={other} />}
            row={(i, style) => {
              const { id, kind, a, b, difference } = lines[i]!
              return (
                <div
                  key={`${kind} ${id}`}
                  role="row"
                  aria-rowindex={i + 2}
                  class={`compare-row ${difference ? CLASSES[difference] : ''}`}
                  style={style}
                >
                  <span role="cell" class="mono cut" title={asWritten(id)}>
                    {asWritten(id)}
                  </span>
                  <Cell side={a} />
                  <Cell side={b} />
                  <span role="cell">{difference ?? 'alike'}</span>
                </div>
              )
            }}
          />
        )
      }
    </Shown>
  )
}

const CLASSES: Record<NonNullable<Compared['difference']>, string> = {
  'only here': 'is-only',
  'only there': 'is-only',
  'other outcome': 'is-other',
  slower: 'is-slower',
  faster: 'is-faster',
}

function Cell({ side }: { side: Side | undefined }) {
  return (
    <span role="cell" class="number">
      {side ? (
        <>
          <span class={`outcome is-${side.outcome.replace(' ', '-')}`}>{side.outcome}</span>{' '}
          {side.ms === undefined ? '' : duration(side.ms)}
        </>
      ) : (
        <span class="muted">–</span>
      )}
    </span>
  )
}

function CompareHead({ run, other }: { run: string; other: string }) {
  return (
    <div role="rowgroup" class="virtual-head">
      <div role="row" class="compare-row">
        <span role="columnheader">Operation</span>
        <span role="columnheader" class="cut" title={run}>
          This run
        </span>
        <span role="columnheader" class="cut">
          <a class="mono" href={href(['runs', other])} title={other}>
            {other}
          </a>
        </span>
        <span role="columnheader">Difference</span>
      </div>
    </div>
  )
}
