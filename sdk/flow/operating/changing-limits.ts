import { InvalidInputError, LimitNotFoundError } from '../../base/errors.ts'
import type { Json } from '../../base/json.ts'
import type { Revoking } from '../../ports/permits.ts'
import type { World } from '../../ports/world.ts'
import { quoted } from '../../views/turn.ts'
import type { AnyWorkflow } from '../../workflow.ts'
import { MOST_CONCURRENCY } from '../limiter/bounds.ts'
import { isSameSpec, type LimitSpec, namedLimits } from '../limiter/limit.ts'
import { LIMITS, type LimitRecord, rememberingSlots, specInForce } from '../limiter/limit-record.ts'
import { type LimiterId, limiterAt, limitersOf, slotsOf } from '../limiter/limiter.ts'
import { inWords } from '../limiter/readable.ts'
import { blocksOf, type SlotState } from '../limiter/slots.ts'

export interface FoundLimit {
  /** One that grants nothing, where the record cannot be read. */
  record: LimitRecord
  version: number
  unreadable?: string
}

export async function findLimit({ documents }: World, name: string): Promise<FoundLimit> {
  const found = await documents.get(LIMITS, name)
  if (found)
    return {
      record: found.value as unknown as LimitRecord,
      version: found.version,
      ...(found.unreadable && { unreadable: inWords(LIMITS, found) }),
    }
  const names = (await documents.list(LIMITS)).map(({ key }) => key)
  throw new LimitNotFoundError(
    `no limit is named '${name}'; known: ${names.join(', ') || 'none. A limit is known once a run has come to it'}`,
  )
}

export interface Changing {
  /** Also a cooldown ends. Other numbers end it anyway. */
  endsCooldown?: boolean
  /** What is stored of its limiters and cannot be read is dropped. */
  dropsUnreadable?: boolean
  /** The numbers of the code, for a limit whose record cannot be read. */
  code?: () => LimitSpec | undefined
}

/** Changes a limit while it is in use: queued requests go by it at once. A record that cannot be read is replaced. */
export async function changeLimit(
  world: World,
  name: string,
  change: (record: LimitRecord) => LimitRecord,
  { endsCooldown = false, dropsUnreadable = false, code }: Changing = {},
): Promise<LimitRecord> {
  for (;;) {
    const { version, ...found } = await findLimit(world, name)
    const record =
      found.unreadable === undefined ? found.record : await recordAnew(world, name, found.unreadable, code?.())
    const { restUntil, ...changed } = rememberingSlots(record, change(record))
    const isOver = endsCooldown || !isSameSpec(specInForce(record), specInForce(changed))
    const next: LimitRecord = { ...changed, ...(restUntil !== undefined && !isOver && { restUntil }) }
    if (!(await world.documents.put(LIMITS, name, next as unknown as Json, { ifVersion: version }))) continue
    const isRevoked = isOver || dropsUnreadable || (next.paused && !record.paused)
    const revoking = isRevoked ? { endsCooldown: isOver, dropsUnreadable } : undefined
    await dispatchAll(world, await limitersInUse(world, name), revoking)
    return next
  }
}

async function recordAnew(
  world: World,
  name: string,
  problem: string,
  code: LimitSpec | undefined,
): Promise<LimitRecord> {
  if (code) return { code, ...(await widestHeld(world, name, code)) }
  throw new InvalidInputError(
    `the record of limit '${name}' cannot be read (${problem}), and the code that is loaded here does ` +
      'not have this limit. ' +
      `Say its numbers: \`overwinter limits set ${quoted(name)} --concurrency …\`, or --rate … --per …`,
  )
}

/** How many slots it had is not known any more, and higher ones than the code has may be held. */
async function widestHeld(
  world: World,
  name: string,
  { concurrency }: LimitSpec,
): Promise<Pick<LimitRecord, 'widest'>> {
  if (concurrency === undefined) return {}
  let widest = 0
  for (const id of await limitersInUse(world, name)) {
    const blocks = Array.from({ length: blocksOf(MOST_CONCURRENCY) }, (_, block) =>
      world.documents.list(slotsOf(id, block)),
    )
    const held = (await Promise.all(blocks)).flat().filter(({ value }) => (value as unknown as SlotState).holder !== '')
    widest = Math.max(widest, ...held.map(({ key }) => Number(key) + 1).filter(Number.isInteger))
  }
  return widest > concurrency ? { widest } : {}
}

/**
 * Called by a process that begins: where its code has other numbers than are on record, it stores them. Otherwise
 * waiting requests would go by the old ones until a new request comes. Without limits it does nothing.
 */
export async function followCode(world: World, workflows: readonly AnyWorkflow[]): Promise<void> {
  const code = limitsOfCode(workflows)
  if (code.size === 0) return
  for (const { key: name, value, unreadable } of await world.documents.list(LIMITS)) {
    const spec = code.get(name)
    // What an operator had set may be in a record that cannot be read.
    if (spec && !unreadable && !isSameSpec(spec, (value as unknown as LimitRecord).code))
      await changeLimit(world, name, (record) => ({ ...record, code: spec }))
  }
}

/** Of several versions of a workflow the latest counts. */
export function limitsOfCode(workflows: readonly AnyWorkflow[]): Map<string, LimitSpec> {
  const inOrder = workflows.toSorted((a, b) => a.version - b.version)
  return new Map([
    ...namedLimits(),
    ...inOrder.flatMap(({ limits }) => limits.map(({ name, spec }) => [name, spec] as const)),
  ])
}

/** A limit may have thousands of keys. */
async function dispatchAll(
  { store, wakeups }: World,
  limiters: readonly LimiterId[],
  revoking: Revoking | undefined,
): Promise<void> {
  for (let i = 0; i < limiters.length; i += AT_ONCE)
    await wakeups.send(await store.dispatch(limiters.slice(i, i + AT_ONCE), revoking))
}
const AT_ONCE = 100

export async function limitersInUse({ documents }: World, limit: string): Promise<LimiterId[]> {
  const collection = limitersOf(limit)
  return (await documents.list(collection)).map(({ key }) => limiterAt({ collection, key }))
}
