import { useState } from 'preact/hooks'
import { Problems } from '../form/fields.tsx'
import { useSending } from '../form/use-form.ts'
import { hurry } from '../live/changes.ts'
import { Dialog, DialogEnd } from '../parts/dialog.tsx'

interface ConfirmProps {
  title: string
  verb: string
  /** What will happen, and what will be lost. */
  text: string
  /** A reason against it. */
  warning?: string
  isGrave?: boolean
  asksReason?: boolean
  onDo(key: string, reason?: string): Promise<void>
  onClose(): void
}

/** Asks for confirmation. */
export function Confirm({
  title,
  verb,
  text,
  warning,
  isGrave = false,
  asksReason = false,
  onDo,
  onClose,
}: ConfirmProps) {
  const [reason, setReason] = useState('')
  const { problems, refusal, isSending, submit } = useSending(async (_body, key) => {
    await onDo(key, reason.trim() || undefined)
    hurry()
    onClose()
  })
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void submit({ verb, reason }, [], (path) => path === '$.reason')
        }}
      >
        <p>{text}</p>
        {warning !== undefined && (
          <p class="warning" role="alert">
            {warning}
          </p>
        )}
        {asksReason && (
          <label class="field">
            <span>
              Reason <span class="muted">optional, kept in its history</span>
            </span>
            <input
              type="text"
              name="$.reason"
              maxLength={1000}
              value={reason}
              onInput={(event) => setReason(event.currentTarget.value)}
            />
            <Problems problems={problems} path="$.reason" />
          </label>
        )}
        <DialogEnd refusal={refusal} onClose={onClose}>
          <button type="submit" class={isGrave ? 'grave primary' : 'primary'} aria-disabled={isSending}>
            {verb}
          </button>
        </DialogEnd>
      </form>
    </Dialog>
  )
}
