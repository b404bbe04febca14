import { InvalidInputError } from '../engine/errors.ts'
import type { Count, RunRecord, World } from '../ports.ts'
import { expectedAt } from '../views/expected.ts'
import { refusalOfSet } from '../views/limit-words.ts'
import type { Place } from '../views/turn.ts'
import { changeLimit, findLimit } from './changing-limits.ts'
import { EMPTY, type GateState } from './gate.ts'
import { type LimitOptions, type LimitSpec, specOf } from './limit.ts'
import { LIMITS, type LimitRecord, recordsOf, specInForce } from './limit-record.ts'
import { behindLane, type GateId, gateKey, gatesOf, inOrderOfService, lineOf, NO_KEY, readTicket, type Ticket } from './line.ts'
import { nameOf, type PauseScope } from './pause-scope.ts'

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
/** A line is counted no further. */
const MOST_COUNTED = 1_000
/** Nor are more lanes of a long one looked at, one after the other. */
const MOST_LANES = 50

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
      const wanted = { concurrency: options.concurrency ?? concurrency, rate: options.rate ?? rate, ...(isRated && { per: options.per ?? perMs ?? 1_000 }) }
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

  resume(name: string): Promise<LimitView> {
    return this.change(name, ({ paused: _, ...record }) => record)
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
    const expected = isUnknown ? undefined : expectedAt(specInForce(record), state, served.slice(0, place.count), this.world.clock.now())
    return { place, ...(expected !== undefined && { expectedAt: expected }), paused, ...(pause && { pause }) }
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

  private async change(name: string, change: (record: LimitRecord) => LimitRecord): Promise<LimitView> {
    return this.view(name, await changeLimit(this.world, name, change))
  }

  private async view(name: string, record: LimitRecord): Promise<LimitView> {
    const found = await this.world.documents.list(gatesOf(name), { limit: MOST_GATES + 1 })
    const gates = await Promise.all(found.slice(0, MOST_GATES).map(({ key, value }) => this.gate(name, key, value as unknown as GateState)))
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

export interface Line {
  /** Sorted by lane. */
  tickets: Ticket[]
  isMore?: true
}

/** As far as it is counted. */
export async function readLine({ documents }: Pick<World, 'documents'>, gate: GateId): Promise<Line> {
  const found = await documents.list(lineOf(gate), { limit: MOST_COUNTED + 1 })
  const tickets = found.slice(0, MOST_COUNTED).map(({ value }) => readTicket(value))
  return { tickets, ...(found.length > MOST_COUNTED && { isMore: true }) }
}

/**
 * A line that is too long to be seen as a whole may be that of one lane, and others be served in between. So: of each lane the first, in the order of
 * their turns. `isMore`: there are lanes beyond.
 */
async function readLanes({ documents }: Pick<World, 'documents'>, gate: GateId, { served, each, most }: Lanes): Promise<Line> {
  const lanes = new Map<string, Ticket[]>()
  let count = 0
  let after = served === undefined ? undefined : behindLane(served)
  let isFromStart = after === undefined
  while (lanes.size < most && count < MOST_COUNTED) {
    const found = await documents.list(lineOf(gate), { limit: each, ...(after !== undefined && { after }) })
    const tickets = found.map(({ value }) => readTicket(value))
    const lane = tickets[0]?.lane
    if (lane === undefined && !isFromStart) {
      isFromStart = true
      after = undefined
      continue
    }
    if (lane === undefined || lanes.has(lane)) return { tickets: [...lanes.values()].flat() }
    const ofLane = tickets.filter((ticket) => ticket.lane === lane)
    lanes.set(lane, ofLane)
    count += ofLane.length
    after = behindLane(lane)
  }
  return { tickets: [...lanes.values()].flat(), isMore: true }
}

interface Lanes {
  /** The lane that was served last. */
  served: string | undefined
  /** How many of each lane, and how many lanes. */
  each: number
  most: number
}

/** What of a long line is before one in this lane: nobody of another lane who stands further back there. */
async function readFor(world: Pick<World, 'documents'>, gate: GateId, lane: string, holder: string, served: string | undefined): Promise<Line> {
  const found = await world.documents.list(lineOf(gate), { after: `${lane}/`, limit: MOST_COUNTED })
  const own = found.map(({ value }) => readTicket(value)).filter((ticket) => ticket.lane === lane)
  const depth = own.findIndex((ticket) => ticket.holder === holder) + 1
  if (depth === 0) return { tickets: own, isMore: true }
  const line = await readLanes(world, gate, { served, each: depth, most: MOST_LANES })
  return line.tickets.some((ticket) => ticket.holder === holder) ? line : { ...line, tickets: [...line.tickets, ...own.slice(0, depth)] }
}

const hasLanes = ({ tickets }: Pick<Line, 'tickets'>): boolean => tickets.at(-1)?.lane !== ''

export const countOf = ({ tickets, isMore }: Line): Count => ({ count: tickets.length, ...(isMore && { isMore }) })

/** Of a line that is not seen as a whole, lanes that are not seen are served in between. */
function placeAt(at: number, { tickets, isMore }: Line): Count {
  if (!isMore) return { count: Math.max(0, at) + 1 }
  if (at < 0) return { count: MOST_COUNTED, isMore }
  return { count: at + 1, ...(hasLanes({ tickets }) && { isMore }) }
}
