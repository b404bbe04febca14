import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Icon } from './icons.tsx'

/** The browser's own dialog: it keeps the focus, and Esc closes it. */
export function Dialog({ title, onClose, children, isWide = false }: { title: string; onClose: () => void; children: ComponentChildren; isWide?: boolean }) {
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
