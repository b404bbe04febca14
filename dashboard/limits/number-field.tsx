import type { FieldProblem } from '../form/draft.ts'
import { Problems } from '../form/fields.tsx'
import { amount } from '../format.ts'

interface NumberFieldProps {
  name: string
  label: string
  value: string
  problems: readonly FieldProblem[]
  onInput(text: string): void
}

export function NumberField({ name, label, value, problems, onInput }: NumberFieldProps) {
  return (
    <label class="field">
      {label}
      <input
        type="text"
        inputMode={name === 'per' ? 'text' : 'numeric'}
        name={`$.${name}`}
        value={value}
        autocomplete="off"
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <Problems problems={[...problems]} path={`$.${name}`} />
    </label>
  )
}

/** A whole number from 1; adds a problem if it is not one. */
export function wholeIn(text: string, name: string, most: number, found: FieldProblem[]): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1 || value > most)
    found.push({ path: `$.${name}`, message: `must be a whole number from 1 to ${amount(most)}` })
  return value
}
