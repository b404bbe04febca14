import { useRef } from 'preact/hooks'
import { select, selected } from '../route.ts'

const SETTLE_MS = 120

/** The search text is in the address, as everything is. */
export function Search({ label }: { label: string }) {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  return (
    <input
      type="search"
      name="q"
      aria-label={label}
      placeholder={label}
      value={selected('q') ?? ''}
      autocomplete="off"
      spellcheck={false}
      onInput={(event) => {
        const q = event.currentTarget.value
        clearTimeout(timer.current)
        timer.current = setTimeout(() => select({ q }, { replaces: true }), SETTLE_MS)
      }}
    />
  )
}
