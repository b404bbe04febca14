interface TimeFieldProps {
  name: string
  label: string
  /** ISO 8601, or milliseconds since 1970. */
  value: string | undefined
  /** In UTC; undefined if it was cleared. */
  onChange(at: string | undefined): void
}

/** The field shows the reader's time zone, the address has UTC. */
export function TimeField({ name, label, value, onChange }: TimeFieldProps) {
  const change = (event: Event & { currentTarget: HTMLInputElement }) => {
    const at = event.currentTarget.value
    onChange(at === '' ? undefined : new Date(at).toISOString())
  }
  return (
    <label>
      {label}
      <input type="datetime-local" name={name} value={forField(value)} onChange={change} />
    </label>
  )
}

function forField(value: string | undefined): string {
  const at = value === undefined ? Number.NaN : /^\d+$/.test(value) ? Number(value) : Date.parse(value)
  if (Number.isNaN(at)) return ''
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
