import type { Refused } from '../../sdk/bulk/steer-many.ts'
import { amount } from '../format.ts'
import { href } from '../route.ts'

const NAMED = 3

/** The runs that refuse the action, by reason. */
export function Refusals({ refused }: { refused: readonly Refused[] }) {
  if (refused.length === 0) return null
  return (
    <ul class="refusals">
      {refused.map(({ why, count, runs }) => (
        <li key={why}>
          <strong class="number">{amount(count)}</strong> {why}{' '}
          <span class="muted">
            (
            {runs.slice(0, NAMED).map((id, i) => (
              <span key={id}>
                {i > 0 && ', '}
                <a class="mono" href={href(['runs', id])}>
                  {id}
                </a>
              </span>
            ))}
            {count > NAMED && ', …'})
          </span>
        </li>
      ))}
    </ul>
  )
}
