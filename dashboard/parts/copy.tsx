import { useState } from 'preact/hooks'
import { Icon } from './icons.tsx'

const SHOWN_MS = 1_500

export function Copy({ text, what }: { text: string | (() => string); what: string }) {
  const [said, say] = useState('')
  const copy = async () => {
    const isDone = await navigator.clipboard?.writeText(typeof text === 'string' ? text : text()).then(
      () => true,
      () => false,
    )
    say(isDone ? 'copied' : 'the browser does not allow it')
    setTimeout(() => say(''), SHOWN_MS)
  }
  return (
    <button type="button" class="quiet copy" title={`Copy ${what}`} aria-label={`Copy ${what}`} onClick={copy}>
      <Icon name="copy" />
      <span role="status">{said}</span>
    </button>
  )
}
