import { useState } from 'preact/hooks'
import type { Json } from '../../sdk/base/json.ts'
import { amount } from '../format.ts'
import { Icon } from './icons.tsx'
import { unmarked } from './marked-values.ts'

/** How much of a value is shown at first. */
const MOST_ENTRIES = 100
const MOST_CHARACTERS = 2_000
const OPEN_LEVELS = 2

/** JSON as a tree that renders only open nodes. All content is rendered as text. */
export function Tree({ value }: { value: Json | undefined }) {
  return (
    <div class="tree">
      {value === undefined ? <span class="json-none">nothing</span> : <Value value={value} level={0} />}
    </div>
  )
}

function Value({ value, level, name }: { value: Json; level: number; name?: string }) {
  const { type, json, coded } = unmarked(value)
  const label = (
    <>
      {name !== undefined && <span class="json-key">{name}: </span>}
      {type !== undefined && <span class="json-type">{type} </span>}
    </>
  )
  if (coded)
    return (
      <div>
        {label}
        <span class="json-none">encoded; the codec that made it is not here</span>
      </div>
    )
  if (typeof json === 'object' && json !== null) return <Branch json={json} level={level} label={label} />
  return (
    <div class="json-leaf">
      {label}
      <Leaf value={json} />
    </div>
  )
}

function Branch({
  json,
  level,
  label,
}: {
  json: Json[] | { [key: string]: Json }
  level: number
  label: preact.ComponentChildren
}) {
  const isArray = Array.isArray(json)
  const keys = isArray ? undefined : Object.keys(json)
  const count = isArray ? json.length : keys!.length
  const [isOpen, open] = useState(level < OPEN_LEVELS && count <= MOST_ENTRIES)
  const [shown, show] = useState(MOST_ENTRIES)
  const size = isArray ? `[${amount(count)}]` : `{${amount(count)}}`
  if (count === 0)
    return (
      <div class="json-leaf">
        {label}
        {isArray ? '[ ]' : '{ }'}
      </div>
    )
  return (
    <div class="json-branch">
      <button type="button" class="json-fold" aria-expanded={isOpen} onClick={() => open(!isOpen)}>
        <Icon name="open" />
        {label}
        <span class="json-size">{size}</span>
      </button>
      {isOpen && (
        <div class="json-inner">
          {Array.from({ length: Math.min(shown, count) }, (_, i) => {
            const key = keys ? keys[i]! : String(i)
            return <Value key={key} name={key} value={(json as { [key: string]: Json })[key]!} level={level + 1} />
          })}
          {count > shown && (
            <button type="button" class="quiet" onClick={() => show(shown + 1_000)}>
              show {amount(Math.min(1_000, count - shown))} more of {amount(count)}
            </button>
          )}
        </div>
      )}
    </div>
  )
}

function Leaf({ value }: { value: string | number | boolean | null }) {
  const [isWhole, showWhole] = useState(false)
  if (typeof value !== 'string')
    return <span class={value === null ? 'json-none' : 'json-number'}>{String(value)}</span>
  const isCut = value.length > MOST_CHARACTERS && !isWhole
  return (
    <span class="json-string">
      {/* In quotes: the text "3" and the number 3 are not to differ by colour alone. */}
      {isCut ? `"${value.slice(0, MOST_CHARACTERS)}…` : `"${value}"`}
      {isCut && (
        <button type="button" class="quiet" onClick={() => showWhole(true)}>
          show all {amount(value.length)} characters
        </button>
      )}
    </span>
  )
}
