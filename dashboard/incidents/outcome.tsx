import type { BulkProgress } from '../../sdk/bulk/steer-many.ts'
import { type BulkAction, getWholeRun, type Standing } from '../api.ts'
import { amount, plural } from '../format.ts'
import { concerns, useLoaded } from '../live/use-loaded.ts'
import { Shown } from '../parts/states.tsx'
import { Status } from '../parts/status.tsx'
import { href } from '../route.ts'
import { Refusals } from './refusals.tsx'

const DONE: Record<BulkAction, string> = {
  retry: 'retried',
  rerun: 'rerun',
  cancel: 'cancelled',
  terminate: 'terminated',
}

/** What the bulk run has done so far, and what it could not do. */
export function Outcome({ action, started }: { action: BulkAction; started: Standing }) {
  const loaded = useLoaded(
    `bulk ${started.runId}`,
    (signal) => getWholeRun(started.runId, signal),
    concerns(started.runId),
  )
  return (
    <>
      <p>
        Run{' '}
        <a class="mono" href={href(['runs', started.runId])}>
          {started.runId}
        </a>{' '}
        does it. Cancel that run to stop it.
      </p>
      <Shown loaded={loaded}>
        {({ status, progress, error }) => {
          const { matched = 0, done = 0, failed = 0, refused = [] } = (progress ?? {}) as Partial<BulkProgress>
          return (
            <div class="would" role="status">
              <p>
                <Status status={status} />{' '}
                <strong>
                  {amount(done)} of {plural(matched, 'run')} {DONE[action]}
                </strong>
                {failed > 0 && `, ${amount(failed)} failed`}
              </p>
              <Refusals refused={refused} />
              {refused.length === 0 && error && <p>{error.message}</p>}
            </div>
          )
        }}
      </Shown>
    </>
  )
}
