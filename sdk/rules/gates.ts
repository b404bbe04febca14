import type { Json } from '../engine/json.ts'
import type { Gate } from '../flow/admission.ts'
import { afresh, BEING_MADE_MS, EMPTY, emptyFrom, type GateState, hasPromised, isFull, letIn, letOut, resting, roomFor, sinceOf } from '../flow/gate.ts'
import { isSameSpec, type LimitSpec } from '../flow/limit.ts'
import { LIMITS, type LimitRecord, recordsOf, specInForce } from '../flow/limit-record.ts'
import {
  behindLane,
  type GateId,
  gateKey,
  gatesOf,
  isOfStep,
  isSameGate,
  lineOf,
  readTicket,
  runOf,
  type Ticket,
  ticketKey,
  writeTicket,
} from '../flow/line.ts'
import { type Document, hasEnded, type Outgoing, type Wake } from '../ports.ts'
import { wakeUp } from './deliver.ts'
import { ask, type Procedure, together } from './procedure.ts'
import type { Storage, StoredRun } from './storage.ts'

/**
 * Gates, and the lines before them. Nobody watches a line: whoever joins it, leaves the gate or changes its limit looks whose turn it is (`attend`), and lets
 * in as many as there is room for. The gate is one document, which is written only if it is as it was read.
 *
 * Nobody is overlooked: whoever joins puts the ticket into the line and looks at the gate then; whoever leaves writes the gate and looks at the line then. One of
 * the two sees the other. Nobody is lost between the gate and the run (I5): a holder whose ticket is still in line has not been told, and is told by whoever sees it.
 */

/** A promise this far ahead is made at once. Beyond, one is out at a time, and whoever has it attends to the next. */
const AHEAD_MS = 1_000
/** Holders that nobody has seen leave are looked for this often, while others wait. */
const CHECK_EVERY_MS = 60_000

export interface Leaving {
  holder: string
  /** Others that leave with it. */
  also?: (holder: string) => boolean
  /** Nobody is to be let in for so long. */
  restMs?: number
}

interface Attended {
  wakes: Wake[]
  /** Who was let in, and for when. */
  passed: Map<string, number>
  /** As it is on record. */
  gate: Document | undefined
}

/** A limit as it counts now. `ends`: the version of a pause that is over once its line is empty. */
interface InForce {
  spec: LimitSpec
  isPaused: boolean
  ends?: number
  /** Of a pause: whoever is let through is so in this round of it. */
  round?: number
  restUntil?: number | undefined
}

/** Lets in whoever is next, after letting somebody out. */
export function* attend(storage: Storage, id: GateId, leaving?: Leaving): Procedure<Attended> {
  const wakes: Wake[] = []
  const passed = new Map<string, number>()
  const { spec, isPaused, ends, round, restUntil } = yield* limitOf(storage, id.limit)
  let out = leaving
  let found = yield* ask(storage.documents.get(gatesOf(id.limit), gateKey(id)))
  for (;;) {
    const seen = stateOf(found)
    const now = storage.now()
    let state = out ? withOut(seen, out, now) : seen
    if (isFull(spec, state) && now - (state.checkedAt ?? 0) >= CHECK_EVERY_MS) state = yield* withoutTheGone(storage, id, state, now, wakes)
    const ticket = isPaused || isFull(spec, state) ? undefined : yield* nextInLine(storage, id, state)
    let at = ticket && sinceOf(state, ticket.holder)
    if (ticket && at === undefined) {
      at = roomFor(spec, resting(state, restUntil), ticket.cost, now)
      if (at > now + AHEAD_MS && hasPromised(state, now)) at = undefined
      else state = letIn(spec, state, ticket, at, ticket.lane, now)
    }
    // A gate that was kept for those in line is forgotten when there are none.
    const isUnused = !ticket && !isPaused && found !== undefined && found.expiresAt === undefined && Object.keys(state.holders).length === 0
    if (state !== seen || isUnused) {
      const written = yield* write(storage, id, spec, state, found, isPaused)
      found = written ?? (yield* ask(storage.documents.get(gatesOf(id.limit), gateKey(id))))
      if (!written) continue
    }
    out = undefined
    if (ticket && at === undefined) return { wakes, passed, gate: found }
    if (!ticket) {
      // Whoever comes to it from now on finds no limit, and passes.
      if (ends !== undefined && !isPaused && !isFull(spec, state)) yield* ask(storage.documents.delete(recordsOf(id.limit), id.limit, ends))
      return { wakes, passed, gate: found }
    }
    const told = yield* tell(storage, id, ticket, at!, round)
    // Whoever is gone leaves at once.
    if (told === 'gone') out = { holder: ticket.holder }
    else {
      wakes.push(...told)
      passed.set(ticket.holder, at!)
    }
    yield* ask(storage.documents.remove(lineOf(id), ticketKey(ticket)))
  }
}

/** Other numbers count, or none for now: whoever was promised a time by the old ones stands in line again. */
export function* attendAfresh(storage: Storage, id: GateId, { endsRest }: { endsRest: boolean }): Procedure<Attended> {
  const { spec } = yield* limitOf(storage, id.limit)
  for (;;) {
    const found = yield* ask(storage.documents.get(gatesOf(id.limit), gateKey(id)))
    const { restUntil, ...state } = stateOf(found)
    const { promised } = state
    if (!found || (!promised && !(endsRest && restUntil))) break
    const isTakenBack = promised !== undefined && promised.at > storage.now() && (yield* backInLine(storage, id, promised))
    const next = { ...afresh(spec, state, isTakenBack), ...(restUntil !== undefined && !endsRest && { restUntil }) }
    const options = { ifVersion: found.version, ...(!isTakenBack && found.expiresAt !== undefined && { expiresAt: found.expiresAt }) }
    if (yield* ask(storage.documents.put(gatesOf(id.limit), gateKey(id), next as unknown as Json, options))) break
  }
  return yield* attend(storage, id)
}

/** Whether what was promised a time waits for its turn again. A step's run sleeps on until it is told another time, or until that one, when it asks. */
function* backInLine(storage: Storage, id: GateId, { to: runId, cost = 1, order: place }: NonNullable<GateState['promised']>): Procedure<boolean> {
  if (isOfStep(runId)) {
    if (place === undefined) return false
    const ticket: Ticket = { run: runOf(runId), holder: runId, cost, holds: true, lane: '', order: place }
    yield* ask(storage.documents.put(lineOf(id), ticketKey(ticket), writeTicket(ticket)))
    return true
  }
  const run = yield* ask(storage.find(runId))
  const { gates = [], order = 0 } = run?.admission ?? {}
  const passed = gates.findIndex((gate) => isSameGate(gate, id))
  if (!run || passed < 0 || passed !== gates.length - 1) return false
  if (run.status === 'queued') return run.passed === passed
  // Somebody has asked for it meanwhile, to cancel it, say.
  if (run.wakeAt === undefined || run.wakeAt <= storage.now()) return false
  const ticket = ticketOf(runId, gates[passed]!, order)
  // The ticket first: a run that waits is in line.
  yield* ask(storage.documents.put(lineOf(id), ticketKey(ticket), writeTicket(ticket)))
  const updated = yield* ask(
    storage.update(run, { when: { status: ['pending'], passed: passed + 1, stimulus: run.stimulus }, set: { status: 'queued', passed, wakeAt: undefined } }),
  )
  if (!updated.ok) yield* ask(storage.documents.remove(lineOf(id), ticketKey(ticket)))
  return updated.ok
}

/**
 * Straight in where there is room and no line, or into the line. `at` where it was let in. `epoch`: of the claim in whose name it is asked for. A runner that has lost its run
 * would ask for what has ended since, and never give it back.
 */
export function* enter(storage: Storage, id: GateId, ticket: Ticket, spec: LimitSpec, epoch?: number): Procedure<{ at?: number; wakes: Wake[] }> {
  if (epoch !== undefined && (yield* ask(storage.find(ticket.run)))?.epoch !== epoch) return { wakes: [] }
  const limit = yield* noteLimit(storage, id.limit, spec)
  // Whoever asks has not begun: what it was told before the pause does not count.
  if (limit.isPaused) yield* attend(storage, id, { holder: ticket.holder })
  const at = yield* enterStraight(storage, id, ticket, limit)
  if (at !== undefined) return { at, wakes: [] }
  return yield* waitInLine(storage, id, ticket)
}

/** The limit is read behind the ticket: whoever changes it meanwhile sees one of the two. */
export function* waitInLine(storage: Storage, id: GateId, ticket: Ticket): Procedure<{ at?: number; wakes: Wake[] }> {
  yield* ask(storage.documents.put(lineOf(id), ticketKey(ticket), writeTicket(ticket)))
  const { wakes, passed, gate } = yield* attend(storage, id)
  const at = passed.get(ticket.holder)
  // Whoever changes the limit finds the line by its gate, however long nobody is let in.
  if (at === undefined && (!gate || gate.expiresAt !== undefined))
    yield* ask(storage.documents.put(gatesOf(id.limit), gateKey(id), stateOf(gate) as unknown as Json, { ifVersion: gate?.version ?? 0 }))
  return { wakes, ...(at !== undefined && { at }) }
}

/** When it was let in; undefined where it has to wait. */
export function* enterStraight(storage: Storage, id: GateId, ticket: Ticket, { spec, isPaused, restUntil }: InForce): Procedure<number | undefined> {
  for (;;) {
    const found = yield* ask(storage.documents.get(gatesOf(id.limit), gateKey(id)))
    const state = stateOf(found)
    const known = sinceOf(state, ticket.holder)
    if (known !== undefined) return known
    const now = storage.now()
    if (isPaused || isFull(spec, state) || roomFor(spec, resting(state, restUntil), ticket.cost, now) > now) return undefined
    if ((yield* ask(storage.documents.list(lineOf(id), { limit: 1 }))).length > 0) return undefined
    if (yield* write(storage, id, spec, letIn(spec, state, ticket, now, ticket.lane, now), found)) return now
  }
}

/** Out of the line, or through the gate. */
export function* leave(
  storage: Storage,
  id: GateId,
  ticket: Pick<Ticket, 'holder' | 'lane' | 'order'>,
  how: { isInLine?: boolean; restMs?: number } = {},
): Procedure<Wake[]> {
  if (how.isInLine) yield* ask(storage.documents.remove(lineOf(id), ticketKey(ticket)))
  return (yield* attend(storage, id, { holder: ticket.holder, ...(how.restMs !== undefined && { restMs: how.restMs }) })).wakes
}

/** Whoever is behind the limit asked for a rest. Those in line need not be told: nobody was let in for a time to come but the next, and whoever leaves looks at them. */
export function* rest(storage: Storage, limit: string, spec: LimitSpec, ms: number): Procedure<void> {
  yield* noteLimit(storage, limit, spec)
  for (;;) {
    const found = yield* ask(storage.documents.get(LIMITS, limit))
    const record = found?.value as LimitRecord | undefined
    const restUntil = storage.now() + ms
    if (!found || (record!.restUntil ?? 0) >= restUntil) return
    if (yield* ask(storage.documents.put(LIMITS, limit, { ...record, restUntil } as unknown as Json, { ifVersion: found.version }))) return
  }
}

/**
 * Once more, behind the word of the run that it is over, or waits: while it left one place, the next in line may have been a step of its own, and was told. `whose`: all of its
 * steps, or those that were said to leave.
 */
export function* leaveForGood(storage: Storage, run: StoredRun, left: readonly Outgoing[], whose: 'all' | 'said'): Procedure<Wake[]> {
  const ofSteps = left.filter((item) => item.kind === 'leave' && isOfStep(item.holder)) as (Outgoing & { kind: 'leave' })[]
  if (ofSteps.length === 0) return []
  const said = new Set(ofSteps.map(({ holder }) => holder))
  const also = (holder: string) => (whose === 'all' ? isOfStep(holder) && runOf(holder) === run.id : said.has(holder))
  const gates = new Map(ofSteps.map(({ gate }) => [lineOf(gate), gate]))
  const attended = yield* together([...gates.values()].map((gate) => attend(storage, gate, { holder: '', also })))
  return attended.flatMap(({ wakes }) => wakes)
}

/** The limit of the code is on record, for those who do not have the code, and for people. */
export function* noteLimit(storage: Storage, name: string, code: LimitSpec): Procedure<InForce> {
  const found = yield* ask(storage.documents.get(LIMITS, name))
  const record = found?.value as LimitRecord | undefined
  if (record && isSameSpec(record.code, code)) return inForce(found)
  const noted = { ...record, code }
  const written = yield* ask(storage.documents.put(LIMITS, name, noted as unknown as Json, { ifVersion: found?.version ?? 0 }))
  return written ? inForce(written) : yield* limitOf(storage, name)
}

export function* limitOf(storage: Storage, name: string): Procedure<InForce> {
  return inForce(yield* ask(storage.documents.get(recordsOf(name), name)))
}

function inForce(found: Document | undefined): InForce {
  const record = found?.value as LimitRecord | undefined
  return {
    spec: specInForce(record),
    isPaused: record?.paused === true,
    ...(found && record!.ends && { ends: found.version }),
    ...(record?.round !== undefined && { round: record.round }),
    restUntil: record?.restUntil,
  }
}

/** The next lane behind the one that was served last, or the first. */
function* nextInLine(storage: Storage, id: GateId, { lane }: GateState): Procedure<Ticket | undefined> {
  const line = lineOf(id)
  const [behind] = lane === undefined ? [] : yield* ask(storage.documents.list(line, { after: behindLane(lane), limit: 1 }))
  const [next] = behind ? [behind] : yield* ask(storage.documents.list(line, { limit: 1 }))
  return next && readTicket(next.value)
}

/** `isKept`: somebody may be in line, however long nobody is let in. */
function* write(storage: Storage, id: GateId, spec: LimitSpec, state: GateState, found: Document | undefined, isKept = false): Procedure<Document | undefined> {
  const expiresAt = isKept ? undefined : emptyFrom(spec, state, storage.now())
  const options = { ifVersion: found?.version ?? 0, ...(expiresAt !== undefined && { expiresAt }) }
  return yield* ask(storage.documents.put(gatesOf(id.limit), gateKey(id), state as unknown as Json, options))
}

const stateOf = (found: Document | undefined): GateState => (found?.value as unknown as GateState | undefined) ?? EMPTY

function withOut(state: GateState, { holder, also, restMs }: Leaving, now: number): GateState {
  const leaving = also ? [holder, ...Object.keys(state.holders).filter(also)] : [holder]
  const left = leaving.reduce((before, each) => letOut(before, each, now), state)
  return restMs === undefined ? left : { ...left, restUntil: Math.max(left.restUntil ?? 0, now + restMs) }
}

/** Tells a run that it, or one of its steps, was let in. */
function* tell(storage: Storage, id: GateId, ticket: Ticket, at: number, round: number | undefined): Procedure<Wake[] | 'gone'> {
  const run = yield* ask(storage.find(ticket.run))
  if (!run || isOut(run)) return 'gone'
  // One whose run is paused would keep the place for nothing; it asks again when it goes on.
  if (ticket.holder !== ticket.run) return run.status === 'queued' ? 'gone' : yield* wakeUp(storage, run)
  return yield* letPass(storage, run, id, at, round)
}

const isOut = ({ status }: StoredRun): boolean => hasEnded(status) || status === 'stuck'

/** A run has passed one of its gates: it goes to the next, or it starts. */
function* letPass(storage: Storage, run: StoredRun, id: GateId, at: number, round?: number): Procedure<Wake[]> {
  if (run.status !== 'queued') return []
  const { admission } = run
  const { gates, order } = admission!
  const before = run.passed ?? 0
  if (!isSameGate(gates[before], id)) {
    // Whoever let it pass here may have died before it stood in the next line.
    const isAtNext = before > 0 && before < gates.length && isSameGate(gates[before - 1], id)
    return isAtNext ? (yield* waitInLine(storage, gates[before]!, ticketOf(run.id, gates[before]!, order))).wakes : []
  }
  const passed = before + 1
  const next = gates[passed]
  // Paused again while it was in line, it has waited for that too.
  const isLater = round !== undefined && round !== gates[before]!.round
  const anew = isLater ? { admission: { ...admission!, gates: gates.with(before, { ...gates[before]!, round }) } } : {}
  // One that was cancelled is looked at before.
  const wakeAt = Math.min(at, run.wakeAt ?? at)
  const set = { passed, ...anew, ...(!next && { status: 'pending' as const, wakeAt }) }
  const updated = yield* ask(storage.update(run, { when: { status: ['queued'], passed: before, stimulus: run.stimulus }, set }))
  if (!updated.ok) return updated.run ? yield* letPass(storage, updated.run, id, at, round) : []
  return next ? (yield* waitInLine(storage, next, ticketOf(run.id, next, order))).wakes : [{ runId: run.id, at: wakeAt }]
}

export function ticketOf(runId: string, { lane = '', holds }: Gate, order: number): Ticket {
  return { run: runId, holder: runId, cost: 1, holds: holds === true, lane, order }
}

/** Without holders that have ended or do not exist: whoever let them in, or was to let them out, may have died in between. */
function* withoutTheGone(storage: Storage, id: GateId, state: GateState, now: number, wakes: Wake[]): Procedure<GateState> {
  const holders = Object.entries(state.holders)
  const runs = yield* together(holders.map(([holder]) => ask(storage.find(runOf(holder)))))
  const kept: GateState['holders'] = {}
  for (const [i, [holder, since]] of holders.entries()) {
    const run = runs[i]
    const isGone = run ? isOut(run) : now - since >= BEING_MADE_MS
    if (isGone) continue
    kept[holder] = since
    if (run && holder === run.id) wakes.push(...(yield* letPass(storage, run, id, Math.max(since, now))))
  }
  return { ...state, holders: kept, checkedAt: now }
}
