import { useState } from 'preact/hooks'
import type { Json } from '../../sdk/base/json.ts'
import { askRun, getWorkflow, type ShownRun, signalRun, type Workflow } from '../api.ts'
import type { FieldProblem } from '../form/draft.ts'
import { useSending, useValue } from '../form/use-form.ts'
import { ValueForm } from '../form/value-form.tsx'
import { hurry } from '../live/changes.ts'
import { useLoaded } from '../live/use-loaded.ts'
import { Dialog, DialogEnd } from '../parts/dialog.tsx'
import { Skeleton } from '../parts/states.tsx'
import { Payload } from './payload-panel.tsx'

type Declared = Workflow['signals'][number]

export function SignalDialog({
  run,
  about,
  onClose,
}: {
  run: ShownRun
  about: string | undefined
  onClose: () => void
}) {
  const awaited = about ?? run.waitingFor?.find(({ kind }) => kind === 'signal')?.on ?? ''
  const [name, setName] = useState(awaited)
  const workflow = useLoaded(`workflow ${run.workflow}`, (signal) => getWorkflow(run.workflow, signal))
  // A workflow that this server does not know accepts signals too.
  const declared = workflow.value?.signals ?? []
  const isKnown = workflow.value !== undefined || workflow.refusal !== undefined
  const chosen = declared.find((each) => each.name === name)
  return (
    <Dialog title="Send a signal" onClose={onClose}>
      {isKnown ? (
        <div class="stack">
          <label class="field">
            Signal
            {declared.length > 0 ? (
              <select name="signal" value={name} onChange={(event) => setName(event.currentTarget.value)}>
                {!chosen && <option value={name}>{name || 'choose'}</option>}
                {declared.map((each) => (
                  <option key={each.name} value={each.name}>
                    {each.name}
                  </option>
                ))}
              </select>
            ) : (
              <input
                type="text"
                name="signal"
                value={name}
                autocomplete="off"
                spellcheck={false}
                onInput={(event) => setName(event.currentTarget.value)}
              />
            )}
          </label>
          <PayloadForm key={chosen ? name : ''} runId={run.runId} name={name} declared={chosen} onClose={onClose} />
        </div>
      ) : (
        <Skeleton rows={2} />
      )}
    </Dialog>
  )
}

function PayloadForm({
  runId,
  name,
  declared,
  onClose,
}: {
  runId: string
  name: string
  declared: Declared | undefined
  onClose: () => void
}) {
  const payload = useValue(declared?.payload, '$')
  const [reply, setReply] = useState<{ result?: Json } | undefined>()
  const { problems, refusal, isSending, submit } = useSending(async (body, key) => {
    const { payload } = body as { payload: unknown }
    if (declared?.kind === 'request') setReply(await askRun(runId, name, payload, key))
    else await signalRun(runId, name, payload, key)
    hurry()
    if (declared?.kind !== 'request') onClose()
  })
  const send = (event: Event) => {
    event.preventDefault()
    const found: FieldProblem[] = []
    const value = payload.read(found)
    if (name.trim() === '') return
    void submit({ name, payload: value }, found, (path) => document.getElementsByName(path).length > 0)
  }
  return (
    <form class="stack" onSubmit={send} noValidate>
      <ValueForm value={payload} problems={problems} title="Payload" />
      {reply && <Payload title="It replied" value={reply.result} />}
      <DialogEnd refusal={refusal} onClose={onClose} out={reply ? 'Done' : 'Leave it'}>
        <button type="submit" class="primary" disabled={name.trim() === ''} aria-disabled={isSending}>
          {declared?.kind === 'request' ? 'Ask' : 'Send'}
        </button>
      </DialogEnd>
    </form>
  )
}
