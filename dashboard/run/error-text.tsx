import type { ErrorRecord } from '../../sdk/base/events.ts'
import { Tree } from '../parts/tree.tsx'

/** An error, its cause, and its stack if the server shows it. */
export function ErrorText({ error, isCause = false }: { error: ErrorRecord; isCause?: boolean }) {
  const { name, message, code, stack, cause, errors, fields } = error
  return (
    <section class="error-text" aria-label={isCause ? 'Cause' : 'Error'}>
      <h3>
        {isCause && <span class="muted">caused by </span>}
        {name}
        {code !== undefined && <span class="muted"> {code}</span>}
      </h3>
      <p class="error-message">{message}</p>
      {stack !== undefined && (
        <details>
          <summary>Stack</summary>
          <pre>{stack}</pre>
        </details>
      )}
      {fields && <Tree value={fields} />}
      {cause && <ErrorText error={cause} isCause />}
      {errors?.map((each, i) => (
        <ErrorText key={i} error={each} isCause />
      ))}
    </section>
  )
}
