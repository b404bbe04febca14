import { useRef } from 'preact/hooks'
import type { RunFilter } from '../api.ts'
import { href, select } from '../route.ts'
import { SavedViews } from './saved-views.tsx'

const SETTLE_MS = 200

export function Filters({ filter, workflows }: { filter: RunFilter; workflows: readonly string[] }) {
  const isAny = Object.keys(filter).length > 0
  return (
    <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      <label>
        Workflow
        <select value={filter.workflow ?? ''} onChange={(event) => select({ workflow: event.currentTarget.value })}>
          <option value="">any</option>
          {withItself(workflows, filter.workflow).map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <Typed name="tag" label="Tag" value={filter.tag} />
      <Typed name="idPrefix" label="Id begins with" value={filter.idPrefix} />
      <Time name="from" label="Created from" value={filter.from} />
      <Time name="to" label="before" value={filter.to} />
      {isAny && <a href={href(['runs'])}>Clear</a>}
      <SavedViews />
    </form>
  )
}

/** What is in the address is shown, known or not. */
const withItself = (names: readonly string[], chosen: string | undefined) => (chosen === undefined || names.includes(chosen) ? names : [...names, chosen])

function Typed({ name, label, value }: { name: 'tag' | 'idPrefix'; label: string; value: string | undefined }) {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  return (
    <label>
      {label}
      <input
        type="text"
        name={name}
        value={value ?? ''}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => {
          const typed = event.currentTarget.value
          clearTimeout(timer.current)
          timer.current = setTimeout(() => select({ [name]: typed }, { replaces: true }), SETTLE_MS)
        }}
      />
    </label>
  )
}

/** The field speaks of the reader's time zone, the address of UTC. */
function Time({ name, label, value }: { name: 'from' | 'to'; label: string; value: string | undefined }) {
  const change = (event: Event & { currentTarget: HTMLInputElement }) => {
    const at = event.currentTarget.value
    select({ [name]: at === '' ? undefined : new Date(at).toISOString() })
  }
  return (
    <label>
      {label}
      <input type="datetime-local" name={name} value={forField(value)} onChange={change} />
    </label>
  )
}

function forField(value: string | undefined): string {
  const at = value === undefined ? Number.NaN : /^\d+$/.test(value) ? Number(value) : Date.parse(value)
  if (Number.isNaN(at)) return ''
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
