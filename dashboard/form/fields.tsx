import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { pathStep } from '../../sdk/base/path-step.ts'
import { type Draft, emptyDraft, type FieldProblem } from './draft.ts'
import type { Field, Shape } from './schema.ts'

interface FieldProps {
  field: Field
  draft: Draft
  path: string
  problems: readonly FieldProblem[]
  onChange(draft: Draft): void
}

/** A field, or a group of them, with its problems beside it. */
export function FormField(props: FieldProps) {
  const { shape } = props.field
  if (shape.kind === 'object') return <Group {...props} fields={shape.fields} />
  if (shape.kind === 'list') return <List {...props} item={shape.item} />
  return <Simple {...props} />
}

const titleOf = ({ title, name, shape }: Field): string => title ?? (name || (shape.kind === 'json' ? 'JSON' : 'Value'))

function Group({ field, fields, draft, path, problems, onChange }: FieldProps & { fields: readonly Field[] }) {
  const given = (draft ?? {}) as { [name: string]: Draft }
  const inner = fields.map((each) => (
    <FormField
      key={each.name}
      field={each}
      draft={given[each.name]}
      path={path + pathStep(each.name)}
      problems={problems}
      onChange={(value) => onChange({ ...given, [each.name]: value })}
    />
  ))
  if (field.name === '')
    return (
      <div class="stack">
        {inner}
        <Problems problems={problems} path={path} />
      </div>
    )
  return (
    <Framed field={field} path={path} problems={problems}>
      {inner}
    </Framed>
  )
}

/** Several fields that belong together, under the title of their object. */
function Framed({
  field,
  path,
  problems,
  children,
}: Pick<FieldProps, 'field' | 'path' | 'problems'> & { children: ComponentChildren }) {
  return (
    <fieldset class="group">
      <legend>
        {titleOf(field)} {!field.isRequired && <span class="muted">optional</span>}
      </legend>
      {field.help && <p class="muted">{field.help}</p>}
      {children}
      <Problems problems={problems} path={path} />
    </fieldset>
  )
}

function List({ field, item, draft, path, problems, onChange }: FieldProps & { item: Field }) {
  const items = (draft as Draft[] | undefined) ?? []
  return (
    <Framed field={field} path={path} problems={problems}>
      {items.map((each, i) => (
        <div key={i} class="list-item">
          <FormField
            field={{ ...item, name: `${i + 1}` }}
            draft={each}
            path={path + pathStep(i)}
            problems={problems}
            onChange={(value) => onChange(items.with(i, value))}
          />
          <button
            type="button"
            class="quiet"
            onClick={() => onChange(items.toSpliced(i, 1))}
            aria-label={`Remove ${titleOf(field)} ${i + 1}`}
          >
            Remove
          </button>
        </div>
      ))}
      <button type="button" onClick={() => onChange([...items, emptyDraft(item)])}>
        Add to {titleOf(field)}
      </button>
    </Framed>
  )
}

function Simple({ field, draft, path, problems, onChange }: FieldProps) {
  const id = useId()
  const isWrong = problems.some((problem) => problem.path === path)
  const common = {
    id,
    name: path,
    'aria-invalid': isWrong,
    'aria-describedby': `${id}-more`,
    'aria-required': field.isRequired,
  }
  return (
    <div class="field">
      <label for={id}>
        {titleOf(field)} {!field.isRequired && <span class="muted">optional</span>}
      </label>
      <Input shape={field.shape} draft={String(draft ?? '')} onChange={onChange} common={common} />
      <div id={`${id}-more`}>
        {field.help && <p class="muted">{field.help}</p>}
        <Problems problems={problems} path={path} />
      </div>
    </div>
  )
}

interface InputProps {
  shape: Shape
  draft: string
  common: object
  onChange(draft: Draft): void
}

function Input({ shape, draft, common, onChange }: InputProps): ComponentChildren {
  const typed = (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value)
  if (shape.kind === 'json')
    return (
      <textarea
        {...common}
        class="mono"
        rows={Math.min(12, Math.max(3, draft.split('\n').length))}
        value={draft}
        spellcheck={false}
        onInput={typed}
      />
    )
  if (shape.kind === 'boolean' || shape.kind === 'choice') {
    const options =
      shape.kind === 'boolean'
        ? [
            ['true', 'yes'],
            ['false', 'no'],
          ]
        : shape.values.map((value, i) => [String(i), typeof value === 'string' ? value : JSON.stringify(value)])
    return (
      <select {...common} value={draft} onChange={typed}>
        <option value="">–</option>
        {options.map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    )
  }
  if (shape.kind === 'number')
    return (
      <input
        {...common}
        type="text"
        inputMode={shape.isInteger ? 'numeric' : 'decimal'}
        value={draft}
        autocomplete="off"
        onInput={typed}
      />
    )
  const type =
    shape.kind === 'text' && shape.format === 'date'
      ? 'date'
      : shape.kind === 'text' && shape.format === 'date-time'
        ? 'datetime-local'
        : 'text'
  return (
    <input
      {...common}
      type={type as 'text'}
      step="1"
      value={draft}
      autocomplete="off"
      spellcheck={false}
      onInput={typed}
    />
  )
}

export function Problems({ problems, path }: { problems: readonly FieldProblem[]; path: string }) {
  return problems
    .filter((problem) => problem.path === path)
    .map(({ message }) => (
      <p key={message} class="problem" role="alert">
        {message}
      </p>
    ))
}
