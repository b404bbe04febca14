import { InvalidInputError } from '../../base/errors.ts'
import type { RunRecord } from '../../ports/run.ts'
import type { Count } from '../../ports/run-lists.ts'
import type { World } from '../../ports/world.ts'
import { refusalOfSet } from '../../views/limit-words.ts'
import type { Place } from '../../views/turn.ts'
import { expectedAt, type Occupied } from '../limiter/expected.ts'
import { type LimitOptions, type LimitSpec, specOf } from '../limiter/limit.ts'
import { LIMITS, type LimitRecord, recordsOf, specInForce } from '../limiter/limit-record.ts'
import { type LimiterId, type LimiterState, limiterAt, limiterKey, limitersOf, slotsOf } from '../limiter/limiter.ts'
import { nameOf, type PauseScope } from '../limiter/pause-scope.ts'
import { inOrderOfService, shownHolder } from '../limiter/queue.ts'
import { cooling } from '../limiter/rate.ts'
import { inWords, UNKNOWN } from '../limiter/readable.ts'
import { blocksOf, type SlotState } from '../limiter/slots.ts'
import { type Changing, changeLimit, type FoundLimit, findLimit } from './changing-limits.ts'
import { countOf, hasFairnessKeys, placeAt, readByFairnessKey, readFor, readQueueOf } from './reading-queues.ts'

/** A limit as people see it. */
export interface LimitView {
  name: string
  /** As the code has it, and as it counts now. */
  code: LimitSpec
  inForce: LimitSpec
  /** An operator has set other numbers than the code has. */
  isSet: boolean
  paused: boolean
  /** Where it has been in use of late: one, or one for each key. */
  gates: GateView[]
  /** There are more keys. */
  hasMore?: true
  /** Its record cannot be read, so nothing is granted: what is wrong with it. */
  unreadable?: string
}

export interface GateView {
  key?: string
  /** How many holders it has, and the first of them: runs, or steps as `run/step`. */
  inside: number
  holders: string[]
  /** How many wait, and the first of them. */
  waiting: Count
  next: string[]
  /** Nothing is granted before. */
  restUntil?: number
  /** How long it takes one to come out again, lately. */
  heldMs?: number
  /** What is stored of it and cannot be read. */
  unreadable?: string[]
}

const MOST_GATES = 50
const MOST_SHOWN = 10

/** From JavaScript anything may come. `null` must not pass for a number that is left out. */
function refuseUnlessNumbers(name: unknown, options: unknown): void {
  if (typeof name !== 'string') throw new InvalidInputError(`the name of a limit is a text, got ${String(name)}`)
  const isObject = typeof options === 'object' && options !== null
  if (isObject && !Object.values(options).includes(null)) return
  throw new InvalidInputError(
    `say which numbers of limit '${name}' are to count: { concurrency }, { rate, per } or both; ` +
      'leave out what is to stay. To have the numbers of the code count again, use `limits.reset`',
  )
}

/** Limits while they are in use: looked at, changed, paused, without a deployment. */
export class Limits {
  private readonly world: World
  private readonly codeOf: (name: string) => LimitSpec | undefined

  /** `codeOf`: the numbers that the code of this process has for a limit. */
  constructor(world: World, codeOf: (name: string) => LimitSpec | undefined = () => undefined) {
    this.world = world
    this.codeOf = codeOf
  }

  /** By name. */
  async list(): Promise<LimitView[]> {
    const found = await this.world.documents.list(LIMITS)
    return Promise.all(
      found.map((document) =>
        this.view(
          document.key,
          document.value as unknown as LimitRecord,
          document.unreadable && inWords(LIMITS, document),
        ),
      ),
    )
  }

  async get(name: string): Promise<LimitView> {
    const { record, unreadable } = await findLimit(this.world, name)
    return this.view(name, record, unreadable)
  }

  /**
   * Sets other numbers than the code's, until `reset`. What is not given stays as it is. Holders keep their permits.
   */
  async set(name: string, options: LimitOptions): Promise<LimitView> {
    refuseUnlessNumbers(name, options)
    // For a limit whose record cannot be read, and that the code of this process does not have.
    const code = () => this.codeOf(name) ?? specOf(options, `limit '${name}'`)
    const set = (record: LimitRecord): LimitRecord => {
      const refusal = refusalOfSet({ name, code: record.code, inForce: specInForce(record) }, options)
      if (refusal !== undefined) throw new InvalidInputError(refusal)
      const { concurrency, rate, perMs } = specInForce(record)
      const isRated = (options.rate ?? rate) !== undefined
      const wanted = {
        concurrency: options.concurrency ?? concurrency,
        rate: options.rate ?? rate,
        ...(isRated && { per: options.per ?? perMs }),
      }
      const given = Object.fromEntries(
        Object.entries(wanted).filter(([, value]) => value !== undefined),
      ) as LimitOptions
      return { ...record, set: specOf(given, `limit '${name}'`) }
    }
    return this.change(name, set, { code })
  }

  /** The code's numbers count again, and what is stored of it and cannot be read is dropped. */
  reset(name: string): Promise<LimitView> {
    return this.change(name, ({ set: _, ...record }) => record, { dropsUnreadable: true })
  }

  /** Grants nothing from now on. Holders keep their permits. */
  pause(name: string): Promise<LimitView> {
    return this.change(name, (record) => ({ ...record, paused: true }))
  }

  /** Grants again, also where a holder's service asked for a cooldown. */
  resume(name: string): Promise<LimitView> {
    return this.change(name, ({ paused: _, ...record }) => record, { endsCooldown: true })
  }

  /** How many are before this run, or this step of it, and when it is likely to get its permit. */
  async placeOf(
    id: LimiterId & { lane?: string },
    run: Pick<RunRecord, 'id' | 'workflow'>,
    holder = run.id,
  ): Promise<Place> {
    const [queue, { record, unreadable: ofRecord }, pause] = await Promise.all([
      readQueueOf(this.world, id),
      this.record(id.limit),
      this.pauseBehind(id, run),
    ])
    const { unreadable: ofState, ...state } = await this.stateOf(id, record)
    // Requests of others that cannot be read are passed over.
    const own = queue.unreadable?.find(({ key }) => isOfHolder(key, holder))
    const unreadable = [...(ofRecord === undefined ? [] : [ofRecord]), ...ofState, ...(own ? [own.problem] : [])]
    const seen =
      queue.isMore && id.lane !== undefined ? await readFor(this.world, id, id.lane, holder, state.lane) : queue
    const served = inOrderOfService(seen.entries, state.lane)
    const at = served.findIndex((entry) => shownHolder(entry.holder) === holder)
    const place = placeAt(at, seen)
    const paused = record?.paused === true && ofRecord === undefined
    const isUnknown = unreadable.length > 0 || paused || pause !== undefined || place.isMore
    const now = this.world.clock.now()
    const expected = isUnknown ? undefined : expectedAt(specInForce(record), state, served.slice(0, place.count), now)
    const rests = isLater(state.restUntil, now) && { restUntil: state.restUntil }
    const damage = unreadable.length > 0 && { unreadable }
    return {
      place,
      ...(expected !== undefined && { expectedAt: expected }),
      paused,
      ...rests,
      ...(pause && { pause }),
      ...damage,
    }
  }

  /** The pause that blocks the run behind this limiter, the widest first. */
  async pauseBehind(
    limiter: LimiterId,
    { id, workflow }: Pick<RunRecord, 'id' | 'workflow'>,
  ): Promise<PauseScope | undefined> {
    const scopes: PauseScope[] = [{ all: true }, { workflow }, { run: id }]
    const records = await Promise.all(scopes.map((scope) => this.record(nameOf(scope))))
    return scopes.find((scope, i) => records[i]!.record?.paused && nameOf(scope) !== limiter.limit)
  }

  private async record(limit: string): Promise<Partial<Pick<FoundLimit, 'record' | 'unreadable'>>> {
    const collection = recordsOf(limit)
    const found = await this.world.documents.get(collection, limit)
    if (!found) return {}
    return {
      record: found.value as unknown as LimitRecord,
      ...(found.unreadable && { unreadable: inWords(collection, found) }),
    }
  }

  private async change(
    name: string,
    change: (record: LimitRecord) => LimitRecord,
    options?: Changing,
  ): Promise<LimitView> {
    return this.view(name, await changeLimit(this.world, name, change, { code: () => this.codeOf(name), ...options }))
  }

  private async view(name: string, record: LimitRecord, unreadable?: string): Promise<LimitView> {
    const collection = limitersOf(name)
    const found = await this.world.documents.list(collection, { limit: MOST_GATES + 1 })
    const gates = await Promise.all(
      found.slice(0, MOST_GATES).map(({ key }) => this.limiter(limiterAt({ collection, key }), record)),
    )
    return {
      name,
      code: record.code,
      inForce: specInForce(record),
      isSet: record.set !== undefined,
      paused: record.paused === true && unreadable === undefined,
      gates,
      ...(found.length > MOST_GATES && { hasMore: true as const }),
      ...(unreadable !== undefined && { unreadable }),
    }
  }

  private async limiter(id: LimiterId, record: LimitRecord): Promise<GateView> {
    const [queue, slots, state] = await Promise.all([
      readQueueOf(this.world, id),
      this.slotsOf(id, record),
      this.stateOf(id, record),
    ])
    const { lane, restUntil, heldMs } = state
    const unreadable = [...state.unreadable, ...(queue.unreadable ?? []).map(({ problem }) => problem)]
    const first =
      queue.isMore && hasFairnessKeys(queue)
        ? await readByFairnessKey(this.world, id, { served: lane, each: MOST_SHOWN, most: MOST_SHOWN })
        : queue
    const holders = [...slots.map(({ holder }) => holder), ...Object.keys(state.holders ?? {})]
    const now = this.world.clock.now()
    return {
      ...(id.key !== undefined && { key: id.key }),
      inside: holders.length,
      holders: holders
        .filter((holder) => holder !== UNKNOWN)
        .slice(0, MOST_SHOWN)
        .map(shownHolder),
      waiting: countOf(queue),
      next: inOrderOfService(first.entries, lane)
        .slice(0, MOST_SHOWN)
        .map(({ holder }) => shownHolder(holder)),
      ...(isLater(restUntil, now) && { restUntil }),
      ...(heldMs !== undefined && { heldMs }),
      ...(unreadable.length > 0 && { unreadable }),
    }
  }

  /** Those that are held. */
  private async slotsOf(id: LimiterId, record: LimitRecord | undefined): Promise<SlotState[]> {
    return (await this.allSlots(id, record)).slots.filter(({ holder }) => holder !== '')
  }

  private async allSlots(
    id: LimiterId,
    record: LimitRecord | undefined,
  ): Promise<{ slots: SlotState[]; unreadable: string[] }> {
    const most = Math.max(record?.widest ?? 0, specInForce(record).concurrency ?? 0)
    const collections = Array.from({ length: blocksOf(most) }, (_, block) => slotsOf(id, block))
    const found = (
      await Promise.all(
        collections.map(async (of) => (await this.world.documents.list(of)).map((document) => ({ of, document }))),
      )
    ).flat()
    const unreadable = found
      .filter(({ document }) => document.unreadable)
      .map(({ of, document }) => inWords(of, document))
    return { slots: found.map(({ document }) => document.value as unknown as SlotState), unreadable }
  }

  /** With what its slots tell: since when they are held, how long usually, and which fairness key was served last. */
  private async stateOf(id: LimiterId, record: LimitRecord | undefined): Promise<Occupied & { unreadable: string[] }> {
    const [found, { slots, unreadable }] = await Promise.all([
      this.world.documents.get(limitersOf(id.limit), limiterKey(id)),
      this.allSlots(id, record),
    ])
    const state = cooling((found?.value as LimiterState | undefined) ?? {}, record?.restUntil)
    const held = slots.filter(({ holder }) => holder !== '' && holder !== UNKNOWN)
    const times = slots.flatMap(({ heldMs }) => heldMs ?? [])
    const last = held.toSorted((a, b) => b.since - a.since)[0]?.lane
    return {
      ...state,
      since: [...held.map(({ since }) => since), ...Object.values(state.holders ?? {})],
      ...(times.length > 0 && { heldMs: Math.round(times.reduce((sum, ms) => sum + ms, 0) / times.length) }),
      ...(last !== undefined && { lane: last }),
      unreadable: [...(found?.unreadable ? [inWords(limitersOf(id.limit), found)] : []), ...unreadable],
    }
  }
}

/** The key of a request ends with its holder, and the number of the request. */
const isOfHolder = (key: string, holder: string): boolean =>
  key.split('/').slice(2).join('/').replace(/#\d+$/, '') === holder

/** A state that cannot be read has an endless cooldown, which no service asked for. */
const isLater = (restUntil: number | undefined, now: number): restUntil is number =>
  restUntil !== undefined && restUntil > now && Number.isFinite(restUntil)
