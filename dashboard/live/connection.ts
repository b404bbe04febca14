import { signal } from '@preact/signals'

const FIRST_MS = 1_000
const LONGEST_MS = 30_000

/** Set while the server does not answer: the time of the next attempt. */
export const lost = signal<{ nextTryAt: number; isTrying: boolean } | undefined>(undefined)

const listeners = new Set<() => void>()
let timer: ReturnType<typeof setTimeout> | undefined
let pauseMs = FIRST_MS

/** Called when the server answers again: the shown data may be stale. */
export function onFound(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function serverIsGone(): void {
  if (lost.value) return
  pauseMs = FIRST_MS
  plan()
}

function plan(): void {
  lost.value = { nextTryAt: Date.now() + pauseMs, isTrying: false }
  clearTimeout(timer)
  timer = setTimeout(() => void look(), pauseMs)
}

/** At once when the button is pressed. A hidden page makes no attempts until it is visible again. */
export async function look(): Promise<void> {
  clearTimeout(timer)
  if (!lost.value || document.hidden) return
  lost.value = { ...lost.value, isTrying: true }
  const isThere = await fetch('/healthz').then(
    ({ status }) => status < 500,
    () => false,
  )
  if (!isThere) {
    pauseMs = Math.min(pauseMs * 2, LONGEST_MS)
    return plan()
  }
  serverIsThere()
}

/** Called after every answer. */
export function serverIsThere(): void {
  if (!lost.value) return
  clearTimeout(timer)
  lost.value = undefined
  for (const listener of listeners) listener()
}

document.addEventListener('visibilitychange', () => void look())
