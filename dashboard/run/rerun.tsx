import { useState } from 'preact/hooks'
import { asWritten } from '../../sdk/views/as-written.ts'
import { undoneBefore } from '../../sdk/views/undone-work.ts'
import { type PlacedEvent, rerunRun, type ShownRun } from '../api.ts'
import { go, href } from '../route.ts'
import { config } from '../settings.ts'
import { Confirm } from './confirm.tsx'

/** `from`: the first step that runs again; without it, the whole run starts anew. */
interface RerunProps {
  run: ShownRun
  events: readonly PlacedEvent[]
  from?: string
  onClose(): void
}

export function RerunDialog({ run, events, from, onClose }: RerunProps) {
  const undone = from === undefined ? undefined : undoneBefore(from, withoutStart(events))
  const step = from === undefined ? 'the beginning' : asWritten(from)
  const text =
    from === undefined
      ? 'A new run with the same input does everything anew. This run stays as it is.'
      : `A new run with the same input takes over the results before '${step}', and runs that step and all ` +
        'later ones again. This run stays as it is.'
  return (
    <Confirm
      title={`Rerun from ${step}`}
      verb={undone ? 'Start it all the same' : 'Start the new run'}
      isGrave={undone !== undefined}
      text={text}
      {...(undone && {
        warning:
          `This run has undone its steps (${undone.by.join(', ')}). The new run would take over the ` +
          `results of ${undone.inherited.join(', ')} as if they were still valid. To run them again, ` +
          'rerun it from the beginning.',
      })}
      onDo={async (key) => {
        const { runId } = await rerunRun(
          run.runId,
          { ...(from !== undefined && { from }), ...(undone && { inheritUndone: true }) },
          key,
        )
        go(href(['runs', runId]))
      }}
      onClose={onClose}
    />
  )
}

/** The events that a journal contains. */
const withoutStart = (events: readonly PlacedEvent[]) => events.filter((event) => event.type !== 'run.started')

export function RerunButton({ run, events, from }: Omit<RerunProps, 'onClose'>) {
  const [isOpen, open] = useState(false)
  if (config.value.isReadOnly) return null
  return (
    <p>
      <button type="button" onClick={() => open(true)}>
        Rerun from here
      </button>
      {isOpen && (
        <RerunDialog run={run} events={events} {...(from !== undefined && { from })} onClose={() => open(false)} />
      )}
    </p>
  )
}
