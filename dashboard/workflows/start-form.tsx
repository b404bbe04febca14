import { useState } from 'preact/hooks'
import { startRun, type Workflow } from '../api.ts'
import type { FieldProblem } from '../form/draft.ts'
import { Problems } from '../form/fields.tsx'
import { useSending, useValue } from '../form/use-form.ts'
import { ValueForm } from '../form/value-form.tsx'
import { Trouble } from '../parts/states.tsx'
import { go, href } from '../route.ts'

const INPUT = '$.input'
const OPTIONS = ['id', 'delay', 'tags'] as const

export function StartForm({ workflow }: { workflow: Workflow }) {
  const input = useValue(workflow.input, INPUT)
  const [options, setOptions] = useState({ id: '', delay: '', tags: '' })
  const { problems, refusal, isSending, submit } = useSending(async (body, key) => {
    const { runId } = await startRun(workflow.name, body as object, key)
    go(href(['runs', runId]))
  })
  const start = (event: Event) => {
    event.preventDefault()
    const found: FieldProblem[] = []
    const tags = options.tags.split(',').flatMap((tag) => tag.trim() || [])
    const body = {
      input: input.read(found),
      ...(options.id.trim() !== '' && { id: options.id.trim() }),
      ...(options.delay.trim() !== '' && {
        delay: /^\d+$/.test(options.delay.trim()) ? Number(options.delay) : options.delay.trim(),
      }),
      ...(tags.length > 0 && { tags }),
    }
    void submit(body, found, (path) => document.getElementsByName(path).length > 0 || /^\$\.(id|delay|tags)/.test(path))
  }
  return (
    <form class="stack" onSubmit={start} noValidate>
      <ValueForm value={input} problems={problems} title="Input" />
      <details class="options">
        <summary>Id, delay, tags</summary>
        {OPTIONS.map((name) => (
          <Option
            key={name}
            name={name}
            value={options[name]}
            problems={problems}
            onChange={(value) => setOptions({ ...options, [name]: value })}
          />
        ))}
      </details>
      {refusal && <Trouble refusal={refusal} />}
      <div>
        <button type="submit" class="primary" aria-disabled={isSending}>
          {isSending ? 'Starting…' : 'Start'}
        </button>
      </div>
    </form>
  )
}

const HELP: Record<(typeof OPTIONS)[number], string> = {
  id: 'Chosen by you: the same id with the same input again is the same run.',
  delay: 'When it is to begin: 30s, 2h, 7d.',
  tags: 'With commas between them.',
}

interface OptionProps {
  name: (typeof OPTIONS)[number]
  value: string
  problems: readonly FieldProblem[]
  onChange(value: string): void
}

function Option({ name, value, problems, onChange }: OptionProps) {
  const own = problems
    .filter(({ path }) => path.startsWith(`$.${name}`))
    .map(({ message }) => ({ path: `$.${name}`, message }))
  return (
    <label class="field">
      <span>
        {name[0]!.toUpperCase() + name.slice(1)} <span class="muted">optional</span>
      </span>
      <input
        type="text"
        name={`$.${name}`}
        value={value}
        aria-invalid={own.length > 0}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      <span class="muted">{HELP[name]}</span>
      <Problems problems={own} path={`$.${name}`} />
    </label>
  )
}
