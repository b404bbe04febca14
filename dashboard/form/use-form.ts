import { useMemo, useRef, useState } from 'preact/hooks'
import { Refusal, Unreachable } from '../refusal.ts'
import { type Draft, emptyDraft, type FieldProblem, filledIn } from './draft.ts'
import { type Field, fieldOf, type JsonSchema } from './schema.ts'

const AS_JSON: Field = { name: '', isRequired: false, shape: { kind: 'json' } }

/** A value that a person enters, by fields if the schema describes them, or as JSON. */
export function useValue(schema: JsonSchema | undefined, root: string) {
  const fields = useMemo(() => (schema === undefined ? AS_JSON : fieldOf(schema)), [schema])
  const [isJson, setJson] = useState(false)
  const field = isJson ? AS_JSON : fields
  const [draft, setDraft] = useState<Draft>(() => emptyDraft(fields))
  const [text, setText] = useState<Draft>('')
  const read = (problems: FieldProblem[]) => filledIn(field, isJson ? text : draft, root, problems)
  /** Keeps what was entered so far. */
  const toggle = () => {
    if (!isJson) setText(JSON.stringify(filledIn(fields, draft, root, []), null, 2) ?? '')
    setJson(!isJson)
  }
  return {
    field,
    draft: isJson ? text : draft,
    change: isJson ? setText : setDraft,
    read,
    isJson,
    toggle,
    canToggle: fields.shape.kind !== 'json',
    root,
  }
}

/** Sends once: repeated clicks send the same content under the same key. */
export function useSending(send: (body: unknown, key: string) => Promise<void>) {
  const [problems, setProblems] = useState<FieldProblem[]>([])
  const [refusal, setRefusal] = useState<Refusal | undefined>()
  const [isSending, setSending] = useState(false)
  const last = useRef({ text: '', key: '' })
  const underWay = useRef(false)

  const submit = async (
    body: unknown,
    found: readonly FieldProblem[],
    isAField: (path: string) => boolean = () => true,
  ) => {
    setRefusal(undefined)
    setProblems([...found])
    if (found.length > 0 || underWay.current) return
    const text = JSON.stringify(body) ?? ''
    if (last.current.text !== text) last.current = { text, key: crypto.randomUUID() }
    underWay.current = true
    setSending(true)
    try {
      await send(body, last.current.key)
      last.current = { text: '', key: '' }
    } catch (error) {
      // The banner shows the error; the content is kept, and is sent under the same key.
      if (error instanceof Unreachable) return
      if (!(error instanceof Refusal)) throw error
      const mine = error.problems.filter(({ path }) => isAField(path))
      setProblems(mine)
      if (mine.length === 0 || mine.length < error.problems.length) setRefusal(error)
    } finally {
      underWay.current = false
      setSending(false)
    }
  }
  return { problems, refusal, isSending, submit }
}
