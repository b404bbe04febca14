import type { FieldProblem } from './draft.ts'
import { FormField } from './fields.tsx'
import type { useValue } from './use-form.ts'

/** The fields of a value, with an option to write it as JSON. */
export function ValueForm({
  value,
  problems,
  title,
}: {
  value: ReturnType<typeof useValue>
  problems: readonly FieldProblem[]
  title: string
}) {
  const { field, draft, change, canToggle, isJson, toggle, root } = value
  return (
    <div class="value-form">
      {canToggle && (
        <button type="button" class="quiet as-json" aria-pressed={isJson} onClick={toggle}>
          {isJson ? 'As fields' : 'As JSON'}
        </button>
      )}
      <FormField
        field={field.name === '' && field.shape.kind !== 'object' ? { ...field, title: field.title ?? title } : field}
        draft={draft}
        path={root}
        problems={problems}
        onChange={change}
      />
    </div>
  )
}
