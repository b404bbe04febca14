import type { Waiting } from '../ports/run.ts'
import type { Permits } from './flow-port.ts'
import type { Operation } from './operation.ts'
import type { Timers } from './timers.ts'

/** What a run waits for, as its record says it. */
export function describeWaits(operations: Iterable<Operation>, timers: Timers, permits: Permits): Waiting[] {
  const waiting: Waiting[] = []
  for (const operation of operations)
    if (!operation.settled) waiting.push(describe(operation, timers.get(operation), permits.waitsAt(operation)))
  // Only the first ones are stored, and how far an `until` has got is stored nowhere else.
  return waiting.some(isUntil) ? [...waiting.filter(isUntil), ...waiting.filter((one) => !isUntil(one))] : waiting
}

/** Of an `until`: how far it has got. */
export const isUntil = ({ kind }: Waiting): boolean => kind === 'until'

const TIMER_KINDS: ReadonlySet<Waiting['kind']> = new Set(['sleep', 'retry', 'pause', 'until'])

/** A run that waits for nothing but time sleeps; others wait. */
export const statusOf = (waiting: readonly Waiting[]): 'sleeping' | 'waiting' =>
  waiting.every(({ kind }) => TIMER_KINDS.has(kind)) ? 'sleeping' : 'waiting'

function describe(operation: Operation, dueAt: number | undefined, limiter: ReturnType<Permits['waitsAt']>): Waiting {
  const { request, id, facts } = operation
  const until = dueAt === undefined ? {} : { until: dueAt }
  switch (request.kind) {
    case 'sleep':
      return { kind: 'sleep', id, ...until }
    case 'wait':
      return { kind: 'signal', id, on: request.signal.name, ...until }
    case 'callback':
      return { kind: 'callback', id, ...until }
    case 'child':
      return { kind: 'child', id, ...(facts?.opened?.type === 'child.started' && { on: facts.opened.run }) }
    case 'task':
      if (limiter) return { ...atLimit(id, limiter), ...until }
      return { kind: 'task', id, on: request.type }
    case 'step':
      if (limiter) return { ...atLimit(id, limiter), ...until }
      if (facts?.repeating) return describeRounds(operation, until)
      return { kind: facts?.paused ? 'pause' : 'retry', id, ...until }
  }
}

const atLimit = (id: string, { limit: on, key }: { limit: string; key?: string }): Waiting => ({
  kind: 'limit',
  id,
  on,
  ...(key !== undefined && { key }),
})

function describeRounds({ id, rounds: { vain, failures } }: Operation, until: { until?: number }): Waiting {
  return { kind: 'until', id, ...until, round: vain, ...(failures > 0 && { failures }) }
}
