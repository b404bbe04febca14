import { getLimit, listLimits } from '../api.ts'
import { always, useLoaded } from '../live/use-loaded.ts'
import { useLooking } from '../live/use-looking.ts'
import { Empty, Shown } from '../parts/states.tsx'
import { href } from '../route.ts'
import { LimitCard } from './limit-card.tsx'
import { Pauses } from './pauses.tsx'

/** Reading limits counts queue entries on the server, so it is not repeated for every change of a run. */
const GAP_MS = 500

export function LimitsPage() {
  const loaded = useLoaded('limits', listLimits, always, GAP_MS)
  useLooking(loaded.reload)
  return (
    <div class="page">
      <h1>Limits</h1>
      <Pauses />
      <Shown loaded={loaded}>
        {(limits) =>
          limits.length === 0 ? (
            <Empty title="No limits">
              <p>
                A limit is known once a run has come to it. Give a workflow one:{' '}
                <code>{'{ concurrency: { limit: 10 } }'}</code>
              </p>
            </Empty>
          ) : (
            limits.map((limit) => <LimitCard key={limit.name} limit={limit} />)
          )
        }
      </Shown>
    </div>
  )
}

/** The page of one limit. */
export function LimitPage({ name }: { name: string }) {
  const loaded = useLoaded(`limit ${name}`, (signal) => getLimit(name, signal), always, GAP_MS)
  useLooking(loaded.reload)
  return (
    <div class="page">
      <p class="crumbs">
        <a href={href(['limits'])}>Limits</a>
      </p>
      <h1>{name}</h1>
      <Shown loaded={loaded}>{(limit) => <LimitCard limit={limit} isAlone />}</Shown>
    </div>
  )
}
