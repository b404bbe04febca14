import { type ErrorRecord, isTerminal } from '../base/events.ts'
import { canonicalJson } from '../base/json.ts'
import { END_STATUS, messageOfEnd, outcomeOf } from '../engine/ending.ts'
import { entryKey } from '../flow/limiter/queue.ts'
import type { Outgoing } from '../ports/commit.ts'
import type { GrantedPermit } from '../ports/permits.ts'
import { hasEnded, type Message, type NewRun, type ParentLink } from '../ports/run.ts'
import type { Wake } from '../ports/world.ts'
import { insert } from './admit.ts'
import { deliver } from './deliver.ts'
import { acquire } from './limiters/acquire.ts'
import { dispatch } from './limiters/dispatch.ts'
import { removeEntry } from './limiters/entries.ts'
import { coolDown } from './limiters/record.ts'
import { type Ahead, lookAhead, release } from './limiters/release.ts'
import { ask, type Procedure, together } from './procedure.ts'
import type { Storage, StoredRun } from './storage.ts'
import { dispatchTask, withdrawTask } from './tasks.ts'
import { terminate } from './terminate.ts'

export interface Sent {
  wakes: Wake[]
  permits: GrantedPermit[]
}

type Acquire = Extract<Outgoing, { kind: 'acquire' }>
const isAcquire = (item: Outgoing): item is Acquire => item.kind === 'acquire'

type Release = Extract<Outgoing, { kind: 'release' }>
/** What was read of limiters while the frame was written. */
export type AheadOf = ReadonlyMap<Outgoing, Ahead>

/**
 * What the releases of a commit can read before its frame is written. Each call in a row is time in which a slot is
 * of no use.
 */
export function* lookAheadOf(storage: Storage, outgoing: readonly Outgoing[] = []): Procedure<AheadOf> {
  const isKnown = (item: Outgoing): item is Release =>
    item.kind === 'release' && item.slot !== undefined && item.state === 'held'
  const releases = outgoing.filter(isKnown)
  const ahead = yield* together(releases.map((item) => lookAhead(storage, item.limiter, item)))
  return new Map(releases.map((item, i) => [item, ahead[i]!]))
}

/**
 * What a commit causes outside its run. Each part may be done twice, so the runner that recovers the run does all
 * of it again.
 */
export function* sendOutgoing(
  storage: Storage,
  from: StoredRun,
  outgoing: readonly Outgoing[],
  ahead?: AheadOf,
): Procedure<Sent> {
  const others = outgoing.filter((item) => !isAcquire(item)) as Exclude<Outgoing, Acquire>[]
  const wakes = (yield* together(others.map((item) => send(storage, from, item, ahead?.get(item))))).flat()
  // The run may request what it releases with the same commit.
  const acquired = yield* together(outgoing.filter(isAcquire).map((item) => acquirePermit(storage, item)))
  return {
    wakes: [...wakes, ...acquired.flatMap((each) => each.wakes)],
    permits: acquired.flatMap((each) => each.permits),
  }
}

function* acquirePermit(storage: Storage, { limiter, entry, spec }: Acquire): Procedure<Sent> {
  const { permit, wakes } = yield* acquire(storage, limiter, entry, spec)
  return { wakes, permits: permit ? [{ holder: entry.holder, ...permit }] : [] }
}

function* send(storage: Storage, from: StoredRun, item: Exclude<Outgoing, Acquire>, ahead?: Ahead): Procedure<Wake[]> {
  switch (item.kind) {
    case 'start':
      return yield* item.isThere ? askChild(storage, from, item.run) : startChild(storage, from, item.run)
    case 'deliver':
      return (yield* deliver(storage, item.to, item.message)).wakes
    case 'terminate':
      return (yield* terminate(storage, item.run, item.reason)).wakes
    case 'dispatch':
      yield* dispatchTask(storage, from, item.task)
      return []
    case 'withdraw':
      yield* withdrawTask(storage, item.task)
      return []
    case 'reply':
      yield* ask(storage.putReply(from, item.to, item.reply))
      return []
    case 'coolDown':
      yield* coolDown(storage, item.limit, item.spec, item.ms)
      return []
    case 'confirm':
      yield* removeEntry(storage, item.limiter, entryKey(item.entry))
      return []
    case 'release':
      return yield* release(storage, item.limiter, item, ahead)
    case 'dispatchNext':
      return (yield* dispatch(storage, item.limiter, undefined, { begun: item.holder })).wakes
  }
}

/** The parent goes on after a failure. Its child may have ended meanwhile, or be past its retention. */
function* askChild(storage: Storage, from: StoredRun, { id, parent }: NewRun): Procedure<Wake[]> {
  const found = yield* ask(storage.find(id))
  // Its id may belong to another caller's run by now.
  const there = found?.parent?.runId === parent!.runId ? found : undefined
  if (there) return yield* sendEndOf(storage, there, parent!)
  const error = { name: 'RunNotFoundError', message: `child run '${id}' is gone: its retention has passed` }
  return (yield* deliver(storage, from.id, refusal(from, id, parent!, error))).wakes
}

/** Said once per claim: after a retry it has to be said again. */
function refusal(from: StoredRun, run: string, { op, generation }: ParentLink, error: ErrorRecord): Message {
  return {
    id: `refused ${from.epoch} ${op}`,
    kind: 'child',
    run,
    op,
    ...(generation !== undefined && { generation }),
    status: 'failed',
    error,
  }
}

/**
 * Starting it again is harmless. A child that is there is the parent's own if the parent asked for it before: then
 * its end is delivered to the parent. Otherwise its id belongs to another caller.
 */
function* startChild(storage: Storage, from: StoredRun, child: NewRun): Procedure<Wake[]> {
  const { inserted, run: there, wakes } = yield* insert(storage, child)
  if (inserted) return wakes
  const { parent } = child
  if (!parent) return []
  if (isSameCall(there.parent, parent)) return hasEnded(there.status) ? yield* sendEndOf(storage, there, parent) : []
  if (yield* isOfEarlierGeneration(storage, there, child)) return yield* adopt(storage, there, parent)
  const error =
    there.id !== child.id
      ? {
          name: 'ConflictError',
          message:
            `run '${there.id}' of workflow '${there.workflow}' has the same singleton key and has not ` +
            'ended, so no other one is started beside it',
        }
      : {
          name: 'ConflictError',
          message:
            `the id '${there.id}' belongs to another run (workflow '${there.workflow}'); give the child ` +
            'another id',
        }
  // By the id that the parent knows: a singleton is answered with another run.
  return (yield* deliver(storage, from.id, refusal(from, child.id, parent, error))).wakes
}

function isSameCall(a: ParentLink | undefined, b: ParentLink): boolean {
  return a?.runId === b.runId && a.op === b.op && (a.generation ?? 0) === (b.generation ?? 0)
}

/** The same call as an earlier generation of its parent made: the same parent, workflow and input under the same id. */
function* isOfEarlierGeneration(storage: Storage, there: StoredRun, child: NewRun): Procedure<boolean> {
  const { parent } = child
  if (there.parent?.runId !== parent!.runId || there.workflow !== child.workflow) return false
  if ((there.parent.generation ?? 0) >= (parent!.generation ?? 0)) return false
  const { input } = yield* ask(storage.record(there))
  return canonicalJson(input) === canonicalJson(child.input)
}

/** From now on it answers to this call. */
function* adopt(storage: Storage, there: StoredRun, parent: ParentLink): Procedure<Wake[]> {
  if (!hasEnded(there.status)) yield* ask(storage.update(there, { when: { open: true }, set: { parent } }))
  return yield* sendEndOf(storage, there, parent)
}

/**
 * It may have ended before the parent waited, or while the parent had ended itself. Its journal says so: the run
 * itself may not yet, and would not send the message a second time. A repeat is recognised by its id.
 */
function* sendEndOf(storage: Storage, child: StoredRun, parent: ParentLink): Procedure<Wake[]> {
  const frame = (yield* ask(storage.frames(child, child.baseSeq + 1))).at(-1)
  const event = frame?.events.at(-1)
  if (!frame || !event || !isTerminal(event)) return []
  const { output, error } = outcomeOf(event)
  const message = messageOfEnd(child.id, parent, frame.seq, END_STATUS[event.type], output, error)
  return (yield* deliver(storage, parent.runId, message)).wakes
}
