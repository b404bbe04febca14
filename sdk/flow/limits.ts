import { InvalidInputError } from '../engine/errors.ts'
import type { Count, RunRecord, World } from '../ports.ts'
import { refusalOfSet } from '../views/limit-words.ts'
import type { Place } from '../views/turn.ts'
import { changeLimit, findLimit } from './changing-limits.ts'
import { expectedAt, type Occupied } from './expected.ts'
import { type LimitOptions, type LimitSpec, specOf } from './limit.ts'
import { LIMITS, type LimitRecord, recordsOf, specInForce } from './limit-record.ts'
import { type LimiterId, type LimiterState, limiterAt, limiterKey, limitersOf, slotsOf } from './limiter.ts'
import { nameOf, type PauseScope } from './pause-scope.ts'
import { inOrderOfService, shownHolder } from './queue.ts'
import { cooling } from './rate.ts'
import { countOf, hasLanes, placeAt, readFor, readLanes, readLine } from './reading-queues.ts'
import { blocksOf, type SlotState } from './slots.ts'

/** A limit as people see it. */
export interface LimitView {
  name: string
  /** As the code has it, and as it counts now. */
  code: LimitSpec
  inForce: LimitSpec
  /** Somebody has set other numbers than the code has. */
  isSet: boolean
  paused: boolean
  /** Where it has been in use of late: one, or one for each key. */
  gates: GateView[]
  /** There are more keys. */
  hasMore?: true
}

export interface GateView {
  key?: string
  /** How many are inside, and the first of them: runs, or steps as `run/step`. */
  inside: number
  holders: string[]
  /** How many wait, and the first of them. */
  waiting: Count
  next: string[]
  /** Nobody is let in before. */
  restUntil?: number
  /** How long it takes one to come out again, lately. */
  heldMs?: number
}

const MOST_GATES = 50
const MOST_SHOWN = 10

/** Limits while they are in use: looked at, changed, paused, without a deployment. */
export class Limits {
  private readonly world: World

  constructor(world: World) {
    this.world = world
  }

  /** By name. */
  async list(): Promise<LimitView[]> {
    const found = await this.world.documents.list(LIMITS)
    return Promise.all(found.map(({ key, value }) => this.view(key, value as unknown as LimitRecord)))
  }

  async get(name: string): Promise<LimitView> {
    const { record } = await findLimit(this.world, name)
    return this.view(name, record)
  }

  /** Other numbers than the code's, until `reset`. What is not given stays as it is. Whoever is inside stays there. */
  set(name: string, options: LimitOptions): Promise<LimitView> {
    return this.change(name, (record) => {
      const refusal = refusalOfSet({ name, code: record.code, inForce: specInForce(record) }, options)
      if (refusal !== undefined) throw new InvalidInputError(refusal)
      const { concurrency, rate, perMs } = specInForce(record)
      const isRated = (options.rate ?? rate) !== undefined
      const wanted = { concurrency: options.concurrency ?? concurrency, rate: options.rate ?? rate, ...(isRated && { per: options.per ?? perMs }) }
      const given = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined)) as LimitOptions
      const set = specOf(given, `limit '${name}'`)
      return { ...record, set }
    })
  }

  /** The code's numbers count again. */
  reset(name: string): Promise<LimitView> {
    return this.change(name, ({ set: _, ...record }) => record)
  }

  /** Lets nobody in. Whoever is inside stays there. */
  pause(name: string): Promise<LimitView> {
    return this.change(name, (record) => ({ ...record, paused: true }))
  }

  /** Lets those in line in again, also where it rests because somebody inside asked for it. */
  resume(name: string): Promise<LimitView> {
    return this.change(name, ({ paused: _, ...record }) => record, { endsCooldown: true })
  }

  /** How many are before this run, or this step of it, and when it is likely to get its permit. */
  async placeOf(id: LimiterId & { lane?: string }, run: Pick<RunRecord, 'id' | 'workflow'>, holder = run.id): Promise<Place> {
    const [line, record, pause] = await Promise.all([readLine(this.world, id), this.record(id.limit), this.pauseBehind(id, run)])
    const state = await this.stateOf(id, record)
    const seen = line.isMore && id.lane !== undefined ? await readFor(this.world, id, id.lane, holder, state.lane) : line
    const served = inOrderOfService(seen.tickets, state.lane)
    const at = served.findIndex((entry) => shownHolder(entry.holder) === holder)
    const place = placeAt(at, seen)
    const paused = record?.paused === true
    const isUnknown = paused || pause !== undefined || place.isMore
    const now = this.world.clock.now()
    const expected = isUnknown ? undefined : expectedAt(specInForce(record), state, served.slice(0, place.count), now)
    const rests = (state.restUntil ?? 0) > now && { restUntil: state.restUntil! }
    return { place, ...(expected !== undefined && { expectedAt: expected }), paused, ...rests, ...(pause && { pause }) }
  }

  /** What keeps the run from going on behind this gate, the widest first. */
  async pauseBehind(gate: LimiterId, { id, workflow }: Pick<RunRecord, 'id' | 'workflow'>): Promise<PauseScope | undefined> {
    const scopes: PauseScope[] = [{ all: true }, { workflow }, { run: id }]
    const records = await Promise.all(scopes.map((scope) => this.record(nameOf(scope))))
    return scopes.find((scope, i) => records[i]?.paused && nameOf(scope) !== gate.limit)
  }

  private async record(limit: string): Promise<LimitRecord | undefined> {
    return (await this.world.documents.get(recordsOf(limit), limit))?.value as unknown as LimitRecord | undefined
  }

  private async change(name: string, change: (record: LimitRecord) => LimitRecord, options?: { endsCooldown: boolean }): Promise<LimitView> {
    return this.view(name, await changeLimit(this.world, name, change, options))
  }

  private async view(name: string, record: LimitRecord): Promise<LimitView> {
    const collection = limitersOf(name)
    const found = await this.world.documents.list(collection, { limit: MOST_GATES + 1 })
    const gates = await Promise.all(found.slice(0, MOST_GATES).map(({ key }) => this.gate(limiterAt({ collection, key }), record)))
    return {
      name,
      code: record.code,
      inForce: specInForce(record),
      isSet: record.set !== undefined,
      paused: record.paused === true,
      gates,
      ...(found.length > MOST_GATES && { hasMore: true as const }),
    }
  }

  private async gate(id: LimiterId, record: LimitRecord): Promise<GateView> {
    const [line, slots, state] = await Promise.all([readLine(this.world, id), this.slotsOf(id, record), this.stateOf(id, record)])
    const { lane, restUntil, heldMs } = state
    const first = line.isMore && hasLanes(line) ? await readLanes(this.world, id, { served: lane, each: MOST_SHOWN, most: MOST_SHOWN }) : line
    const holders = [...slots.map(({ holder }) => holder), ...Object.keys(state.holders ?? {})]
    const now = this.world.clock.now()
    return {
      ...(id.key !== undefined && { key: id.key }),
      inside: holders.length,
      holders: holders.slice(0, MOST_SHOWN).map(shownHolder),
      waiting: countOf(line),
      next: inOrderOfService(first.tickets, lane)
        .slice(0, MOST_SHOWN)
        .map(({ holder }) => shownHolder(holder)),
      ...(restUntil !== undefined && restUntil > now && { restUntil }),
      ...(heldMs !== undefined && { heldMs }),
    }
  }

  /** Those that are held. */
  private async slotsOf(id: LimiterId, record: LimitRecord | undefined): Promise<SlotState[]> {
    return (await this.allSlots(id, record)).filter(({ holder }) => holder !== '')
  }

  private async allSlots(id: LimiterId, record: LimitRecord | undefined): Promise<SlotState[]> {
    const most = Math.max(record?.widest ?? 0, specInForce(record).concurrency ?? 0)
    const blocks = Array.from({ length: blocksOf(most) }, (_, block) => this.world.documents.list(slotsOf(id, block)))
    return (await Promise.all(blocks)).flat().map(({ value }) => value as unknown as SlotState)
  }

  /** With what its slots tell: since when they are held, how long usually, and which fairness key was served last. */
  private async stateOf(id: LimiterId, record: LimitRecord | undefined): Promise<Occupied> {
    const [found, slots] = await Promise.all([this.world.documents.get(limitersOf(id.limit), limiterKey(id)), this.allSlots(id, record)])
    const state = cooling((found?.value as LimiterState | undefined) ?? {}, record?.restUntil)
    const held = slots.filter(({ holder }) => holder !== '')
    const times = slots.flatMap(({ heldMs }) => heldMs ?? [])
    const last = held.toSorted((a, b) => b.since - a.since)[0]?.lane
    return {
      ...state,
      since: [...held.map(({ since }) => since), ...Object.values(state.holders ?? {})],
      ...(times.length > 0 && { heldMs: Math.round(times.reduce((sum, ms) => sum + ms, 0) / times.length) }),
      ...(last !== undefined && { lane: last }),
    }
  }
}
