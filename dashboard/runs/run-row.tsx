import type { CSSProperties } from 'preact'
import { runIdAsWritten } from '../../sdk/views/as-written.ts'
import { awaited } from '../../sdk/views/awaited.ts'
import type { RunInList } from '../api.ts'
import { duration, relative } from '../format.ts'
import { Status } from '../parts/status.tsx'
import { Ago, now } from '../parts/time.tsx'
import { href, select } from '../route.ts'

export function RunsHead() {
  return (
    <div role="rowgroup" class="virtual-head">
      <div role="row" class="run-row">
        {['Status', 'Run', 'Workflow', 'What it is at', 'Tags', 'Took', 'Created'].map((title) => (
          <span key={title} role="columnheader">
            {title}
          </span>
        ))}
      </div>
    </div>
  )
}

export function RunRow({
  run,
  index,
  style,
  isActive,
}: {
  run: RunInList
  index: number
  style: CSSProperties
  isActive: boolean
}) {
  const { runId, workflow, version, status, tags, createdAt } = run
  return (
    <div role="row" aria-rowindex={index + 2} class={`run-row ${isActive ? 'is-active' : ''}`} style={style}>
      <span role="cell">
        <Status status={status} />
      </span>
      <span role="cell" class="mono cut">
        <a href={href(['runs', runId])} title={runId}>
          {runIdAsWritten(runId)}
        </a>
      </span>
      <span role="cell" class="cut" title={`${workflow} v${version}`}>
        {workflow} <span class="muted">v{version}</span>
      </span>
      <span role="cell" class="cut muted" title={isAt(run)}>
        {isAt(run)}
      </span>
      <span role="cell" class="cut">
        {tags.map((tag) => (
          <button
            key={tag}
            type="button"
            class="tag"
            title={`Only runs with the tag ${tag}`}
            onClick={() => select({ tag })}
          >
            {tag}
          </button>
        ))}
      </span>
      <span role="cell" class="number muted">
        {took(run)}
      </span>
      <span role="cell" class="number">
        <Ago at={createdAt} />
      </span>
    </div>
  )
}

/** In a few words: its first wait, or its error. */
function isAt({ error, waitingFor, wakeAt, status }: RunInList): string {
  // The message of a StepError names the step.
  if (error) return `${error.name === 'StepError' ? '' : `${error.name}: `}${error.message.split('\n')[0]}`
  // Only the run itself says at which limit it is queued.
  if (status === 'queued') return 'waits for its turn'
  const [first, ...others] = waitingFor ?? []
  if (!first)
    return status === 'pending' && wakeAt !== undefined && wakeAt > now.value
      ? `starts ${relative(wakeAt, now.value)}`
      : ''
  const until =
    first.until === undefined ? '' : `, ${first.until < now.value ? 'due' : relative(first.until, now.value)}`
  return `waits for ${awaited(first)}${until}${others.length > 0 ? ` and ${others.length} more` : ''}`
}

function took({ startedAt, endedAt }: RunInList): string {
  return startedAt === undefined || endedAt === undefined ? '' : duration(endedAt - startedAt)
}
