import { useState } from 'preact/hooks'
import { type BulkAction, type Incident, type Standing, startBulk, tryBulk } from '../api.ts'
import type { FieldProblem } from '../form/draft.ts'
import { Problems } from '../form/fields.tsx'
import { useSending } from '../form/use-form.ts'
import { amount, plural } from '../format.ts'
import { hurry } from '../live/changes.ts'
import { Dialog, DialogEnd } from '../parts/dialog.tsx'
import { href } from '../route.ts'

const DOES: Record<BulkAction, { title: string; verb: string; text: string }> = {
  retry: { title: 'Retry all', verb: 'retry', text: 'Each goes on from what failed. What was done before is not done again.' },
  cancel: { title: 'Cancel all', verb: 'cancel', text: 'Each is asked to stop; its clean-up runs. Runs that have ended stay as they are.' },
  terminate: { title: 'Terminate all', verb: 'terminate', text: 'Each ends at once, without clean-up. Runs that have ended stay as they are.' },
}

interface Tried {
  terms: string
  matches: number
  isComplete: boolean
}

const LIMITS = { perSecond: { least: 1, most: 100 }, limit: { least: 1, most: 10_000 } }

/** First what would be done, then the doing: by a run of its own, which can be watched and cancelled. */
export function BulkDialog({ action, incident, onClose }: { action: BulkAction; incident: Incident; onClose: () => void }) {
  const [fields, setFields] = useState({ perSecond: '10', limit: '1000' })
  const [tried, setTried] = useState<Tried | undefined>()
  const [started, setStarted] = useState<Standing | undefined>()
  const { title, verb, text } = DOES[action]
  const terms = JSON.stringify(fields)
  const isTried = tried?.terms === terms
  const { problems, refusal, isSending, submit } = useSending(async (body, key) => {
    const wanted = body as { perSecond: number; limit: number }
    if (!isTried) return setTried({ terms, ...(await tryBulk(action, incident.fingerprint, wanted)) })
    setStarted(await startBulk(action, incident.fingerprint, wanted, key))
    hurry()
  })
  const send = (event: Event) => {
    event.preventDefault()
    const found: FieldProblem[] = []
    const read = (name: keyof typeof LIMITS) => {
      const value = Number(fields[name])
      const { least, most } = LIMITS[name]
      if (!Number.isInteger(value) || value < least || value > most)
        found.push({ path: `$.${name}`, message: `must be a whole number from ${least} to ${amount(most)}` })
      return value
    }
    void submit({ perSecond: read('perSecond'), limit: read('limit') }, found, (path) => /^\$\.(perSecond|limit)$/.test(path))
  }
  const field = (name: keyof typeof LIMITS, label: string) => (
    <label class="field">
      {label}
      <input
        type="text"
        inputMode="numeric"
        name={`$.${name}`}
        value={fields[name]}
        onInput={(event) => setFields({ ...fields, [name]: event.currentTarget.value })}
      />
      <Problems problems={problems} path={`$.${name}`} />
    </label>
  )
  if (started)
    return (
      <Dialog title={title} onClose={onClose}>
        <p>
          It is under way, as run{' '}
          <a class="mono" href={href(['runs', started.runId])}>
            {started.runId}
          </a>
          . Cancel that run to stop it.
        </p>
        <div class="dialog-actions">
          <button type="button" onClick={onClose}>
            Close
          </button>
        </div>
      </Dialog>
    )
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="stack" onSubmit={send} noValidate>
        <p>{text}</p>
        <div class="side-by-side">
          {field('perSecond', 'Runs a second')}
          {field('limit', 'Runs at most')}
        </div>
        {isTried && (
          <p class="would" role="status">
            Would {verb} <strong>{plural(tried.matches, 'run')}</strong>
            {!tried.isComplete && ', and there are more'}.
          </p>
        )}
        <DialogEnd refusal={refusal} onClose={onClose}>
          {isTried && tried.matches > 0 ? (
            <button type="submit" class={action === 'retry' ? 'primary' : 'grave primary'} aria-disabled={isSending}>
              {title.replace('all', plural(tried.matches, 'run'))}
            </button>
          ) : (
            <button type="submit" class="primary" aria-disabled={isSending}>
              See how many
            </button>
          )}
        </DialogEnd>
      </form>
    </Dialog>
  )
}
