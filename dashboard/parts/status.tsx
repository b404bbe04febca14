import type { RunStatus } from '../../sdk/ports.ts'
import { Icon } from './icons.tsx'

/** As runs go: what wants somebody's attention first. A new status does not compile until it has its place. */
const ORDER: Record<RunStatus, number> = { stuck: 0, failed: 1, running: 2, waiting: 3, sleeping: 4, pending: 5, completed: 6, cancelled: 7, terminated: 8 }
export const STATUSES = (Object.keys(ORDER) as RunStatus[]).sort((a, b) => ORDER[a] - ORDER[b])

export function Status({ status }: { status: RunStatus }) {
  return (
    <span class={`status is-${status}`}>
      <Icon name={status} />
      {status}
    </span>
  )
}
