import { useMemo } from 'preact/hooks'
import { layersOf } from '../../sdk/definitions/layers.ts'
import type { StepView } from '../../sdk/definitions/step-states.ts'
import { asWritten } from '../../sdk/views/as-written.ts'
import type { Row, Timeline } from '../../sdk/views/timeline.ts'
import { getSteps, type ShownRun } from '../api.ts'
import { amount, duration } from '../format.ts'
import { concerns, useLoaded } from '../live/use-loaded.ts'
import { Icon, type IconName } from '../parts/icons.tsx'
import { Empty, Skeleton } from '../parts/states.tsx'
import { now } from '../parts/time.tsx'
import { href, place } from '../route.ts'
import { codeGraph } from './code-graph.ts'

/** A box of the picture. */
interface Box {
  name: string
  after: string[]
  title: string
  icon: IconName
  state: string
  says: string
  event?: string
}

const WIDTH = 208
const HEIGHT = 46
const GAP_X = 24
const GAP_Y = 34
/** A picture with more steps would be unreadable. */
const MOST = 200

/**
 * A definition contains its order of steps; for code, its history does. Only the server knows which of the
 * two a run has.
 */
export function GraphTab({ run: { runId }, view: { rows } }: { run: ShownRun; view: Timeline }) {
  const { value, refusal } = useLoaded(`steps ${runId}`, (signal) => getSteps(runId, signal), concerns(runId))
  if (!value && !refusal) return <Skeleton />
  return <Drawing boxes={value?.steps ? boxesOfSteps(value.steps, rows) : boxesOf(rows)} />
}

function boxesOf(rows: readonly Row[]): Box[] {
  return codeGraph(rows.slice(0, MOST)).map(({ name, after, row }) => ({
    ...{ name, after, title: asWritten(row.id), icon: row.kind, state: row.outcome, event: row.last },
    says: [
      row.folded ? `×${amount(row.folded.members.length)}` : '',
      row.outcome === 'done' ? '' : row.outcome,
      row.to === undefined ? '' : duration(row.to - row.from),
    ]
      .filter(Boolean)
      .join(' · '),
  }))
}

const STATES: Record<StepView['status'], string> = {
  COMPLETED: 'done',
  FAILED: 'failed',
  RUNNING: 'open',
  WAITING: 'open',
  PENDING: 'pending',
  SKIPPED: 'taken back',
}
const TYPES: Partial<Record<StepView['type'], IconName>> = { wait: 'sleep', signal: 'wait', workflow: 'child' }

function boxesOfSteps(steps: readonly StepView[], rows: readonly Row[]): Box[] {
  return steps.map(({ name, type, after, status, startedAt, endedAt }) => {
    const event = rows.find(({ id }) => id === name || id.startsWith(`${name}/`))?.last
    const took = startedAt === undefined ? '' : duration((endedAt ?? now.value) - startedAt)
    const says = [status === 'COMPLETED' ? '' : status.toLowerCase(), took].filter(Boolean).join(' · ')
    return {
      name,
      after,
      title: name,
      icon: TYPES[type] ?? 'step',
      state: STATES[status],
      says,
      ...(event !== undefined && { event }),
    }
  })
}

function Drawing({ boxes }: { boxes: readonly Box[] }) {
  const { placed, width, height } = useMemo(() => layOut(boxes), [boxes])
  const { path, query } = place.value
  if (boxes.length === 0) return <Empty title="There is nothing to draw yet" />
  return (
    <div class="graph" tabIndex={0} role="region" aria-label="Graph: what came after what">
      <div class="graph-sheet" style={{ width: `${width}px`, height: `${height}px` }}>
        <svg width={width} height={height} aria-hidden="true" focusable="false">
          {[...placed.values()].flatMap(({ box, x, y }) =>
            box.after.flatMap((parent) => {
              const from = placed.get(parent)
              return from
                ? [
                    <path
                      key={`${parent} ${box.name}`}
                      class="edge"
                      d={edge(from.x + WIDTH / 2, from.y + HEIGHT, x + WIDTH / 2, y)}
                    />,
                  ]
                : []
            }),
          )}
        </svg>
        <ol class="plain">
          {[...placed.values()].map(({ box, x, y }) => (
            <li
              key={box.name}
              class={`box is-${box.state.replace(' ', '-')}`}
              style={{ left: `${x}px`, top: `${y}px`, width: `${WIDTH}px`, height: `${HEIGHT}px` }}
            >
              <a href={href(path, { ...Object.fromEntries(query), event: box.event })} title={box.title}>
                <span class="box-title">
                  <Icon name={box.icon} />
                  <span class="cut">{box.title}</span>
                </span>
                <span class="box-says number">{box.says || box.state}</span>
              </a>
            </li>
          ))}
        </ol>
      </div>
      {boxes.length === MOST && <p class="muted">The first {MOST} operations. The timeline has all of them.</p>}
    </div>
  )
}

interface Placed {
  box: Box
  x: number
  y: number
}

function layOut(boxes: readonly Box[]): { placed: Map<string, Placed>; width: number; height: number } {
  const layers = layersOf(boxes)
  const width = Math.max(1, ...layers.map((layer) => layer.length)) * (WIDTH + GAP_X) + GAP_X
  const placed = new Map<string, Placed>()
  for (const [depth, layer] of layers.entries()) {
    const left = (width - layer.length * (WIDTH + GAP_X) + GAP_X) / 2
    for (const [i, box] of layer.entries())
      placed.set(box.name, { box, x: left + i * (WIDTH + GAP_X), y: GAP_Y / 2 + depth * (HEIGHT + GAP_Y) })
  }
  return { placed, width, height: layers.length * (HEIGHT + GAP_Y) }
}

function edge(x1: number, y1: number, x2: number, y2: number): string {
  const bend = Math.min(GAP_Y, (y2 - y1) / 2)
  return `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`
}
