import { signal } from '@preact/signals'

/** The state of the page: every view and every selection is in the address, so that a link can be shared. */
export interface Place {
  /** Below `/ui`, decoded: `['runs', 'order-17']`. */
  path: readonly string[]
  query: URLSearchParams
}

const ROOT = '/ui'

function here(): Place {
  const parts = location.pathname.slice(ROOT.length).split('/').filter(Boolean)
  return { path: parts.map(decoded), query: new URLSearchParams(location.search) }
}

/** A hand-typed address may contain an incomplete percent sign. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export const place = signal(here())

type Query = Record<string, string | undefined>

/** The address of a view: `href(['runs', id], { tab: 'graph' })`. */
export function href(path: readonly string[], query: Query = {}): string {
  const given = Object.entries(query).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
  )
  const search = new URLSearchParams(given).toString()
  return `${ROOT}/${path.map(encodeURIComponent).join('/')}${search && `?${search}`}`
}

export function go(url: string, { replaces = false } = {}): void {
  if (url === location.pathname + location.search) return
  history[replaces ? 'replaceState' : 'pushState'](null, '', url)
  place.value = here()
}

/**
 * Changes a part of the selection and leaves the rest. Typing replaces the entry, so that Back does not go
 * letter by letter.
 */
export function select(changes: Query, { replaces = false } = {}): void {
  const { path, query } = place.value
  go(href(path, { ...Object.fromEntries(query), ...changes }), { replaces })
}

export const selected = (name: string): string | undefined => place.value.query.get(name) ?? undefined

/** Links stay links: only a plain click on an internal one is handled here. */
export function takeOverLinks(): void {
  addEventListener('popstate', () => {
    place.value = here()
  })
  document.addEventListener('click', (event) => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return
    const link = (event.target as Element).closest('a')
    if (
      !link ||
      link.target ||
      link.hasAttribute('download') ||
      link.origin !== location.origin ||
      !link.pathname.startsWith(`${ROOT}/`)
    )
      return
    event.preventDefault()
    go(link.pathname + link.search)
  })
}
