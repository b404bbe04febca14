import { look, lost } from '../live/connection.ts'
import { now } from '../parts/time.tsx'

/** Shows that the server is unreachable. Entered text is kept: the page stays as it is. */
export function LostServer() {
  const state = lost.value
  const seconds = state && Math.max(0, Math.ceil((state.nextTryAt - now.value) / 1_000))
  return (
    <div role="status" class={state ? 'lost' : 'unseen'}>
      {state && (
        <>
          <strong>
            Lost the server; {state.isTrying || seconds === 0 ? 'trying again now' : `trying again in ${seconds} s`}.
          </strong>{' '}
          What is shown may be old. What you have typed stays.
          <button type="button" onClick={() => void look()}>
            Try now
          </button>
        </>
      )}
    </div>
  )
}
