import type { Guard } from '../../rules/storage.ts'
import { absent, all, any, type Expression, exists } from './expressions.ts'

/** The guards of the rules as conditions of DynamoDB. */
export function conditionOf(guard: Guard): Expression {
  const parts: Expression[] = [exists]
  if (guard.open) parts.push({ text: 'attribute_not_exists(#endedAt)' })
  if (guard.status) parts.push(statusIn(guard.status, 'is'))
  if (guard.notStatus) parts.push(negated(statusIn(guard.notStatus, 'not')))
  if (guard.due !== undefined) parts.push({ text: '#wakeAt <= :due', values: { ':due': guard.due } })
  if (guard.free !== undefined)
    parts.push(
      any(
        { text: 'attribute_not_exists(#leaseUntil)' },
        { text: '#leaseUntil <= :free', values: { ':free': guard.free } },
      ),
    )
  if (guard.leased !== undefined) parts.push({ text: '#leaseUntil > :leased', values: { ':leased': guard.leased } })
  if (guard.heldBy !== undefined)
    parts.push({
      text: '#epoch = :held AND #status = :running',
      values: { ':held': guard.heldBy, ':running': 'running' },
    })
  if (guard.epoch !== undefined) parts.push({ text: '#epoch = :epoch', values: { ':epoch': guard.epoch } })
  if (guard.stimulus !== undefined) parts.push({ text: '#stimulus = :seen', values: { ':seen': guard.stimulus } })
  if (guard.passed !== undefined) parts.push(passedSo(guard.passed))
  if (guard.format !== undefined)
    parts.push(
      any(
        { text: 'attribute_not_exists(#format)' },
        { text: '#format <= :format', values: { ':format': guard.format } },
      ),
    )
  return all(...parts)
}

function passedSo(passed: number): Expression {
  const is: Expression = { text: '#passed = :passed', values: { ':passed': passed } }
  return passed === 0 ? any({ text: 'attribute_not_exists(#passed)' }, is) : is
}

function statusIn(statuses: readonly string[], prefix: string): Expression {
  const names = statuses.map((status) => `:${prefix}_${status}`)
  return {
    text: `#status IN (${names.join(', ')})`,
    values: Object.fromEntries(statuses.map((status, i) => [names[i]!, status])),
  }
}

const negated = ({ text, values }: Expression): Expression => ({ text: `NOT (${text})`, values })

/** Past its retention: DynamoDB may take days to remove it, but it counts as gone. */
const expired = (now: number): Expression => ({
  text: '#ttl <= :nowSeconds',
  values: { ':nowSeconds': Math.floor(now / 1000) },
})
export const freeId = (now: number): Expression => any(absent, expired(now))

/**
 * The item is absent, or belongs to an earlier run with the same id: its slots and message ids are
 * free again.
 */
export const freeSlot = (life: string): Expression => any(absent, { text: '#life <> :life', values: { ':life': life } })

/** No other process has prolonged the lifetime of what the run owns since it was read. */
export function keptAsSeen(keepUntil: number | undefined): Expression {
  return keepUntil === undefined
    ? { text: 'attribute_not_exists(#keepUntil)' }
    : { text: '#keepUntil = :keepUntil', values: { ':keepUntil': keepUntil } }
}
