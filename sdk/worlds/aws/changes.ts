import type { Change, RunFields, Updated } from '../../rules/storage.ts'
import { inShort } from '../../rules/summary.ts'
import { conditionOf, keptAsSeen } from './conditions.ts'
import { type Aws, newToken } from './context.ts'
import { all, change as changing, type Expression, exists } from './expressions.ts'
import { updateIf } from './items.ts'
import { dueIndex, frameKey, type Key, runIdOf, runKey, troubleIndex } from './keys.ts'
import { keep, neededKeepUntil, QUEUED_CHECK_MS, ttlAfterEnd, ttlNow, UPKEEP_MS } from './lifetime.ts'
import { isObject, isSmall, pack, type Stored } from './payloads.ts'
import { planRemoval } from './removal.ts'
import { type AwsRun, type RunItem, toRun } from './run-item.ts'
import { obsoleteSchedule, scheduledFor } from './wakeups.ts'

/** Decisions as updates of the run item. */

type Attributes = Partial<Record<keyof RunItem | 'dueShard' | 'dueKey', unknown>>

/** A change of a run without reading it first: it cannot depend on what is stored. */
export async function changeBlindly(
  aws: Aws,
  runId: string,
  { when, set = {}, bump = [], setOnce }: Change,
): Promise<Updated> {
  const token = newToken()
  const isClaim = bump.includes('claims')
  const { owner: _, ...attributes } = set
  const once = setOnce
    ? [{ text: '#startedAt = if_not_exists(#startedAt, :started)', values: { ':started': setOnce.startedAt } }]
    : []
  const update = changing({ ...attributes, ...(isClaim && { claim: token }) }, ...bumps(bump), ...once)
  const written = await updateIf<RunItem>(aws, runKey(runId), update, conditionOf(when))
  if (written.ok) return { ok: true, run: toRun(written.item) }
  const { old } = written
  return { ok: isClaim && old?.claim === token, run: old && toRun(old) } as Updated
}

export async function changeRun(aws: Aws, run: AwsRun, change: Change): Promise<Updated> {
  const { item } = run
  const { when, set = {}, bump = [] } = change
  const now = aws.clock.now()
  const attributes = await attributesOf(aws, item, change, now)
  const token = newToken()
  // Every release, end, park or revival leaves a token, which tells a repeat of the call from a
  // rival.
  if (set.status !== undefined) attributes.commit = token
  if (set.endedAt !== undefined) await planRemoval(aws, item, set.endedAt)
  const unchanged = run.written.length > 0 ? [keptAsSeen(item.keepUntil)] : []
  const written = await updateIf<RunItem>(
    aws,
    runKey(run.id),
    changing(attributes, ...bumps(bump)),
    all(conditionOf(when), ...unchanged),
  )
  if (written.ok || written.old?.commit === token) {
    await tidyUp(aws, item, set, now)
    return { ok: true, run: toRun(written.ok ? written.item : written.old!) }
  }
  const { old } = written
  if (!old || old.keepUntil === item.keepUntil) return { ok: false, run: old && toRun(old) }
  // I8: a frame counts although its runner has lost the run meanwhile.
  if (change.frame !== undefined) await prolong(aws, [{ pk: item.pk, sk: frameKey(change.frame) }], ttlNow(old, now))
  if (run.written.length === 0) return { ok: false, run: toRun(old) }
  // I8: what was written for the run would not live as long as the run may wait now.
  await prolong(aws, run.written, ttlNow(old, now))
  return changeRun(aws, { ...toRun(item.objects ? { ...old, objects: true } : old), written: run.written }, change)
}

async function attributesOf(aws: Aws, item: RunItem, { set = {}, frame }: Change, now: number): Promise<Attributes> {
  const runId = runIdOf(item.pk)
  const attributes: Attributes = {}
  for (const name of [
    'status',
    'leaseUntil',
    'claims',
    'spared',
    'attempt',
    'baseSeq',
    'parent',
    'reparse',
    'trace',
    'admission',
    'passed',
  ] as const)
    if (name in set) attributes[name] = set[name]
  // The token of a claim is removed with its lease.
  if ('leaseUntil' in set && set.leaseUntil === undefined) attributes.claim = undefined
  const lookAt = 'wakeAt' in set ? Object.assign(attributes, wakePlan(aws, item, set, now)).wakeAt : undefined
  const keepUntil = neededKeepUntil(item, set, lookAt as number | undefined)
  if (keepUntil !== undefined) {
    attributes.keepUntil = keepUntil
    // An end shortens lifetimes, which `tidyUp` does once the end is stored.
    if (set.endedAt === undefined) Object.assign(attributes, await keep(aws, item, keepUntil))
  }
  const ttl = ttlNow({ ...item, ...(keepUntil !== undefined && { keepUntil }) }, now)
  const stored = (value: unknown) => aws.payloads.storeBeside({ id: runId, createdAt: item.createdAt }, value, ttl)
  const inFrame = (value: unknown) =>
    value === undefined ? undefined : (inlineOrInFrame(value, frame) ?? stored(value))
  for (const name of ['input', 'parsed', 'progress', 'heartbeat'] as const)
    if (name in set) attributes[name] = await stored(set[name])
  for (const name of ['output', 'error'] as const)
    if (name in set) attributes[name] = await (set.endedAt === undefined ? stored(set[name]) : inFrame(set[name]))
  if ('error' in set) attributes.why = set.error && inShort(item.workflow, set.error)
  if ('waitingFor' in set) attributes.waitingFor = set.waitingFor && pack(set.waitingFor)
  // Before the end, which says how the run is to go.
  if (Object.values(attributes).some(isObject)) item.objects = true
  if (item.objects) attributes.objects = true
  if ('endedAt' in set)
    Object.assign(attributes, {
      endedAt: set.endedAt,
      ttl: set.endedAt === undefined ? undefined : ttlAfterEnd(item, set.endedAt),
    })
  if (frame !== undefined) attributes.lastSeq = frame
  return attributes
}

/** The frame has it anyway, so a large one is not stored twice. */
function inlineOrInFrame(value: unknown, frame: number | undefined): Stored | undefined {
  const packed = pack(value)
  if (isSmall(packed)) return packed
  return frame === undefined ? undefined : { frame }
}

/** The attributes of a run that is to be woken at a time, or not at all. */
function wakePlan(aws: Aws, { pk, createdAt }: RunItem, { wakeAt, status }: RunFields, now: number): Attributes {
  const runId = runIdOf(pk)
  // A message only brings the time forward. The armed schedule stays on record, and the next commit
  // cancels it.
  const armed =
    status === undefined
      ? {}
      : { armedAt: wakeAt === undefined ? undefined : scheduledFor(aws.thresholds, wakeAt, now) }
  if (wakeAt !== undefined)
    return {
      wakeAt,
      untimed: undefined,
      told: undefined,
      ...armed,
      ...dueIndex(runId, wakeAt + aws.thresholds.graceMs),
    }
  if (status === 'stuck' || status === 'failed') return { ...NO_WAKE, ...troubleIndex(runId, status, createdAt) }
  if (status !== 'waiting' && status !== 'sleeping' && status !== 'queued') return NO_WAKE
  // Only a message or a permit may wake it. Upkeep sends no wake-up; the sweeper finds the run when
  // it is due.
  const upkeepAt = now + (status === 'queued' ? QUEUED_CHECK_MS : UPKEEP_MS)
  return {
    wakeAt: upkeepAt,
    untimed: true,
    told: undefined,
    armedAt: undefined,
    ...dueIndex(runId, upkeepAt + aws.thresholds.graceMs),
  }
}

const NO_WAKE: Attributes = {
  wakeAt: undefined,
  untimed: undefined,
  told: undefined,
  armedAt: undefined,
  dueShard: undefined,
  dueKey: undefined,
}

/** Removes what a change makes obsolete. */
async function tidyUp(aws: Aws, before: RunItem, set: RunFields, now: number): Promise<void> {
  if ('wakeAt' in set && set.status !== undefined)
    await aws.disarm(obsoleteSchedule(aws.thresholds, before, set.wakeAt, now))
  if (set.endedAt === undefined) return
  const keepUntil = neededKeepUntil(before, set, undefined)
  if (keepUntil === undefined) return
  const pointers = await keep(aws, before, keepUntil)
  if (Object.keys(pointers).length > 0) await updateIf(aws, runKey(runIdOf(before.pk)), changing(pointers), exists)
}

async function prolong(aws: Aws, keys: readonly Key[], ttl: number | undefined): Promise<void> {
  for (const key of keys) await updateIf(aws, key, changing({ ttl }), exists)
}

function bumps(counters: readonly string[]): Expression[] {
  return counters.map((name) => ({
    text: `#${name} = if_not_exists(#${name}, :zero) + :one`,
    values: { ':zero': 0, ':one': 1 },
  }))
}
