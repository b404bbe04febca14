import { useRef } from 'preact/hooks'
import type { RunFilter } from '../api.ts'
import { TimeField } from '../parts/time-field.tsx'
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
      <TimeField name="from" label="Created from" value={filter.from} onChange={(from) => select({ from })} />
      <TimeField name="to" label="before" value={filter.to} onChange={(to) => select({ to })} />
      <label class="check">
        <input
          type="checkbox"
          name="internal"
          checked={filter.internal === 'show'}
          onChange={(event) => select({ internal: event.currentTarget.checked ? 'show' : undefined })}
        />
        Internal runs
      </label>
      {isAny && <a href={href(['runs'])}>Clear</a>}
      <SavedViews />
    </form>
  )
}

/** The value in the address is shown, known or not. */
const withItself = (names: readonly string[], chosen: string | undefined) =>
  chosen === undefined || names.includes(chosen) ? names : [...names, chosen]

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
