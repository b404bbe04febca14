import { useState } from 'preact/hooks'
import { MOST_CONCURRENCY, MOST_RATE } from '../../sdk/flow/limiter/bounds.ts'
import { specInWords, takenBy } from '../../sdk/views/limit-words.ts'
import { type LimitView, setLimit } from '../api.ts'
import type { FieldProblem } from '../form/draft.ts'
import { useSending } from '../form/use-form.ts'
import { hurry } from '../live/changes.ts'
import { Dialog, DialogEnd } from '../parts/dialog.tsx'
import { NumberField, wholeIn } from './number-field.tsx'

const MOST = { concurrency: MOST_CONCURRENCY, rate: MOST_RATE }

/** Sets other numbers than those of the code, until they are reset. */
export function SetLimit({ limit, onClose }: { limit: LimitView; onClose: () => void }) {
  const { name, code, inForce } = limit
  const takes = takenBy(limit)
  const [fields, setFields] = useState({
    concurrency: String(inForce.concurrency ?? ''),
    rate: String(inForce.rate ?? ''),
    per: inForce.perMs === undefined ? '' : `${inForce.perMs / 1_000}s`,
  })
  const { problems, refusal, isSending, submit } = useSending(async (body) => {
    await setLimit(name, body as object)
    hurry()
    onClose()
  })
  const send = (event: Event) => {
    event.preventDefault()
    const found: FieldProblem[] = []
    const numbers: Record<string, unknown> = {}
    for (const field of ['concurrency', 'rate'] as const)
      if (fields[field].trim() !== '') numbers[field] = wholeIn(fields[field], field, MOST[field], found)
    if (fields.per.trim() !== '') numbers.per = fields.per.trim()
    void submit(numbers, found, (path) => document.getElementsByName(path).length > 0)
  }
  const field = (each: keyof typeof fields, label: string) => (
    <NumberField
      name={each}
      label={label}
      value={fields[each]}
      problems={problems}
      onInput={(text) => setFields({ ...fields, [each]: text })}
    />
  )
  return (
    <Dialog title={`Set ${name}`} onClose={onClose}>
      <form class="stack" onSubmit={send} noValidate>
        <p>
          It applies at once, to queued runs too, until it is reset. The code has {specInWords(code)}. What is left
          empty stays as it is.
        </p>
        {takes.concurrency && field('concurrency', 'At once')}
        {takes.rate && (
          <div class="side-by-side">
            {field('rate', 'Rate')}
            {field('per', 'Per, as in 1s or 5m')}
          </div>
        )}
        <DialogEnd refusal={refusal} onClose={onClose}>
          <button type="submit" class="primary" aria-disabled={isSending}>
            Set
          </button>
        </DialogEnd>
      </form>
    </Dialog>
  )
}
