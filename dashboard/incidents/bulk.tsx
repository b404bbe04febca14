import { useState } from 'preact/hooks'
import type { WouldSteer } from '../../sdk/bulk/steer-many.ts'
import { type BulkAction, type BulkTerms, type Incident, type Standing, startBulk, tryBulk } from '../api.ts'
import type { FieldProblem } from '../form/draft.ts'
import { Problems } from '../form/fields.tsx'
import { useSending } from '../form/use-form.ts'
import { amount, plural } from '../format.ts'
import { hurry } from '../live/changes.ts'
import { Dialog, DialogEnd } from '../parts/dialog.tsx'
import { Outcome } from './outcome.tsx'
import { Refusals } from './refusals.tsx'

const DOES: Record<BulkAction, { title: string; verb: string; text: string }> = {
  retry: {
    title: 'Retry all',
    verb: 'retry',
    text: 'Each goes on from what failed. What was done before is not done again.',
  },
  rerun: {
    title: 'Rerun all',
    verb: 'rerun',
    text:
      'For each failed run, a new one with the same input starts. The failed runs stay as they are, and ' +
      'each is rerun once.',
  },
  cancel: {
    title: 'Cancel all',
    verb: 'cancel',
    text: 'Each is asked to stop; its clean-up runs. Runs that have ended stay as they are.',
  },
  terminate: {
    title: 'Terminate all',
    verb: 'terminate',
    text: 'Each ends at once, without clean-up. Runs that have ended stay as they are.',
  },
}

interface Tried extends WouldSteer {
  terms: string
}

const LIMITS = { perSecond: { least: 1, most: 100 }, limit: { least: 1, most: 10_000 } }

interface BulkProps {
  action: BulkAction
  incident: Incident
  /** Only runs that got into trouble since then. */
  since?: string | undefined
  onClose(): void
}

/** First shows what it would do. A run of its own then does it, which can be watched and cancelled. */
export function BulkDialog({ action, incident, since, onClose }: BulkProps) {
  const [fields, setFields] = useState({ perSecond: '10', limit: '1000', tag: '' })
  const [tried, setTried] = useState<Tried | undefined>()
  const [started, setStarted] = useState<Standing | undefined>()
  const { title, verb, text } = DOES[action]
  const terms = JSON.stringify(fields)
  const isTried = tried?.terms === terms
  const { problems, refusal, isSending, submit } = useSending(async (body, key) => {
    const wanted = body as BulkTerms
    if (!isTried) return setTried({ terms, ...(await tryBulk(action, wanted)) })
    setStarted(await startBulk(action, wanted, key))
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
    const tag = fields.tag.trim()
    const filter = { incident: incident.fingerprint, ...(tag !== '' && { tag }), ...(since !== undefined && { since }) }
    void submit({ perSecond: read('perSecond'), limit: read('limit'), filter }, found, (path) =>
      /^\$\.(perSecond|limit)$/.test(path),
    )
  }
  const field = (name: keyof typeof fields, label: string) => (
    <label class="field">
      {label}
      <input
        type="text"
        inputMode={name === 'tag' ? 'text' : 'numeric'}
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
        <Outcome action={action} started={started} />
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
          {field('tag', 'Only with the tag')}
        </div>
        {isTried && <Promised verb={verb} tried={tried} />}
        <DialogEnd refusal={refusal} onClose={onClose}>
          {isTried && tried.can + tried.unchecked > 0 ? (
            <button
              type="submit"
              class={action === 'retry' || action === 'rerun' ? 'primary' : 'grave primary'}
              aria-disabled={isSending}
            >
              {title.replace('all', plural(tried.can + tried.unchecked, 'run'))}
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

function Promised({ verb, tried: { matches, can, refused, unchecked, isComplete } }: { verb: string; tried: Tried }) {
  return (
    <div class="would" role="status">
      <p>
        Would {verb}{' '}
        <strong>
          {refused.length === 0 ? plural(matches, 'run') : `${amount(can)} of ${plural(matches - unchecked, 'run')}`}
        </strong>
        {unchecked > 0 && refused.length > 0 && `, and as many as can be of ${amount(unchecked)} more`}
        {!isComplete && ', and there are more'}.
      </p>
      <Refusals refused={refused} />
    </div>
  )
}
