import { useRef } from 'preact/hooks'
import { meantRunId } from '../../sdk/views/as-written.ts'
import { useKeys } from '../keys.ts'
import { Icon } from '../parts/icons.tsx'
import { go, href } from '../route.ts'
import { config, type Theme, theme } from '../settings.ts'

const VIEWS = ['runs', 'incidents', 'workflows', 'limits', 'schedules', 'workers']
const NEXT: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' }

export function Head({ view, onHelp }: { view: string; onHelp: () => void }) {
  const { name, isLocal, isReadOnly } = config.value
  return (
    <header class="head">
      <a class="brand" href={href(['runs'])}>
        <Icon name="brand" />
        Overwinter
      </a>
      <span
        class={`where ${isLocal ? 'is-local' : 'is-deployed'}`}
        title={isLocal ? 'On this machine' : 'A deployment'}
      >
        {name}
        {isReadOnly && ' · read only'}
      </span>
      <nav aria-label="Views">
        {VIEWS.map((each) => (
          <a key={each} href={href([each])} {...(each === view && { 'aria-current': 'page' as const })}>
            {each[0]!.toUpperCase() + each.slice(1)}
          </a>
        ))}
      </nav>
      <Jump />
      <button
        type="button"
        class="quiet icon-button"
        aria-label={`Theme: ${theme.value}. Change to ${NEXT[theme.value]}`}
        title={`Theme: ${theme.value}`}
        onClick={() => {
          theme.value = NEXT[theme.value]
        }}
      >
        <Icon name="theme" />
      </button>
      <button type="button" class="quiet icon-button" aria-label="Keys" title="Keys (?)" onClick={onHelp}>
        ?
      </button>
    </header>
  )
}

function Jump() {
  const input = useRef<HTMLInputElement>(null)
  useKeys({ '/': () => input.current?.focus() })
  const jump = (event: Event) => {
    event.preventDefault()
    const id = meantRunId(input.current!.value.trim())
    if (id === '') return
    input.current!.value = ''
    input.current!.blur()
    go(href(['runs', id]))
  }
  return (
    <form class="jump" role="search" onSubmit={jump}>
      <input
        ref={input}
        type="search"
        name="id"
        placeholder="Jump to a run’s id"
        aria-label="Jump to a run by its id"
        autocomplete="off"
        spellcheck={false}
      />
      <kbd>/</kbd>
    </form>
  )
}
