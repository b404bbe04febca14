import { InvalidInputError } from '../engine/errors.ts'
import type { Count, RunRecord, World } from '../ports.ts'
import { refusalOfSet } from '../views/limit-words.ts'
import type { Place } from '../views/turn.ts'
import { changeLimit, findLimit } from './changing-limits.ts'
import { expectedAt } from './expected.ts'
import { EMPTY, type GateState, resting } from './gate.ts'
import { type LimitOptions, type LimitSpec, specOf } from './limit.ts'
import { LIMITS, type LimitRecord, recordsOf, specInForce } from './limit-record.ts'
import { type GateId, gateKey, gatesOf, inOrderOfService, NO_KEY } from './line.ts'
import { nameOf, type PauseScope } from './pause-scope.ts'
import { countOf, hasLanes, placeAt, readFor, readLanes, readLine } from './reading-lines.ts'

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
    return this.change(name, ({ paused: _, ...record }) => record, { endsRest: true })
  }

  /** How many are before this run, or this step of it, and when it is likely to be let in. */
  async placeOf(gate: GateId & { lane?: string }, run: Pick<RunRecord, 'id' | 'workflow'>, holder = run.id): Promise<Place> {
    const [line, state = EMPTY, record, pause] = await Promise.all([
      readLine(this.world, gate),
      this.stateOf(gate),
      this.record(gate.limit),
      this.pauseBehind(gate, run),
    ])
    const seen = line.isMore && gate.lane !== undefined ? await readFor(this.world, gate, gate.lane, holder, state.lane) : line
    const served = inOrderOfService(seen.tickets, state.lane)
    const at = served.findIndex((ticket) => ticket.holder === holder)
    const place = placeAt(at, seen)
    const paused = record?.paused === true
    const isUnknown = paused || pause !== undefined || place.isMore
    const now = this.world.clock.now()
    const rested = resting(state, record?.restUntil)
    const expected = isUnknown ? undefined : expectedAt(specInForce(record), rested, served.slice(0, place.count), now)
    const rests = (rested.restUntil ?? 0) > now && { restUntil: rested.restUntil! }
    return { place, ...(expected !== undefined && { expectedAt: expected }), paused, ...rests, ...(pause && { pause }) }
  }

  /** What keeps the run from going on behind this gate, the widest first. */
  async pauseBehind(gate: GateId, { id, workflow }: Pick<RunRecord, 'id' | 'workflow'>): Promise<PauseScope | undefined> {
    const scopes: PauseScope[] = [{ all: true }, { workflow }, { run: id }]
    const records = await Promise.all(scopes.map((scope) => this.record(nameOf(scope))))
    return scopes.find((scope, i) => records[i]?.paused && nameOf(scope) !== gate.limit)
  }

  private async record(limit: string): Promise<LimitRecord | undefined> {
    return (await this.world.documents.get(recordsOf(limit), limit))?.value as unknown as LimitRecord | undefined
  }

  private async change(name: string, change: (record: LimitRecord) => LimitRecord, options?: { endsRest: boolean }): Promise<LimitView> {
    return this.view(name, await changeLimit(this.world, name, change, options))
  }

  private async view(name: string, record: LimitRecord): Promise<LimitView> {
    const found = await this.world.documents.list(gatesOf(name), { limit: MOST_GATES + 1 })
    const gates = await Promise.all(
      found.slice(0, MOST_GATES).map(({ key, value }) => this.gate(name, key, resting(value as unknown as GateState, record.restUntil))),
    )
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

  private async gate(limit: string, key: string, { holders, lane, restUntil, heldMs }: GateState): Promise<GateView> {
    const id = { limit, ...(key !== NO_KEY && { key }) }
    const line = await readLine(this.world, id)
    const first = line.isMore && hasLanes(line) ? await readLanes(this.world, id, { served: lane, each: MOST_SHOWN, most: MOST_SHOWN }) : line
    const inside = Object.keys(holders)
    const now = this.world.clock.now()
    return {
      ...(key !== NO_KEY && { key }),
      inside: inside.length,
      holders: inside.slice(0, MOST_SHOWN),
      waiting: countOf(line),
      next: inOrderOfService(first.tickets, lane)
        .slice(0, MOST_SHOWN)
        .map(({ holder }) => holder),
      ...(restUntil !== undefined && restUntil > now && { restUntil }),
      ...(heldMs !== undefined && { heldMs }),
    }
  }

  private async stateOf(gate: GateId): Promise<GateState | undefined> {
    return (await this.world.documents.get(gatesOf(gate.limit), gateKey(gate)))?.value as unknown as GateState | undefined
  }
}
