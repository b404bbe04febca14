import { TimeField } from '../parts/time-field.tsx'
import { select } from '../route.ts'

const AGO: readonly [title: string, ms: number][] = [
  ['15 min', 900_000],
  ['1 h', 3_600_000],
  ['24 h', 86_400_000],
]

/** Filters by time, for example failures since a deployment. */
export function Since({ since }: { since: string | undefined }) {
  const change = (at: string | undefined) => select({ since: at })
  return (
    <form class="filters" aria-label="Since when" onSubmit={(event) => event.preventDefault()}>
      <TimeField name="since" label="Failed or stuck since" value={since} onChange={change} />
      {AGO.map(([title, ms]) => (
        <button key={title} type="button" class="quiet" onClick={() => change(new Date(Date.now() - ms).toISOString())}>
          {title}
        </button>
      ))}
      {since !== undefined && (
        <button type="button" class="quiet" onClick={() => change(undefined)}>
          Any time
        </button>
      )}
    </form>
  )
}
