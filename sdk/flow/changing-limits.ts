import { LimitNotFoundError } from '../engine/errors.ts'
import type { Json } from '../engine/json.ts'
import type { World } from '../ports.ts'
import type { AnyWorkflow } from '../workflow.ts'
import { isSameSpec, type LimitSpec, namedLimits } from './limit.ts'
import { LIMITS, type LimitRecord, rememberingSlots, specInForce } from './limit-record.ts'
import { type LimiterId, limiterAt, limitersOf } from './limiter.ts'

export async function findLimit({ documents }: World, name: string): Promise<{ record: LimitRecord; version: number }> {
  const found = await documents.get(LIMITS, name)
  if (found) return { record: found.value as unknown as LimitRecord, version: found.version }
  const names = (await documents.list(LIMITS)).map(({ key }) => key)
  throw new LimitNotFoundError(`no limit is named '${name}'; known: ${names.join(', ') || 'none. A limit is known once a run has come to it'}`)
}

/** Changes a limit while it is in use: queued requests go by it at once. `endsCooldown`: also a cooldown ends; other numbers end it anyway. */
export async function changeLimit(
  world: World,
  name: string,
  change: (record: LimitRecord) => LimitRecord,
  { endsCooldown = false }: { endsCooldown?: boolean } = {},
): Promise<LimitRecord> {
  for (;;) {
    const { record, version } = await findLimit(world, name)
    const { restUntil, ...changed } = rememberingSlots(record, change(record))
    const isOver = endsCooldown || !isSameSpec(specInForce(record), specInForce(changed))
    const next: LimitRecord = { ...changed, ...(restUntil !== undefined && !isOver && { restUntil }) }
    if (!(await world.documents.put(LIMITS, name, next as unknown as Json, { ifVersion: version }))) continue
    const revoking = isOver || (next.paused && !record.paused) ? { endsCooldown: isOver } : undefined
    await dispatchAll(world, await limitersInUse(world, name), revoking)
    return next
  }
}

/**
 * Of a process that begins: where its code has other numbers than are on record, they are put there. Otherwise those who wait would go by the old ones until somebody new comes.
 * Without limits it does nothing.
 */
export async function followCode(world: World, workflows: readonly AnyWorkflow[]): Promise<void> {
  const code = limitsOfCode(workflows)
  if (code.size === 0) return
  for (const { key: name, value } of await world.documents.list(LIMITS)) {
    const spec = code.get(name)
    if (spec && !isSameSpec(spec, (value as unknown as LimitRecord).code)) await changeLimit(world, name, (record) => ({ ...record, code: spec }))
  }
}

/** Of several versions of a workflow the latest counts. */
function limitsOfCode(workflows: readonly AnyWorkflow[]): Map<string, LimitSpec> {
  const inOrder = workflows.toSorted((a, b) => a.version - b.version)
  return new Map([...namedLimits(), ...inOrder.flatMap(({ limits }) => limits.map(({ name, spec }) => [name, spec] as const))])
}

/** A limit may have thousands of keys. */
async function dispatchAll({ store, wakeups }: World, limiters: readonly LimiterId[], revoking: { endsCooldown: boolean } | undefined): Promise<void> {
  for (let i = 0; i < limiters.length; i += AT_ONCE) await wakeups.send(await store.dispatch(limiters.slice(i, i + AT_ONCE), revoking))
}
const AT_ONCE = 100

async function limitersInUse({ documents }: World, limit: string): Promise<LimiterId[]> {
  const collection = limitersOf(limit)
  return (await documents.list(collection)).map(({ key }) => limiterAt({ collection, key }))
}
