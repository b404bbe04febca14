import type { ErrorRecord, Frame } from '../base/events.ts'
import type { Json } from '../base/json.ts'
import { overrideMethods } from '../base/override-methods.ts'
import {
  type Coalesced,
  type CoalescingTimes,
  type Collected,
  type NewStart,
  START_PAYLOADS,
} from '../flow/coalescing/coalescing.ts'
import { ENTRY_PAYLOADS, entryOf, isStarts, workflowOfStarts } from '../flow/coalescing/starts-log.ts'
import type { Commit, CommitResult, Next, Outgoing } from '../ports/commit.ts'
import type { DocumentStore } from '../ports/documents.ts'
import type { Message, NewRun, Reply, RunRecord, RunState } from '../ports/run.ts'
import type { Claimed, DeliverResult, Inbox, Lease, Parked, RunStore } from '../ports/run-store.ts'
import type { TaskStore } from '../ports/tasks.ts'
import type { Wake, World } from '../ports/world.ts'
import { inParallel } from '../rules/procedure.ts'
import type { Task } from '../tasks/task.ts'
import type { Codec, PayloadOf } from './codec.ts'
import { type Coder, Decoder, Encoder } from './coder.ts'

/** The same world, with payloads stored in encoded form. */
export function withCodec<W extends World>(world: W, codec: Codec | undefined): W {
  if (!codec) return world
  const runs = new CodedRuns(world.store, codec)
  const tasks = new CodedTasks(world.tasks, codec, (runId) => runs.payloadsOf(runId))
  return Object.create(world, {
    store: { value: overrideMethods(world.store, runs) },
    tasks: { value: overrideMethods(world.tasks, tasks) },
    documents: { value: codedDocuments(world.documents, codec) },
  }) as W
}

/** Starts that 0.1 has stored are documents, and have the input of their run. */
function codedDocuments(documents: DocumentStore, codec: Codec): DocumentStore {
  const decoder = new Decoder(codec, 'strict')
  return overrideMethods(documents, {
    list: async (collection, range) => {
      const found = await documents.list(collection, range)
      if (!isStarts(collection)) return found
      return inParallel(found, async (each) => ({
        ...each,
        value: await decoder.fields(each.value as { input?: Json }, ENTRY_PAYLOADS),
      }))
    },
    put: async (collection, key, value, options) => {
      if (!isStarts(collection)) return documents.put(collection, key, value, options)
      const { run: runId, tags = [] } = entryOf({ value })
      const encoder = new Encoder(codec, async () => ({ runId, workflow: workflowOfStarts(collection), tags }))
      return documents.put(collection, key, await encoder.fields(value as { input?: Json }, ENTRY_PAYLOADS), options)
    },
  })
}

const RECORD = ['input', 'parsed', 'output', 'error', 'progress'] as const

/**
 * Calls that pass through unchanged, because they carry no payload. A new method of the store does not
 * compile until it is listed here or encoded.
 */
type PassesBy =
  | 'state'
  | 'list'
  | 'counts'
  | 'terminate'
  | 'revive'
  | 'erase'
  | 'eraseFormer'
  | 'overdue'
  | 'watch'
  | 'watchReply'
  | 'standings'
  | 'renewRate'
  | 'confirmPermits'
  | 'beginIfFull'
  | 'dispatch'
  | 'checkLimiters'

class CodedRuns implements Omit<RunStore, PassesBy> {
  private readonly store: RunStore
  private readonly codec: Codec
  private readonly strict: Decoder
  private readonly lenient: Decoder
  /** Runs that a runner holds in this process: each of their commits has something to encode. */
  private readonly held = new Map<string, PayloadOf>()

  constructor(store: RunStore, codec: Codec) {
    this.store = store
    this.codec = codec
    this.strict = new Decoder(codec, 'strict')
    this.lenient = new Decoder(codec, 'lenient')
  }

  async payloadsOf(runId: string): Promise<PayloadOf> {
    const known = this.held.get(runId) ?? (await this.store.get(runId))
    return { runId, workflow: known?.workflow ?? '', tags: known?.tags ?? [] }
  }

  async create(run: NewRun): Promise<{ created: boolean; run: RunRecord; wakes: Wake[] }> {
    const { run: there, ...result } = await this.store.create(await this.newRun(run))
    return { ...result, run: await record(there, this.lenient) }
  }

  async get(runId: string): Promise<RunRecord | undefined> {
    const run = await this.store.get(runId)
    return run && record(run, this.lenient)
  }

  async frames(runId: string, from?: number): Promise<Frame[]> {
    return frames(await this.store.frames(runId, from), this.lenient)
  }

  async deliver(runId: string, message: Message, refuse?: (run: RunState) => void): Promise<DeliverResult> {
    return this.store.deliver(runId, await this.encoder(runId).message(message), refuse)
  }

  async reply(runId: string, messageId: string): Promise<Reply | undefined> {
    const reply = await this.store.reply(runId, messageId)
    return reply && this.lenient.fields(reply, ['result', 'error'])
  }

  async claim(runId: string, lease: Lease): Promise<Claimed | undefined> {
    const claimed = await this.store.claim(runId, lease)
    if (!claimed) return undefined
    const { workflow, tags, epoch } = claimed.run
    this.held.set(runId, { runId, workflow, tags })
    try {
      return {
        ...claimed,
        run: await record(claimed.run, this.strict),
        frames: await frames(claimed.frames, this.strict),
        inbox: await inParallel(claimed.inbox, (message) => this.strict.message(message)),
      }
    } catch (error) {
      // The claim is undone: the runner that asked for it decides when to retry, and when to stop retrying.
      await this.commit({ runId, epoch, next: { kind: 'release', noProgress: true } })
      throw error
    }
  }

  coalesce(start: NewStart): Promise<Coalesced> {
    const tagsOf = (run: NewRun, runId: string, isThere: boolean) => async () =>
      isThere ? this.payloadsOf(runId) : { runId, workflow: run.workflow, tags: run.tags }
    return this.store.coalesce(start, (run, runId, isThere) =>
      new Encoder(this.codec, tagsOf(run, runId, isThere)).fields(run, START_PAYLOADS),
    )
  }

  async collectStarts(runId: string, times: CoalescingTimes, options?: { closes: true }): Promise<Collected> {
    const collected = await this.store.collectStarts(runId, times, options)
    if (!('starts' in collected)) return collected
    return { starts: await inParallel(collected.starts, (start) => this.strict.fields(start, START_PAYLOADS)) }
  }

  async renew(
    runId: string,
    epoch: number,
    lease: Lease,
    heartbeat?: RunRecord['heartbeat'],
  ): Promise<{ stimulus: number } | undefined> {
    return this.store.renew(
      runId,
      epoch,
      lease,
      heartbeat && (await this.encoder(runId).fields(heartbeat, ['details'])),
    )
  }

  async inbox(runId: string, after?: number): Promise<Inbox> {
    const inbox = await this.store.inbox(runId, after)
    return { ...inbox, messages: await inParallel(inbox.messages, (message) => this.strict.message(message)) }
  }

  async commit(commit: Commit): Promise<CommitResult> {
    const { runId, frame, outgoing, progress, next } = commit
    const encoder = this.encoder(runId)
    const result = await this.store.commit({
      ...commit,
      ...(frame && { frame: await encoder.frame(frame) }),
      ...(outgoing && { outgoing: await inParallel(outgoing, (each) => this.outgoing(each, encoder)) }),
      ...(progress !== undefined && { progress: await encoder.value(progress) }),
      next: await encodedNext(next, encoder),
    })
    if (!result.ok || next.kind !== 'keep') this.held.delete(runId)
    return result
  }

  async park(runId: string, error: ErrorRecord, options?: { ifClaimed: true }): Promise<Parked> {
    return this.store.park(runId, await parked(error, this.encoder(runId)), options)
  }

  private encoder(runId: string): Encoder {
    return new Encoder(this.codec, () => this.payloadsOf(runId))
  }

  private async newRun(run: NewRun): Promise<NewRun> {
    const encoder = new Encoder(this.codec, async () => ({ runId: run.id, workflow: run.workflow, tags: run.tags }))
    const encoded = await encoder.fields(run, ['input', 'parsed'])
    return run.journal ? { ...encoded, journal: await encoder.frame(run.journal) } : encoded
  }

  private async outgoing(outgoing: Outgoing, encoder: Encoder): Promise<Outgoing> {
    switch (outgoing.kind) {
      case 'start':
        return { ...outgoing, run: await this.newRun(outgoing.run) }
      case 'deliver':
        return { ...outgoing, message: await encoder.message(outgoing.message) }
      case 'dispatch':
        return { ...outgoing, task: await encoder.fields(outgoing.task, ['input']) }
      case 'reply':
        return { ...outgoing, reply: await encoder.fields(outgoing.reply, ['result', 'error']) }
      default:
        return outgoing
    }
  }
}

/** Encodes a worker's checkpoint and its result. */
class CodedTasks implements Omit<TaskStore, 'isOpenToWorkers' | 'handOutAgainMs' | 'refusal' | 'receive' | 'putBack'> {
  private readonly tasks: TaskStore
  private readonly codec: Codec
  private readonly decoder: Decoder
  private readonly payloadsOf: (runId: string) => Promise<PayloadOf>

  constructor(tasks: TaskStore, codec: Codec, payloadsOf: (runId: string) => Promise<PayloadOf>) {
    this.tasks = tasks
    this.codec = codec
    this.decoder = new Decoder(codec, 'strict')
    this.payloadsOf = payloadsOf
  }

  async get(taskId: string): Promise<Task | undefined> {
    const task = await this.tasks.get(taskId)
    return task && coded(task, this.decoder)
  }

  async inputOf(task: Task): Promise<Json | undefined> {
    const input = await this.tasks.inputOf(task)
    return input === undefined ? undefined : this.decoder.value(input)
  }

  async save(task: Task): Promise<boolean> {
    return this.tasks.save(await coded(task, this.encoder(task)))
  }

  async settle(task: Task): Promise<{ saved: boolean; outcome?: DeliverResult['outcome']; wakes: Wake[] }> {
    return this.tasks.settle(await coded(task, this.encoder(task)))
  }

  private encoder({ runId }: Task): Encoder {
    return new Encoder(this.codec, () => this.payloadsOf(runId))
  }
}

async function coded(task: Task, coder: Coder): Promise<Task> {
  const { outcome } = task
  const changed = await coder.fields(task, ['checkpoint'])
  return outcome === undefined || outcome === 'withdrawn'
    ? changed
    : { ...changed, outcome: await coder.fields(outcome, ['result', 'error']) }
}

async function record(run: RunRecord, coder: Coder): Promise<RunRecord> {
  const { heartbeat } = run
  const changed = await coder.fields(run, RECORD)
  return heartbeat ? { ...changed, heartbeat: await coder.fields(heartbeat, ['details']) } : changed
}

const frames = (stored: readonly Frame[], coder: Coder): Promise<Frame[]> =>
  inParallel(stored, (frame) => coder.frame(frame))

/**
 * The reason why a run is parked stays readable, even if no payload can be encoded. Only a schema problem is
 * encoded, because it may quote data.
 */
async function parked(error: ErrorRecord, encoder: Encoder): Promise<ErrorRecord> {
  return error.name === 'InvalidInputError' ? encoder.error(error) : error
}

async function encodedNext(next: Next, encoder: Encoder): Promise<Next> {
  switch (next.kind) {
    case 'end':
      return { ...next, event: await encoder.event(next.event) }
    case 'continue':
    case 'collected':
      return encoder.fields(next, ['input', 'parsed'])
    case 'park':
      return { ...next, error: await parked(next.error, encoder) }
    case 'keep':
    case 'suspend':
    case 'release':
    case 'queue':
      return next
  }
}
