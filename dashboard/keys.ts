import { useEffect, useRef } from 'preact/hooks'
import { go, href } from './route.ts'

/** Our keyboard shortcuts, besides the browser's. `?` shows this list. */
export const KEYS: readonly [keys: string, what: string][] = [
  ['/', 'jump to a run by its id'],
  ['g r', 'runs'],
  ['g i', 'incidents'],
  ['g w', 'workflows'],
  ['g l', 'limits'],
  ['g s', 'schedules'],
  ['g k', 'workers'],
  ['j  k', 'down and up in a list'],
  ['Enter', 'open what is marked'],
  ['Esc', 'close a dialog or the side panel, let go of what is marked'],
  ['?', 'this list'],
]

const VIEWS: Record<string, string> = {
  r: 'runs',
  i: 'incidents',
  w: 'workflows',
  l: 'limits',
  s: 'schedules',
  k: 'workers',
}

type Handlers = Partial<Record<string, () => void>>
/** The last registered layer handles a key first. */
const layers: { current: Handlers }[] = []

export function useKeys(handlers: Handlers): void {
  const ref = useRef(handlers)
  ref.current = handlers
  useEffect(() => {
    layers.push(ref)
    return () => void layers.splice(layers.indexOf(ref), 1)
  }, [])
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof Element && target.matches('input, textarea, select, [contenteditable]')

export function listenForKeys(): void {
  let isGoing = false
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
    // A dialog has shortcuts of its own.
    if (document.querySelector('dialog[open]')) return
    if (isTyping(event.target)) {
      if (event.key === 'Escape') (event.target as HTMLElement).blur()
      return
    }
    const view = isGoing ? VIEWS[event.key] : undefined
    isGoing = event.key === 'g' && !isGoing
    if (view !== undefined) return go(href([view]))
    // On a link or a button, Enter activates it.
    if (event.key === 'Enter' && event.target instanceof Element && event.target.closest('a, button, summary')) return
    const handler = layers.findLast(({ current }) => current[event.key])?.current[event.key]
    if (!handler) return
    event.preventDefault()
    handler()
  })
}
