import { useState } from 'preact/hooks'
import { MOST_PER_SECOND, USUAL_PER_SECOND } from '../../sdk/flow/limiter/bounds.ts'
import { type PauseScope, resumeRuns } from '../api.ts'
import type { FieldProblem } from '../form/draft.ts'
import { useSending } from '../form/use-form.ts'
import { hurry } from '../live/changes.ts'
import { Dialog, DialogEnd } from '../parts/dialog.tsx'
import { NumberField, wholeIn } from './number-field.tsx'

interface ResumeProps {
  scope: PauseScope
  name: string
  /** The rate at which it has been resumed already. */
  perSecond: number | undefined
  onClose(): void
}

/** Asks for a rate: queued runs should not all start at once. */
export function ResumeDialog({ scope, name, perSecond = USUAL_PER_SECOND, onClose }: ResumeProps) {
  const [rate, setRate] = useState(String(perSecond))
  const { problems, refusal, isSending, submit } = useSending(async (body, key) => {
    await resumeRuns(scope, (body as { perSecond: number }).perSecond, key)
    hurry()
    onClose()
  })
  const send = (event: Event) => {
    event.preventDefault()
    const found: FieldProblem[] = []
    void submit(
      { perSecond: wholeIn(rate, 'perSecond', MOST_PER_SECOND, found) },
      found,
      (path) => path === '$.perSecond',
    )
  }
  return (
    <Dialog title={`Resume ${name}`} onClose={onClose}>
      <form class="stack" onSubmit={send} noValidate>
        <p>Queued runs go on gradually, the oldest and those of the highest priority first.</p>
        <NumberField name="perSecond" label="Runs a second" value={rate} problems={problems} onInput={setRate} />
        <DialogEnd refusal={refusal} onClose={onClose}>
          <button type="submit" class="primary" aria-disabled={isSending}>
            Resume
          </button>
        </DialogEnd>
      </form>
    </Dialog>
  )
}
