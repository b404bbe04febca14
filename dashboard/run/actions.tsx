import { useState } from 'preact/hooks'
import type { RunStatus } from '../../sdk/ports/run.ts'
import { eraseRun, type ShownRun, steerRun } from '../api.ts'
import { plural } from '../format.ts'
import { go, href } from '../route.ts'
import { config } from '../settings.ts'
import { AnswerDialog } from './answer.tsx'
import { Confirm } from './confirm.tsx'
import { RerunDialog } from './rerun.tsx'
import { SignalDialog } from './signal.tsx'

export type ActionName = 'signal' | 'answer' | 'wake' | 'retry' | 'rerun' | 'cancel' | 'terminate' | 'erase'

interface Action {
  title: string
  isPossible(run: ShownRun): boolean
  /** It destroys data. */
  isGrave?: true
}

const hasEnded = (status: RunStatus): boolean => ['completed', 'failed', 'cancelled', 'terminated'].includes(status)
const waitsFor = (kind: string) => (run: ShownRun) => run.waitingFor?.some((waiting) => waiting.kind === kind) ?? false

const ACTIONS: Record<ActionName, Action> = {
  signal: { title: 'Signal', isPossible: ({ status }) => !hasEnded(status) },
  answer: { title: 'Answer', isPossible: (run) => !hasEnded(run.status) && waitsFor('callback')(run) },
  wake: {
    title: 'Wake',
    isPossible: (run) =>
      run.status === 'sleeping' || run.status === 'stuck' || (!hasEnded(run.status) && waitsFor('sleep')(run)),
  },
  retry: { title: 'Retry', isPossible: ({ status }) => status === 'failed' || status === 'stuck' },
  rerun: { title: 'Rerun', isPossible: ({ status }) => hasEnded(status) },
  cancel: { title: 'Cancel', isPossible: ({ status }) => !hasEnded(status), isGrave: true },
  terminate: { title: 'Terminate', isPossible: ({ status }) => !hasEnded(status), isGrave: true },
  erase: { title: 'Erase', isPossible: ({ status }) => hasEnded(status), isGrave: true },
}

/** The actions that the run's state allows; the others are hidden. */
export function Actions({ run }: { run: ShownRun }) {
  const [open, setOpen] = useState<ActionName | undefined>()
  const { isReadOnly } = config.value
  const possible = (Object.keys(ACTIONS) as ActionName[]).filter((name) => ACTIONS[name].isPossible(run))
  return (
    <fieldset class="actions" disabled={isReadOnly}>
      <legend class="unseen">Actions</legend>
      {possible.map((name) => (
        <button
          key={name}
          type="button"
          class={ACTIONS[name].isGrave ? 'grave' : ''}
          title={isReadOnly ? 'This page is read only' : ''}
          onClick={() => setOpen(name)}
        >
          {ACTIONS[name].title}
        </button>
      ))}
      {open && <ActionDialog action={open} run={run} onClose={() => setOpen(undefined)} />}
    </fieldset>
  )
}

interface ActionDialogProps {
  action: ActionName
  run: ShownRun
  /** The signal that it waits for. */
  about?: string
  onClose(): void
}

export function ActionDialog({ action, run, about, onClose }: ActionDialogProps) {
  const { runId } = run
  const steer = (name: 'wake' | 'retry' | 'cancel' | 'terminate') => async (key: string, reason?: string) =>
    void (await steerRun(runId, name, key, reason))
  switch (action) {
    case 'signal':
      return <SignalDialog run={run} about={about} onClose={onClose} />
    case 'answer':
      return <AnswerDialog run={run} onClose={onClose} />
    case 'wake':
      return (
        <Confirm
          title="Wake this run"
          verb="Wake"
          text="Its sleeps end now, and the run continues with what comes after them. The remaining time is skipped."
          onDo={steer('wake')}
          onClose={onClose}
        />
      )
    case 'retry':
      return (
        <Confirm
          title="Retry this run"
          verb="Retry"
          text="It goes on from what failed. What was done before is not done again."
          onDo={steer('retry')}
          onClose={onClose}
        />
      )
    case 'rerun':
      return <RerunDialog run={run} events={[]} onClose={onClose} />
    case 'cancel':
      return (
        <Confirm
          title="Cancel this run"
          verb="Cancel the run"
          isGrave
          asksReason
          text={`It is asked to stop. Its clean-up and its compensations run, and then it has ended${openOf(run)}.`}
          onDo={steer('cancel')}
          onClose={onClose}
        />
      )
    case 'terminate':
      return (
        <Confirm
          {...{ title: 'Terminate this run', verb: 'Terminate', isGrave: true, asksReason: true, onClose }}
          text={`It ends at once. None of its code runs any more: no clean-up, no compensation${openOf(run)}.`}
          onDo={steer('terminate')}
        />
      )
    case 'erase':
      return (
        <Confirm
          {...{ title: 'Erase this run', verb: 'Erase for good', isGrave: true, onClose }}
          text="Its input, output, history, signals, tasks and payloads are removed. This cannot be undone, and its id is free for another run."
          onDo={async () => {
            await eraseRun(runId)
            go(href(['runs']))
          }}
        />
      )
  }
}

/** What is lost with it. */
function openOf({ waitingFor = [] }: ShownRun): string {
  return waitingFor.length === 0 ? '' : `; ${plural(waitingFor.length, 'thing')} that it waits for will never arrive`
}
