import { ConflictError } from '../engine/errors.ts'
import { BEING_MADE_MS, type GateState } from '../flow/gate.ts'
import { type GateId, gateKey, gatesOf, lineOf, readTicket } from '../flow/line.ts'
import { isSingleton } from '../flow/options.ts'
import { hasEnded, type NewRun, type Wake } from '../ports.ts'
import { deliver } from './deliver.ts'
import { attend, enterStraight, leave, limitOf, noteLimit, ticketOf, waitInLine } from './gates.ts'
import { ask, type Procedure, together } from './procedure.ts'
import type { Storage, StoredRun } from './storage.ts'

export interface Inserted {
  inserted: boolean
  run: StoredRun
  wakes: Wake[]
}

/** Makes a run. One whose workflow has limits starts if there is room for it, and otherwise stands in line. */
export function* insert(storage: Storage, run: NewRun): Procedure<Inserted> {
  const { admission } = run
  if (!admission) return yield* insertPlain(storage, run)
  const there = yield* ask(storage.find(run.id))
  // Whoever asked first may have died before the run was in line.
  if (there) return { inserted: false, run: there, wakes: there.status === 'queued' ? yield* queueUp(storage, there) : [] }
  // Its turn comes when its time has, and all of its input; its limits are known by then.
  if (run.wakeAt > storage.now() || admission.gathering) {
    for (const [name, spec] of Object.entries(admission.specs)) yield* noteLimit(storage, name, spec)
    return yield* insertPlain(storage, run)
  }
  return yield* admission.onConflict === 'skip' ? insertUnlessThere(storage, run) : insertOrQueue(storage, run)
}

function* insertPlain(storage: Storage, run: NewRun): Procedure<Inserted> {
  const { inserted, run: there } = yield* ask(storage.insert(run))
  return { inserted, run: there, wakes: inserted ? [{ runId: run.id, at: run.wakeAt }] : [] }
}

/** Through the gates first, as far as they are open: then most runs are made as they stay, with one write. */
function* insertOrQueue(storage: Storage, run: NewRun): Procedure<Inserted> {
  const { gates, order } = run.admission!
  let passed = 0
  for (const gate of gates) {
    if ((yield* enterStraight(storage, gate, ticketOf(run.id, gate, order), yield* limitFor(storage, run, gate))) === undefined) break
    passed++
  }
  if (passed === gates.length) return yield* insertPlain(storage, { ...run, passed })
  const made = yield* insertPlain(storage, { ...run, passed, status: 'queued' })
  if (!made.inserted) return made
  return { ...made, wakes: yield* queueUp(storage, made.run) }
}

/** Into the line, in the place of those that it is to replace. Doing it again is harmless. */
function* queueUp(storage: Storage, run: StoredRun): Procedure<Wake[]> {
  const { gates, onConflict } = run.admission!
  const wakes = yield* standInLine(storage, run)
  const gate = gates[run.passed ?? 0]
  // One that has its key, and waits for something else, has taken that place long ago.
  return onConflict && gate && isSingleton(gate.limit) ? [...wakes, ...(yield* takeTheirPlace(storage, run, gate, onConflict))] : wakes
}

/** Its slot is taken before it is made; whoever has it is given instead. */
function* insertUnlessThere(storage: Storage, run: NewRun): Procedure<Inserted> {
  const [only] = run.admission!.gates
  for (let looks = 0; ; looks++) {
    const at = yield* enterStraight(storage, only!, ticketOf(run.id, only!, run.admission!.order), yield* limitFor(storage, run, only!))
    if (at !== undefined) return yield* insertOrQueue(storage, run)
    const [[holder, since] = []] = Object.entries(yield* holdersOf(storage, only!))
    const there = holder === undefined ? undefined : yield* ask(storage.find(holder))
    if (there && !hasEnded(there.status)) return { inserted: false, run: there, wakes: [] }
    // Another start is between its slot and its run.
    if (holder !== undefined && !there && storage.now() - since! < BEING_MADE_MS) {
      if (looks < MOST_LOOKS) continue
      throw new ConflictError(`another start of the same key is under way (run '${holder}'); try again in a moment`)
    }
    // It has ended, and whoever was to say so has not come that far.
    if (holder !== undefined) yield* attend(storage, only!, { holder })
    else {
      // Paused, or about to be let in: the first in line is the one that there is.
      const first = yield* firstInLine(storage, only!, run)
      return first ? { inserted: false, run: first, wakes: [] } : yield* insertOrQueue(storage, run)
    }
  }
}

const MOST_LOOKS = 200

function* firstInLine(storage: Storage, gate: GateId, run: NewRun): Procedure<StoredRun | undefined> {
  const line = yield* ask(storage.documents.list(lineOf(gate)))
  const ids = line.map(({ value }) => readTicket(value).run)
  return (yield* stillOpen(storage, ids, run))[0]
}

/** On record from now on, if it was not. */
function* limitFor(storage: Storage, { admission }: NewRun, { limit }: GateId) {
  const spec = admission!.specs[limit]
  return spec ? yield* noteLimit(storage, limit, spec) : yield* limitOf(storage, limit)
}

function* holdersOf(storage: Storage, gate: GateId): Procedure<GateState['holders']> {
  const found = yield* ask(storage.documents.get(gatesOf(gate.limit), gateKey(gate)))
  return (found?.value as unknown as GateState | undefined)?.holders ?? {}
}

/** The last to come is the one that counts: the others in line are cancelled, and with `cancel-running` the one that runs. */
function* takeTheirPlace(storage: Storage, run: StoredRun, gate: GateId, onConflict: 'cancel-running' | 'queue-latest' | 'skip'): Procedure<Wake[]> {
  const line = (yield* ask(storage.documents.list(lineOf(gate)))).map(({ value }) => readTicket(value))
  const holders = onConflict === 'cancel-running' ? Object.keys(yield* holdersOf(storage, gate)) : []
  const [inLine, inside] = yield* together([line.map((ticket) => ticket.run), holders].map((ids) => stillOpen(storage, ids, run)))
  const reason = `run '${run.id}' of the same key takes its place`
  // Of several that come at once the last one stays: each ends those before it, and itself where it finds one behind it. One of two always sees the other.
  const isLast = !inLine!.some((other) => isBefore(run, other))
  // Whoever is inside came before, whatever the clocks say.
  const ends = [...inside!, ...inLine!.filter((other) => isBefore(other, run)), ...(isLast ? [] : [run])]
  const told = yield* together(ends.map(({ id }) => deliver(storage, id, { id: `superseded by ${run.id}`, kind: 'cancel', reason })))
  return told.flatMap(({ wakes }) => wakes)
}

const isBefore = (a: StoredRun, b: StoredRun): boolean => (a.createdAt === b.createdAt ? a.id < b.id : a.createdAt < b.createdAt)

function* stillOpen(storage: Storage, ids: readonly string[], but: { id: string }): Procedure<StoredRun[]> {
  const runs = yield* together(ids.filter((id) => id !== but.id).map((id) => ask(storage.find(id))))
  return runs.filter((run) => run !== undefined && !hasEnded(run.status)) as StoredRun[]
}

/** Puts a run that has to wait into the line before its next gate. Doing it again is harmless. */
export function* standInLine(storage: Storage, run: StoredRun): Procedure<Wake[]> {
  const { gates, order } = run.admission!
  const gate = gates[run.passed ?? 0]
  return gate ? (yield* waitInLine(storage, gate, ticketOf(run.id, gate, order))).wakes : []
}

/** A run that waits for nothing any more, or for people, leaves all its gates to others. */
export function* leaveGates(storage: Storage, { id, admission, passed = 0 }: StoredRun): Procedure<Wake[]> {
  const { gates = [], order = 0 } = admission ?? {}
  const left = yield* together(gates.slice(0, passed + 1).map((gate, i) => leave(storage, gate, ticketOf(id, gate, order), { isInLine: i === passed })))
  return left.flat()
}
