import { signal } from '@preact/signals'
import { absolute, relative } from '../format.ts'

/** One clock for all relative times; it stops while the page is hidden. */
export const now = signal(Date.now())
setInterval(() => {
  if (!document.hidden) now.value = Date.now()
}, 1_000)

export function Ago({ at }: { at: number }) {
  return (
    <time dateTime={new Date(at).toISOString()} title={absolute(at)}>
      {relative(at, now.value)}
    </time>
  )
}
