import { all, any, type Expression } from './expressions.ts'

/** The conditions under which anything is written, by name. */

export const absent: Expression = { text: 'attribute_not_exists(#pk)' }
export const exists: Expression = { text: 'attribute_exists(#pk)' }

/** There, and without an end. */
export const open: Expression = all(exists, { text: 'attribute_not_exists(#endedAt)' })

/** Past its retention: DynamoDB may take days to remove it, but it counts as gone. */
export const expired = (now: number): Expression => ({ text: '#ttl <= :nowSeconds', values: { ':nowSeconds': Math.floor(now / 1000) } })

/** Left behind by an earlier run of the same id whose retention has passed: its slots and message ids are free again. */
export const ofAnotherLife = (life: string): Expression => ({ text: '#life <> :life', values: { ':life': life } })

export const leased = (now: number): Expression => ({ text: '#leaseUntil > :now', values: { ':now': now } })
export const free = (now: number): Expression => any({ text: 'attribute_not_exists(#leaseUntil)' }, { text: '#leaseUntil <= :now', values: { ':now': now } })

/** A run that nobody wants woken has no `wakeAt`, and is never due. */
export const due = (now: number): Expression => ({ text: '#wakeAt <= :now', values: { ':now': now } })

/** Fences every write of a runner: nobody has claimed, ended or freed the run since. */
export const heldBy = (epoch: number): Expression => ({
  text: '#epoch = :heldEpoch AND #status = :running',
  values: { ':heldEpoch': epoch, ':running': 'running' },
})

/** I6: nothing has come in that the runner has not seen. */
export const nothingNewSince = (stimulus: number): Expression => ({ text: '#stimulus = :seen', values: { ':seen': stimulus } })

export const hasStatus = (...statuses: string[]): Expression => ({
  text: `#status IN (${statuses.map((status) => `:is_${status}`).join(', ')})`,
  values: Object.fromEntries(statuses.map((status) => [`:is_${status}`, status])),
})
