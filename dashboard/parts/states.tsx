import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Loaded } from '../live/use-loaded.ts'
import type { Refusal } from '../refusal.ts'

/** Content that loads within this time gets no loading indicator. */
const PATIENCE_MS = 150

export function Skeleton({ rows = 6 }: { rows?: number }) {
  const [isShown, show] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => show(true), PATIENCE_MS)
    return () => clearTimeout(timer)
  }, [])
  if (!isShown) return null
  return (
    <div class="skeleton" role="status">
      <span class="unseen">Loading</span>
      {Array.from({ length: rows }, (_, i) => (
        <div key={i} class="skeleton-row" />
      ))}
    </div>
  )
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  )
}

/** The server's refusal in its own words, with the known names that it lists. */
export function Trouble({ refusal, knownHref }: { refusal: Refusal; knownHref?: (name: string) => string }) {
  // A problem without a field repeats the message.
  const problems = refusal.problems.filter(({ message }) => message !== refusal.message)
  return (
    <div class="trouble" role="alert">
      <p class="trouble-title">{refusal.title}</p>
      <p>{refusal.message}</p>
      {problems.length > 0 && (
        <ul>
          {problems.map(({ path, message }) => (
            <li key={path}>
              <code>{path}</code> {message}
            </li>
          ))}
        </ul>
      )}
      {refusal.advice && <p class="muted">{refusal.advice}</p>}
      {refusal.known.length > 0 && (
        <p>
          Known here:{' '}
          {refusal.known.map((name, i) => (
            <span key={name}>
              {i > 0 && ', '}
              {knownHref ? <a href={knownHref(name)}>{name}</a> : <code>{name}</code>}
            </span>
          ))}
        </p>
      )}
    </div>
  )
}

/** Loaded data, or its loading, empty or error state. */
export function Shown<T>({
  loaded,
  children,
  knownHref,
}: {
  loaded: Loaded<T>
  children: (value: T) => ComponentChildren
  knownHref?: (name: string) => string
}) {
  const { value, refusal } = loaded
  if (refusal && value === undefined) return <Trouble refusal={refusal} {...(knownHref && { knownHref })} />
  if (value === undefined) return <Skeleton />
  return (
    <>
      {refusal && <Trouble refusal={refusal} />}
      {children(value)}
    </>
  )
}
