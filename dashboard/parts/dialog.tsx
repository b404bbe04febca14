import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { Refusal } from '../refusal.ts'
import { Icon } from './icons.tsx'
import { Trouble } from './states.tsx'

/** The browser's own dialog: it keeps the focus, and Esc closes it. */
export function Dialog({
  title,
  onClose,
  children,
  isWide = false,
}: {
  title: string
  onClose: () => void
  children: ComponentChildren
  isWide?: boolean
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const element = dialog.current!
    element.showModal()
    return () => element.close()
  }, [])
  return (
    <dialog ref={dialog} class={isWide ? 'is-wide' : ''} aria-label={title} onClose={onClose}>
      <header class="dialog-head">
        <h2>{title}</h2>
        <button type="button" class="quiet icon-button" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {children}
    </dialog>
  )
}

interface EndProps {
  refusal: Refusal | undefined
  onClose(): void
  /** The text of the cancel button. */
  out?: string
  /** The submit button. */
  children: ComponentChildren
}

/** The end of a dialog with a form: the server's refusal, the cancel button and the submit button. */
export function DialogEnd({ refusal, onClose, out = 'Leave it', children }: EndProps) {
  return (
    <>
      {refusal && <Trouble refusal={refusal} />}
      <div class="dialog-actions">
        <button type="button" onClick={onClose}>
          {out}
        </button>
        {children}
      </div>
    </>
  )
}
