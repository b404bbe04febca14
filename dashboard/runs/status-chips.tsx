import type { RunStatus } from '../../sdk/ports/run.ts'
import type { Counts } from '../api.ts'
import { amount } from '../format.ts'
import { Icon } from '../parts/icons.tsx'
import { STATUSES } from '../parts/status.tsx'
import { select } from '../route.ts'
import { config } from '../settings.ts'

/** The states of runs, with counts as far as the server provides them. */
export function StatusChips({ counts, status }: { counts: Counts | undefined; status: RunStatus | undefined }) {
  return (
    <fieldset class="chips">
      <legend class="unseen">Status</legend>
      <button
        type="button"
        class="chip"
        aria-pressed={status === undefined}
        onClick={() => select({ status: undefined })}
      >
        All
      </button>
      {STATUSES.map((each) => {
        const known = counts?.[each]
        // Only a local server counts every state.
        const isNone = counts !== undefined && config.value.isLocal && !known?.count
        return (
          <button
            key={each}
            type="button"
            class={`chip is-${each} ${isNone ? 'is-none' : ''}`}
            aria-pressed={status === each}
            onClick={() => select({ status: status === each ? undefined : each })}
          >
            <Icon name={each} />
            {each}
            {known && (
              <span class="chip-count">
                {amount(known.count)}
                {known.isMore && '+'}
              </span>
            )}
          </button>
        )
      })}
    </fieldset>
  )
}
