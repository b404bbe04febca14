import type { RunStatus } from '../../sdk/ports/run.ts'
import { Icon } from './icons.tsx'

/** The order of states: those that need an operator first. A new status does not compile until it has its place. */
const ORDER: Record<RunStatus, number> = {
  ...{ stuck: 0, failed: 1, running: 2, queued: 3, waiting: 4, sleeping: 5, pending: 6 },
  ...{ completed: 7, cancelled: 8, terminated: 9 },
}
export const STATUSES = (Object.keys(ORDER) as RunStatus[]).sort((a, b) => ORDER[a] - ORDER[b])

export function Status({ status }: { status: RunStatus }) {
  return (
    <span class={`status is-${status}`}>
      <Icon name={status} />
      {status}
    </span>
  )
}
