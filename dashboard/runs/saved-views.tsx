import { signal } from '@preact/signals'
import { useState } from 'preact/hooks'
import { Dialog } from '../parts/dialog.tsx'
import { Icon } from '../parts/icons.tsx'
import { go, href } from '../route.ts'
import { keep, kept } from '../settings.ts'

interface View {
  name: string
  /** The query string. */
  search: string
}

const views = signal<View[]>(kept('views', []))

function save(all: View[]): void {
  views.value = all.sort((a, b) => (a.name < b.name ? -1 : 1))
  keep('views', all)
}

/** Named filters that the user has saved in this browser. */
export function SavedViews() {
  const [isSaving, setSaving] = useState(false)
  return (
    <div class="saved-views">
      {views.value.map(({ name, search }) => (
        <span key={name} class="saved-view">
          <button
            type="button"
            class="quiet"
            aria-pressed={location.search === search}
            onClick={() => go(href(['runs']) + search)}
          >
            {name}
          </button>
          <button
            type="button"
            class="quiet icon-button"
            aria-label={`Forget the view ${name}`}
            onClick={() => save(views.value.filter((view) => view.name !== name))}
          >
            <Icon name="close" />
          </button>
        </span>
      ))}
      <button type="button" onClick={() => setSaving(true)}>
        Save view
      </button>
      {isSaving && <Naming onClose={() => setSaving(false)} />}
    </div>
  )
}

function Naming({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('')
  const isKnown = views.value.some((view) => view.name === name.trim())
  const submit = (event: Event) => {
    event.preventDefault()
    event.stopPropagation()
    if (name.trim() === '') return
    save([...views.value.filter((view) => view.name !== name.trim()), { name: name.trim(), search: location.search }])
    onClose()
  }
  return (
    <Dialog title="Save this view" onClose={onClose}>
      <div class="stack">
        <label class="field">
          Name
          <input
            type="text"
            name="view"
            value={name}
            maxLength={40}
            onInput={(event) => setName(event.currentTarget.value)}
            onKeyDown={(event) => event.key === 'Enter' && submit(event)}
          />
        </label>
        {isKnown && <p class="muted">It takes the place of the view of that name.</p>}
        <div class="dialog-actions">
          <button type="button" class="primary" disabled={name.trim() === ''} onClick={submit}>
            Save
          </button>
        </div>
      </div>
    </Dialog>
  )
}
