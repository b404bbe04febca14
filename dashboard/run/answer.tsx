import { useState } from 'preact/hooks'
import { listCallbacks, type OpenCallback, type ShownRun, settleCallback } from '../api.ts'
import type { FieldProblem } from '../form/draft.ts'
import { useSending, useValue } from '../form/use-form.ts'
import { ValueForm } from '../form/value-form.tsx'
import { hurry } from '../live/changes.ts'
import { useLoaded } from '../live/use-loaded.ts'
import { Dialog, DialogEnd } from '../parts/dialog.tsx'
import { Shown } from '../parts/states.tsx'

/** Completes or fails a callback of the run. */
export function AnswerDialog({ run, onClose }: { run: ShownRun; onClose: () => void }) {
  const loaded = useLoaded(`callbacks ${run.runId}`, (signal) => listCallbacks(run.runId, signal))
  const [chosen, choose] = useState(0)
  return (
    <Dialog title="Answer a callback" onClose={onClose}>
      <Shown loaded={loaded}>
        {(callbacks) =>
          callbacks.length === 0 ? (
            <p>It waits for no answer now.</p>
          ) : (
            <div class="stack">
              <label class="field">
                Callback
                <select
                  name="callback"
                  value={String(chosen)}
                  onChange={(event) => choose(Number(event.currentTarget.value))}
                >
                  {callbacks.map(({ name }, i) => (
                    <option key={name} value={String(i)}>
                      {name}
                    </option>
                  ))}
                </select>
              </label>
              <Answer key={callbacks[chosen]!.token} callback={callbacks[chosen]!} onClose={onClose} />
            </div>
          )
        }
      </Shown>
    </Dialog>
  )
}

function Answer({ callback, onClose }: { callback: OpenCallback; onClose: () => void }) {
  const [isFailure, setFailure] = useState(false)
  const [message, setMessage] = useState('')
  const result = useValue(callback.schema, '$.result')
  const { problems, refusal, isSending, submit } = useSending(async (body, key) => {
    await settleCallback(callback.token, body as Parameters<typeof settleCallback>[1], key)
    hurry()
    onClose()
  })
  const send = (event: Event) => {
    event.preventDefault()
    const found: FieldProblem[] = []
    const body = isFailure ? { error: { message } } : { result: result.read(found) }
    void submit(body, found, (path) => document.getElementsByName(path).length > 0)
  }
  return (
    <form class="stack" onSubmit={send} noValidate>
      {callback.question !== undefined && <p class="question">{callback.question}</p>}
      <p class="muted">
        It has{' '}
        <a href={callback.url} target="_blank" rel="noreferrer">
          a page of its own
        </a>
        , to send to the person who is to answer.
      </p>
      <label class="check">
        <input type="checkbox" checked={isFailure} onChange={() => setFailure(!isFailure)} /> It failed
      </label>
      {isFailure ? (
        <label class="field">
          What went wrong
          <input
            type="text"
            name="$.error"
            value={message}
            onInput={(event) => setMessage(event.currentTarget.value)}
          />
        </label>
      ) : (
        <ValueForm
          value={result}
          problems={problems}
          title={callback.schema === undefined ? 'Result, as JSON' : 'Result'}
        />
      )}
      <DialogEnd refusal={refusal} onClose={onClose}>
        <button type="submit" class="primary" aria-disabled={isSending}>
          {isFailure ? 'Fail it' : 'Complete it'}
        </button>
      </DialogEnd>
    </form>
  )
}
